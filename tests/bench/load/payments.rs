//! The records themselves: random accounts and amounts, the same ones every time.

use std::collections::HashMap;

use fastrand::Rng;
use tidegate_tests::Rec;
use uuid::Uuid;

use super::work::Work;
use super::{ACCOUNTS, Load};

/// The largest amount of one payment, in minor units.
const MAX_AMOUNT: i64 = 100_000;

/// An account that is not there.
const UNKNOWN: i64 = 0;

/// What one record says.
#[derive(Clone, Copy)]
pub(crate) struct Payment {
    /// The account, or the order's number.
    pub(crate) account: i64,
    /// Minor units, or the order's version.
    pub(crate) amount: i64,
}

/// All records of a load, by partition, in offset order.
pub(crate) struct Payments {
    load: Load,
    partitions: Vec<Vec<Payment>>,
}

/// What the tables must say once some records are handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// Records handled, rejected ones among them.
    pub(crate) records: i64,
    /// Of these, rejected.
    pub(crate) rejected: i64,
    /// Sum of what the handler wrote.
    pub(crate) sum: i64,
}

impl Payments {
    /// Invents them.
    pub(crate) fn new(load: Load) -> Self {
        let mut random = Rng::with_seed(7);
        let count = i64::from(load.partitions);
        let mut partitions = vec![Vec::new(); usize::try_from(count).unwrap_or(1)];
        for n in 0..load.records {
            let payment = invent(&mut random, &load, n);
            // Round robin where accounts are shared: every partition meets every account.
            let place = if load.shared_accounts || payment.account == UNKNOWN {
                n
            } else {
                usize::try_from((payment.account - 1) % count).unwrap_or(0)
            };
            let place = place % partitions.len();
            partitions[place].push(payment);
        }
        Self { load, partitions }
    }

    /// Records of each partition.
    pub(crate) fn ends(&self) -> Vec<i64> {
        let lengths = self.partitions.iter().map(Vec::len);
        lengths
            .map(|n| i64::try_from(n).unwrap_or(i64::MAX))
            .collect()
    }

    /// What the tables must say once the first `handled` records of each partition are.
    pub(crate) fn totals(&self, handled: &[i64]) -> Totals {
        let mut totals = Totals::default();
        let mut versions = HashMap::new();
        for (payments, &count) in self.partitions.iter().zip(handled) {
            for payment in &payments[..usize::try_from(count).unwrap_or(0)] {
                totals.records += 1;
                if payment.account == UNKNOWN {
                    totals.rejected += 1;
                    continue;
                }
                totals.sum += payment.amount;
                versions.insert(payment.account, payment.amount);
            }
        }
        if self.load.work == Work::Upsert {
            totals.sum = versions.values().sum();
        }
        totals
    }

    /// The records, all partitions at the same pace, `size` or fewer at a time.
    pub(crate) fn chunks(&self, size: usize) -> impl Iterator<Item = Vec<Rec>> {
        let share = size / self.partitions.len();
        let longest = self.partitions.iter().map(Vec::len).max().unwrap_or(0);
        (0..longest).step_by(share).map(move |from| {
            let partitions = (0..).zip(&self.partitions);
            let some = partitions.flat_map(|(partition, payments)| {
                let part = payments.iter().skip(from).take(share);
                part.map(move |payment| self.record(*payment).to(partition))
            });
            some.collect()
        })
    }

    fn record(&self, payment: Payment) -> Rec {
        let id = Uuid::new_v4().to_string();
        let value = self.load.work.value(payment, &id, self.load.value_bytes);
        Rec::new(value)
            .key(payment.account.to_string())
            .event_id(&id)
    }
}

/// An order's version is the record's number, so that each one is newer than those before it.
fn invent(random: &mut Rng, load: &Load, n: usize) -> Payment {
    let account = random.i64(1..=ACCOUNTS);
    let amount = random.i64(1..=MAX_AMOUNT);
    let poison = random.u32(0..100) < load.poison_percent;
    let version = i64::try_from(n + 1).unwrap_or(i64::MAX);
    Payment {
        account: if poison { UNKNOWN } else { account },
        amount: if load.work == Work::Upsert {
            version
        } else {
            amount
        },
    }
}
