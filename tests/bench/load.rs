//! What is to be handled: how many records of which kind, and how they lie in their partitions.

pub(crate) mod payments;
pub(crate) mod stock;
pub(crate) mod work;

use work::Work;

/// Accounts that payments go to, with ids from 1; as many orders.
pub(crate) const ACCOUNTS: i64 = 10_000;

/// A topic's content in numbers; equal loads share a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Load {
    /// What the handler does with a record.
    pub(crate) work: Work,
    /// Records in all.
    pub(crate) records: usize,
    /// Partitions, of equal size where the key decides.
    pub(crate) partitions: i32,
    /// Whether partitions share accounts; else an account's payments all lie in one.
    pub(crate) shared_accounts: bool,
    /// How many of 100 records, at random places, name an account that is not there.
    pub(crate) poison_percent: u32,
    /// Size of a value in bytes, about.
    pub(crate) value_bytes: usize,
}

impl Load {
    /// Payments in one partition.
    pub(crate) fn payments(records: usize) -> Self {
        Self {
            work: Work::Credit,
            records,
            partitions: 1,
            shared_accounts: false,
            poison_percent: 0,
            value_bytes: 200,
        }
    }

    /// The same for another handler.
    pub(crate) fn work(self, work: Work) -> Self {
        Self { work, ..self }
    }

    /// With accounts that the partitions share.
    pub(crate) fn shared_accounts(self) -> Self {
        Self {
            shared_accounts: true,
            ..self
        }
    }

    /// With so many of 100 records that are to be rejected.
    pub(crate) fn poison(self, poison_percent: u32) -> Self {
        Self {
            poison_percent,
            ..self
        }
    }

    /// With values of about this size.
    pub(crate) fn value_bytes(self, value_bytes: usize) -> Self {
        Self {
            value_bytes,
            ..self
        }
    }

    /// The same in more partitions.
    pub(crate) fn partitions(self, partitions: i32) -> Self {
        Self { partitions, ..self }
    }
}
