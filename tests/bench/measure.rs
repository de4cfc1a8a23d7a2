//! One measurement: a fresh database, one peer at work, the clock, and the books afterwards.

pub(crate) mod books;
pub(crate) mod clock;
pub(crate) mod disk;
pub(crate) mod gauge;
mod latency;
pub(crate) mod machine;
pub(crate) mod memory;
mod pace;
mod rate;
mod reading;
mod start;

use std::fmt;

use anyhow::{Context, Result};
use tidegate_tests::TestEnv;

use crate::lab::Lab;
use crate::lab::link::Link;
use crate::peer::Job;
use crate::scenario::Contender;
use crate::site::Seed;
use books::Books;
use clock::Window;
pub(crate) use reading::{Reading, Unit};

/// What is measured of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Records a second of a preloaded topic.
    Rate,
    /// The same over its second half, when the members of a group have long shared the partitions.
    SecondHalfRate,
    /// Time from producing a record to its commit, at so many records a second.
    Latency {
        /// The pace.
        per_second: usize,
    },
    /// Resident memory with nothing to do.
    IdleMemory,
    /// The most resident memory while it handles the topic.
    PeakMemory,
    /// Time from starting the process to its first commit.
    Start,
}

/// A contender's turn in one round.
pub(crate) struct Measurement {
    /// Who.
    pub(crate) label: &'static str,
    /// Which round, from 0.
    pub(crate) round: usize,
    /// Median time of an fdatasync of 8 KiB just before, in milliseconds.
    pub(crate) fdatasync_ms: f64,
    /// Median time of a commit of next to nothing on the measurement's server, in milliseconds.
    pub(crate) commit_ms: f64,
    /// The load average of one minute just before: what ran a moment ago counts too, so 0 is not to be had.
    pub(crate) load: f64,
    /// The result.
    pub(crate) reading: Reading,
    /// What the tables say afterwards.
    pub(crate) books: Books,
}

impl fmt::Display for Measurement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "round {} {:<30} {}; fdatasync {:.2} ms, commit {:.2} ms, load {:.1}; {}",
            self.round + 1,
            self.label,
            self.reading,
            self.fdatasync_ms,
            self.commit_ms,
            self.load,
            self.books
        )
    }
}

/// Gives a contender a fresh database and group, lets it work and audits what it did.
pub(crate) async fn measure(
    lab: &mut Lab,
    contender: &Contender,
    round: usize,
) -> Result<Measurement> {
    let stock = match contender.task {
        Task::Latency { .. } => lab.paced(&contender.load, round).await,
        _ => lab.stock(&contender.load).await,
    };
    lab.hold().await?;
    let env = lab.site(contender, &stock).await?;
    let link = Link::open(&env.db, contender.site.round_trip).await?;
    let job = Job::new(&env, &stock, contender, link.url(&env.db));
    let turn = turn(&job, contender, round).await;
    let mut measured =
        turn.with_context(|| format!("{} in round {}", contender.label, round + 1))?;
    measured.reading.details.extend(
        link.round_trip_ms
            .map(|round_trip| ("round trip ms", round_trip)),
    );
    measured
        .reading
        .details
        .extend(pruned(&env, contender.site.seed).await);
    env.db.remove().await;
    Ok(measured)
}

async fn turn(job: &Job<'_>, contender: &Contender, round: usize) -> Result<Measurement> {
    let peer = contender.peer;
    peer.prepare(job).await?;
    job.settle().await;
    let fdatasync_ms = disk::fdatasync_ms(job.env.dir()).await?;
    let commit_ms = disk::commit_ms(&job.env.db).await?;
    let load = machine::load();
    let reading = match contender.task {
        Task::Rate => rate::measure(job, peer, Window::MOST).await?,
        Task::SecondHalfRate => rate::measure(job, peer, Window::SECOND_HALF).await?,
        Task::Latency { per_second } => latency::measure(job, peer, per_second).await?,
        Task::IdleMemory => memory::idle(job, peer).await?,
        Task::PeakMemory => memory::peak(job, peer).await?,
        Task::Start => start::measure(job, peer).await?,
    };
    Ok(Measurement {
        label: contender.label,
        round,
        fdatasync_ms,
        commit_ms,
        load,
        reading,
        books: books::audit(job, peer).await?,
    })
}

/// How much of what had expired was pruned meanwhile.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
async fn pruned(env: &TestEnv, seed: Seed) -> Option<(&'static str, f64)> {
    let Seed::Expired(rows) = seed else {
        return None;
    };
    let left = "SELECT count(*) FROM tidegate.processed_events WHERE topic = 'earlier'";
    let left = env.db.query_one_i64(left).await;
    Some(("pruned", rows as f64 - left as f64))
}
