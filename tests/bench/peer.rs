//! Who is measured: the host, PostgreSQL alone, native consumers. All are started, watched and stopped alike.

pub(crate) mod host;
pub(crate) mod native;
pub(crate) mod pgbench;
mod tables;

use anyhow::Result;
use tidegate_tests::TestEnv;

use crate::load::Load;
use crate::load::stock::Stock;
use crate::measure::clock::Progress;
use crate::scenario::Contender;

/// A kind of peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    /// `tidegate run`.
    Host(host::Setting),
    /// pgbench, the *set* shape.
    Pgbench {
        /// Connections, on accounts of their own.
        connections: usize,
        /// Records to make up, for it is faster than the others: whole batches on every connection.
        records: usize,
    },
    /// The host's batching in plain Rust, a connection a partition.
    NativeBatch,
    /// One transaction a record, as the usual article about the inbox has it, a connection a partition.
    NativeRecord {
        /// Records of the topic to handle: it is slower than the others.
        records: usize,
    },
}

/// What one peer is given to do.
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

impl Peer {
    /// Makes the tables.
    pub(crate) async fn prepare(self, job: &Job<'_>) -> Result<()> {
        job.env.db.exec(&job.load.work.tables()).await;
        match self {
            Peer::Host(_) => host::migrate(job).await,
            _ => {
                tables::create(&job.env.db, job.load.partitions).await;
                Ok(())
            }
        }
    }

    /// Its inbox.
    pub(crate) fn inbox(self) -> &'static str {
        match self {
            Peer::Host(_) => "tidegate.processed_events",
            _ => "peer.processed_events",
        }
    }

    /// Starts it.
    pub(crate) async fn start(self, job: &Job<'_>) -> Result<Running> {
        Ok(match self {
            Peer::Host(setting) => Running::Host(host::start(job, setting).await),
            Peer::Pgbench { connections, .. } => {
                Running::Pgbench(pgbench::Pgbench::start(job, connections).await?)
            }
            Peer::NativeBatch => Running::Native(native::Native::batches(job).await?),
            Peer::NativeRecord { .. } => Running::Native(native::Native::records(job)?),
        })
    }
}

/// A peer at work.
pub(crate) enum Running {
    /// Processes of the host.
    Host(host::Hosts),
    /// pgbench.
    Pgbench(pgbench::Pgbench),
    /// Tasks and threads of this process.
    Native(native::Native),
}

impl Running {
    /// Where it shows how far it has come.
    pub(crate) fn progress(&self) -> Progress {
        match self {
            Running::Host(_) => host::PROGRESS,
            Running::Pgbench(_) => tables::PROGRESS,
            Running::Native(native) => native.progress(),
        }
    }

    /// Says why it has ended before its time, if it has.
    pub(crate) fn alive(&mut self) -> Result<()> {
        match self {
            Running::Host(hosts) => hosts.alive(),
            Running::Pgbench(pgbench) => pgbench.alive(),
            Running::Native(native) => native.alive(),
        }
    }

    /// The host's processes; none for the others.
    pub(crate) fn pids(&self) -> Vec<i32> {
        match self {
            Running::Host(hosts) => hosts.pids(),
            _ => Vec::new(),
        }
    }

    /// Ends it in order; where the clock gave up, `finished` is false and it is cut off.
    pub(crate) async fn stop(self, finished: bool) -> Result<()> {
        match self {
            Running::Host(hosts) => hosts.stop().await,
            Running::Pgbench(pgbench) => pgbench.stop(finished).await,
            Running::Native(native) => native.stop(finished).await,
        }
    }
}
