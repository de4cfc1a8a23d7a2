//! One clock for all: it starts when the progress row is first seen above 0 and stops when it has reached the end.
//!
//! What the row showed at the start is not counted, so starting a process, loading a module, joining a group and
//! preparing the first statements are outside. A connection of its own looks every 20 ms; both ends are seen late by
//! half of that on average, which cancels out.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tidegate_tests::Db;
use tokio::time::MissedTickBehavior;

const STEP: Duration = Duration::from_millis(20);

/// The longest time without any progress.
const PATIENCE: Duration = Duration::from_secs(120);

/// Records counted and the time they took.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    /// Committed while the clock ran.
    pub(crate) records: i64,
    /// How long it ran.
    pub(crate) seconds: f64,
}

impl Run {
    /// Records a second.
    #[expect(
        clippy::cast_precision_loss,
        reason = "record counts are far below 2^52"
    )]
    pub(crate) fn rate(self) -> f64 {
        self.records as f64 / self.seconds
    }
}

/// Where a peer keeps its progress row, and how far it has to come.
pub(crate) struct Course<'a> {
    /// The database.
    pub(crate) db: &'a Db,
    /// A query of one `bigint`: the next offset.
    pub(crate) progress: &'a str,
    /// The next offset when all is done.
    pub(crate) end: i64,
}

impl Course<'_> {
    /// Watches the progress row to the end; `alive` says why a peer that has died did.
    pub(crate) async fn time(&self, mut alive: impl FnMut() -> Result<()>) -> Result<Run> {
        let client = self.db.client().await;
        let statement = client.prepare(self.progress).await?;
        let mut ticks = tokio::time::interval(STEP);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut start = None;
        let mut last = (0, Instant::now());
        while last.0 < self.end {
            ticks.tick().await;
            let row = client.query_opt(&statement, &[]).await?;
            let next: i64 = row.map_or(Ok(None), |row| row.try_get(0))?.unwrap_or(0);
            if next > last.0 {
                last = (next, Instant::now());
                start.get_or_insert(last);
            } else {
                self.stalled(last)?;
                alive()?;
            }
        }
        finish(start, last)
    }

    fn stalled(&self, (next, since): (i64, Instant)) -> Result<()> {
        let (end, waited) = (self.end, since.elapsed());
        ensure!(
            waited < PATIENCE,
            "no progress for {waited:?}: it stands at {next} of {end}"
        );
        Ok(())
    }
}

fn finish(start: Option<(i64, Instant)>, last: (i64, Instant)) -> Result<Run> {
    let (from, began) = start.context("nothing was to be done")?;
    ensure!(
        last.0 > from,
        "all was done before the clock could start: give more BENCH_RECORDS"
    );
    Ok(Run {
        records: last.0 - from,
        seconds: (last.1 - began).as_secs_f64(),
    })
}
