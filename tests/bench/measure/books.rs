//! The books of one measurement: a fast consumer that loses or doubles money is not fast.

use std::fmt;

use anyhow::Result;
use serde_json::{Value, json};

use crate::load::payments::Totals;
use crate::peer::{Job, Peer, pgbench};

/// What the tables say after a measurement, beside what they had to say.
pub(crate) struct Books {
    /// From the records that the peer says it has handled.
    pub(crate) expected: Totals,
    /// From the inbox, the dead letters and the handler's own table.
    pub(crate) actual: Totals,
    /// Records in a transaction, on average.
    pub(crate) mean_batch: f64,
}

impl Books {
    /// One claim a record, one letter a rejection, and the sum exact.
    pub(crate) fn balanced(&self) -> bool {
        self.expected == self.actual
    }

    /// As JSON.
    pub(crate) fn json(&self) -> Value {
        let side = |totals: Totals| json!({ "claims": totals.records, "letters": totals.rejected, "sum": totals.sum });
        json!({
            "balanced": self.balanced(), "expected": side(self.expected), "actual": side(self.actual),
        })
    }
}

impl fmt::Display for Books {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.balanced() {
            return write!(f, "{:.0} a transaction, books exact", self.mean_batch);
        }
        write!(
            f,
            "BOOKS WRONG: expected {:?}, found {:?}",
            self.expected, self.actual
        )
    }
}

/// Reads them; `processed_at` is the transaction's own time, so its distinct values count transactions.
pub(crate) async fn audit(job: &Job<'_>, peer: Peer) -> Result<Books> {
    let letters = match peer {
        Peer::Host(_) => "SELECT count(*) FROM tidegate.dead_letters WHERE consumer_name = 'bench'",
        _ => "SELECT 0",
    };
    let counts = format!(
        "SELECT count(*), count(DISTINCT processed_at) FROM {} WHERE topic = '{}'",
        peer.inbox(),
        job.stock.topic
    );
    let row = job.env.db.client().await.query_one(&counts, &[]).await?;
    let (claims, transactions): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
    Ok(Books {
        expected: expected(job, peer).await?,
        actual: Totals {
            records: claims,
            rejected: job.env.db.query_one_i64(letters).await,
            sum: job.env.db.query_one_i64(job.load.work.sum()).await,
        },
        mean_batch: mean(claims, transactions),
    })
}

/// The host says itself how far it has come, which is less than all where the clock gave up on it.
async fn expected(job: &Job<'_>, peer: Peer) -> Result<Totals> {
    let payments = &job.stock.payments;
    match peer {
        Peer::Pgbench { connections, .. } => pgbench::totals(job, connections),
        Peer::NativeBatch | Peer::NativeRecord { .. } => Ok(payments.totals(&job.ends)),
        Peer::Host(_) => {
            let positions = "SELECT next_offset FROM tidegate.progress WHERE consumer_name = 'bench' ORDER BY partition";
            let rows = job.env.db.client().await.query(positions, &[]).await?;
            let handled: Result<Vec<i64>, _> = rows.iter().map(|row| row.try_get(0)).collect();
            Ok(payments.totals(&handled?))
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "record counts are far below 2^52"
)]
fn mean(claims: i64, transactions: i64) -> f64 {
    claims as f64 / transactions.max(1) as f64
}
