//! The books of one measurement: a fast consumer that loses or doubles money is not fast.

use std::fmt;

use anyhow::Result;
use tidegate_tests::Db;

use crate::peer::Peer;

/// What the tables say after a measurement, beside what they had to say.
pub(crate) struct Books {
    /// Records that were to be handled.
    pub(crate) records: i64,
    /// Claims in the inbox.
    pub(crate) claims: i64,
    /// Transactions that those claims came in.
    pub(crate) transactions: i64,
    /// What the balances had to sum to.
    pub(crate) expected: i64,
    /// What they sum to.
    pub(crate) actual: i64,
}

impl Books {
    /// One claim a record, and the sum exact.
    pub(crate) fn balanced(&self) -> bool {
        self.claims == self.records && self.actual == self.expected
    }

    /// Records in a transaction, on average.
    #[expect(
        clippy::cast_precision_loss,
        reason = "record counts are far below 2^52"
    )]
    pub(crate) fn mean_batch(&self) -> f64 {
        self.claims as f64 / self.transactions.max(1) as f64
    }
}

impl fmt::Display for Books {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.balanced() {
            return write!(f, "books exact");
        }
        write!(
            f,
            "BOOKS WRONG: {} claims for {} records, balances sum to {}, not {}",
            self.claims, self.records, self.actual, self.expected
        )
    }
}

/// Reads them; `processed_at` is the transaction's own time, so its distinct values count transactions.
pub(crate) async fn audit(db: &Db, peer: Peer, records: usize, expected: i64) -> Result<Books> {
    let inbox = match peer {
        Peer::Host => "tidegate.processed_events",
        Peer::Pgbench | Peer::Native => "peer.processed_events",
    };
    let transactions = format!("SELECT count(DISTINCT processed_at) FROM {inbox}");
    Ok(Books {
        records: i64::try_from(records)?,
        claims: db
            .query_one_i64(&format!("SELECT count(*) FROM {inbox}"))
            .await,
        transactions: db.query_one_i64(&transactions).await,
        expected,
        actual: db
            .query_one_i64("SELECT sum(balance)::bigint FROM accounts")
            .await,
    })
}
