//! What one peer is given to do, in one measurement.

use tidegate_tests::TestEnv;

use super::Peer;
use crate::load::Load;
use crate::load::stock::Stock;
use crate::scenario::Contender;

/// Its database, its records, the way to both.
pub(crate) struct Job<'a> {
    /// Its own database and names.
    pub(crate) env: &'a TestEnv,
    /// The topic.
    pub(crate) stock: &'a Stock,
    /// What the topic holds.
    pub(crate) load: Load,
    /// Where each partition's part ends; pgbench, which reads no topic, has one end for all.
    pub(crate) ends: Vec<i64>,
    /// The way to the database.
    pub(crate) url: String,
}

impl<'a> Job<'a> {
    /// A contender's part of the topic.
    pub(crate) fn new(
        env: &'a TestEnv,
        stock: &'a Stock,
        contender: &Contender,
        url: String,
    ) -> Self {
        let mut ends = stock.payments.ends();
        match contender.peer {
            Peer::NativeRecord { records } => {
                let share = count(records / ends.len());
                ends.iter_mut().for_each(|end| *end = share.min(*end));
            }
            Peer::Pgbench { records, .. } => ends = vec![count(records)],
            Peer::Host(_) | Peer::NativeBatch => {}
        }
        Self {
            env,
            stock,
            load: contender.load,
            ends,
            url,
        }
    }

    /// Records in all.
    pub(crate) fn end(&self) -> i64 {
        self.ends.iter().sum()
    }

    /// Leaves nothing for the server to catch up with while the clock runs.
    pub(crate) async fn settle(&self) {
        self.env.db.exec("VACUUM (ANALYZE)").await;
        self.env.db.exec("CHECKPOINT").await;
    }
}

fn count(records: usize) -> i64 {
    i64::try_from(records).unwrap_or(i64::MAX)
}
