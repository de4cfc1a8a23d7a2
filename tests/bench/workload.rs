//! The payments: random accounts and amounts, random UUIDs for event ids, no duplicates.

use fastrand::Rng;
use tidegate_tests::Rec;
use uuid::Uuid;

/// Accounts that payments go to, with ids from 1.
pub(crate) const ACCOUNTS: i64 = 10_000;

/// The largest amount of one payment, in minor units.
const MAX_AMOUNT: i64 = 100_000;

struct Payment {
    account: i64,
    amount: i64,
}

/// All payments of a measurement; every measurement has the same ones.
pub(crate) struct Workload {
    payments: Vec<Payment>,
}

impl Workload {
    /// `records` payments, the same accounts and amounts each time.
    pub(crate) fn new(records: usize) -> Self {
        let mut random = Rng::with_seed(7);
        let payments = (0..records).map(|_| Payment {
            account: random.i64(1..=ACCOUNTS),
            amount: random.i64(1..=MAX_AMOUNT),
        });
        Self {
            payments: payments.collect(),
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.payments.len()
    }

    /// What the balances must sum to in the end.
    pub(crate) fn total(&self) -> i64 {
        self.payments.iter().map(|payment| payment.amount).sum()
    }

    /// The records in order, `size` at a time.
    pub(crate) fn chunks(&self, size: usize) -> impl Iterator<Item = Vec<Rec>> {
        self.payments
            .chunks(size)
            .map(|some| some.iter().map(record).collect())
    }
}

/// About 200 bytes of JSON, of which the handler wants two fields.
fn record(payment: &Payment) -> Rec {
    let Payment { account, amount } = payment;
    let id = Uuid::new_v4();
    let value = format!(
        r#"{{"payment_id":"{id}","amount_minor":{amount},"account_id":{account},"currency":"EUR","booked_at":"2025-05-14T09:26:53.589Z","reference":"invoice 2025/0042","channel":"sepa-credit"}}"#
    );
    Rec::new(value)
        .key(account.to_string())
        .event_id(&id.to_string())
}
