//! Who is measured, and one measurement.

use std::fmt;

use anyhow::{Context, Result, bail};
use tidegate_tests::{TestEnv, test_env};

use crate::books::{self, Books};
use crate::clock::Run;
use crate::machine;
use crate::workload::Workload;
use crate::{host, native, pgbench, tables};

/// One of the three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    /// `tidegate run` with the handler `credit-rust`.
    Host,
    /// pgbench, the *set* shape, one connection.
    Pgbench,
    /// The consumer of `native`: the same batching in plain Rust.
    Native,
}

impl Peer {
    /// All of them, in the order of the report.
    pub(crate) const ALL: [Peer; 3] = [Peer::Host, Peer::Pgbench, Peer::Native];

    /// Its name in the report.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Peer::Host => "host",
            Peer::Pgbench => "pgbench",
            Peer::Native => "native",
        }
    }

    /// The peer of that name.
    pub(crate) fn named(name: &str) -> Result<Self> {
        match Self::ALL.into_iter().find(|peer| peer.name() == name) {
            Some(peer) => Ok(peer),
            None => bail!("BENCH_PEERS names {name:?}: there are host, pgbench and native"),
        }
    }
}

/// What one peer is given to do.
pub(crate) struct Job<'a> {
    /// Its own database and names.
    pub(crate) env: &'a TestEnv,
    /// The preloaded topic.
    pub(crate) topic: &'a str,
    /// Records to handle.
    pub(crate) records: usize,
}

/// One peer's turn in one round.
pub(crate) struct Measurement {
    /// Who.
    pub(crate) peer: Peer,
    /// Which round, from 0.
    pub(crate) round: usize,
    /// Median time of an fdatasync of 8 KiB just before, in milliseconds.
    pub(crate) fdatasync_ms: f64,
    /// The load average of one minute just before: what ran a moment ago counts too, so 0 is not to be had.
    pub(crate) load: f64,
    /// What was counted and how long it took.
    pub(crate) run: Run,
    /// What the tables say afterwards.
    pub(crate) books: Books,
}

impl Measurement {
    /// Whether the effect in the database is exactly what it had to be.
    pub(crate) fn balanced(&self) -> bool {
        self.books.balanced()
    }
}

impl fmt::Display for Measurement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "round {} {:<8} {:>8.0} records/s ({} in {:.2} s, {:.0} a transaction) fdatasync {:.2} ms, load {:.1}; {}",
            self.round + 1,
            self.peer.name(),
            self.run.rate(),
            self.run.records,
            self.run.seconds,
            self.books.mean_batch(),
            self.fdatasync_ms,
            self.load,
            self.books
        )
    }
}

/// Gives `peer` a fresh database and group, lets it work and audits what it did.
pub(crate) async fn measure(
    peer: Peer,
    round: usize,
    topic: &str,
    workload: &Workload,
) -> Result<Measurement> {
    let env = test_env(&format!("bench_{}_{}", peer.name(), round + 1)).await;
    tables::create(&env.db).await;
    let fdatasync_ms = machine::fdatasync_ms(env.dir()).await?;
    let load = machine::load();
    let job = Job {
        env: &env,
        topic,
        records: workload.len(),
    };
    let run = match peer {
        Peer::Host => host::run(&job).await,
        Peer::Pgbench => pgbench::run(&job).await,
        Peer::Native => native::run(&job).await,
    };
    let run = run.with_context(|| format!("{} in round {}", peer.name(), round + 1))?;
    let expected = match peer {
        Peer::Pgbench => pgbench::total(workload.len())?,
        Peer::Host | Peer::Native => workload.total(),
    };
    Ok(Measurement {
        peer,
        round,
        fdatasync_ms,
        load,
        run,
        books: books::audit(&env.db, peer, workload.len(), expected).await?,
    })
}
