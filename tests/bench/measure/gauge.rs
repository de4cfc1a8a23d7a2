//! Where to see how far a peer has come.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use anyhow::Result;
use tidegate_tests::Db;
use tokio_postgres::{Client, Statement};

/// Where a peer shows how many records it has committed.
#[derive(Clone)]
pub(crate) enum Progress {
    /// A query of one number.
    Table(&'static str),
    /// A counter in this process.
    Counter(Arc<AtomicI64>),
}

/// Ready to be read.
pub(super) enum Gauge {
    /// A query, prepared on a connection of its own.
    Table(Client, Statement),
    /// The counter.
    Counter(Arc<AtomicI64>),
}

impl Gauge {
    /// Connects where it must.
    pub(super) async fn open(db: &Db, progress: &Progress) -> Result<Self> {
        Ok(match progress {
            Progress::Counter(counter) => Gauge::Counter(Arc::clone(counter)),
            Progress::Table(query) => {
                let client = db.client().await;
                let statement = client.prepare(query).await?;
                Gauge::Table(client, statement)
            }
        })
    }

    /// Records committed.
    pub(super) async fn read(&self) -> Result<i64> {
        match self {
            Gauge::Counter(counter) => Ok(counter.load(Ordering::Relaxed)),
            Gauge::Table(client, statement) => {
                let row = client.query_one(statement, &[]).await?;
                Ok(row.try_get::<_, Option<i64>>(0)?.unwrap_or(0))
            }
        }
    }
}
