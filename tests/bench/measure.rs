//! One measurement: a fresh database, one peer at work, the clock, and the books afterwards.

pub(crate) mod books;
pub(crate) mod clock;
pub(crate) mod disk;
pub(crate) mod machine;
pub(crate) mod memory;
mod rate;
mod reading;

use std::fmt;

use anyhow::{Context, Result};
use tidegate_tests::test_env_on;

use crate::lab::Lab;
use crate::peer::Job;
use crate::scenario::Contender;
use books::Books;
pub(crate) use reading::{Reading, Unit};

/// What is measured of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Records a second of a preloaded topic.
    Rate,
}

/// A contender's turn in one round.
pub(crate) struct Measurement {
    /// Who.
    pub(crate) label: &'static str,
    /// Which round, from 0.
    pub(crate) round: usize,
    /// Median time of an fdatasync of 8 KiB just before, in milliseconds.
    pub(crate) fdatasync_ms: f64,
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
            "round {} {:<30} {} fdatasync {:.2} ms, load {:.1}; {}",
            self.round + 1,
            self.label,
            self.reading,
            self.fdatasync_ms,
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
    let stock = lab.stock(&contender.load).await;
    let _quiet = lab.hold()?;
    let env = test_env_on("bench", None, None).await;
    let job = Job::new(&env, &stock, contender);
    let turn = turn(&job, contender, round).await;
    let turn = turn.with_context(|| format!("{} in round {}", contender.label, round + 1));
    env.db.remove().await;
    turn
}

async fn turn(job: &Job<'_>, contender: &Contender, round: usize) -> Result<Measurement> {
    contender.peer.prepare(job).await?;
    job.settle().await;
    let fdatasync_ms = disk::fdatasync_ms(job.env.dir()).await?;
    let load = machine::load();
    let reading = match contender.task {
        Task::Rate => rate::measure(job, contender.peer).await?,
    };
    Ok(Measurement {
        label: contender.label,
        round,
        fdatasync_ms,
        load,
        reading,
        books: books::audit(job, contender.peer).await?,
    })
}
