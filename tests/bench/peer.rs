//! Who is measured: the host, PostgreSQL alone, native consumers. All are started, watched and stopped alike.

pub(crate) mod beside;
pub(crate) mod host;
mod job;
pub(crate) mod native;
pub(crate) mod pgbench;
mod tables;

use anyhow::Result;

use crate::measure::gauge::Progress;
pub(crate) use job::Job;

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

impl Peer {
    /// Makes the tables.
    pub(crate) async fn prepare(self, job: &Job<'_>) -> Result<()> {
        job.env.db.exec(&job.load.work.tables()).await;
        match self {
            Peer::Host(setting) => host::prepare(job, setting).await,
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
