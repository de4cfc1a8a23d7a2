//! One clock for all: it runs while a peer is between two marks on its way through the records.
//!
//! Before the first mark lie starting a process, loading a module, joining a group and preparing statements; after the
//! second the end, where some partitions are done and others not. Progress is looked at every 20 ms; both marks are seen
//! late by half of that on average, which cancels out.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use tidegate_tests::Db;
use tokio::time::MissedTickBehavior;

use super::gauge::{Gauge, Progress};

const STEP: Duration = Duration::from_millis(20);

/// The longest time without any progress.
const PATIENCE: Duration = Duration::from_secs(45);

/// The longest time of a measurement: what is slower is stopped, and its rate so far counts.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// Records counted and the time they took.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    /// Committed while the clock ran.
    pub(crate) records: i64,
    /// How long it ran.
    pub(crate) seconds: f64,
    /// Whether it was cut short.
    pub(crate) cut: bool,
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

/// The part of the way that counts, in percent of the records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    from: i64,
    to: i64,
}

impl Window {
    /// All but the start and the end.
    pub(crate) const MOST: Self = Self { from: 10, to: 95 };
    /// From the middle to the end.
    pub(crate) const SECOND_HALF: Self = Self { from: 50, to: 95 };
}

/// What to look at, and how far it has to come.
pub(crate) struct Course {
    gauge: Gauge,
    /// Records when all is done.
    end: i64,
}

/// Records committed, and when that was seen.
type Mark = (i64, Instant);

impl Course {
    /// Watches `progress` by a connection of its own.
    pub(crate) async fn new(db: &Db, progress: &Progress, end: i64) -> Result<Self> {
        let gauge = Gauge::open(db, progress).await?;
        Ok(Self { gauge, end })
    }

    /// Watches to the end; `alive` says why a peer that has died did.
    pub(crate) async fn time(
        &self,
        window: Window,
        mut alive: impl FnMut() -> Result<()>,
    ) -> Result<Run> {
        let (from, to) = (self.end * window.from / 100, self.end * window.to / 100);
        let limit = Instant::now() + LIMIT;
        let began: Mark = (self.gauge.read().await?, Instant::now());
        let first = self.until(from, limit, &mut alive).await?;
        let last = self.until(to, limit, &mut alive).await?;
        let all = self.until(self.end, limit, &mut alive).await?;
        let cut = all.0 < self.end;
        // Where not even the first mark was reached, all of the time counts.
        let first = if first.0 < from { began } else { first };
        ensure!(
            last.0 > first.0,
            "stands at {} of {} records: too slow, or too few of them for the clock (--records)",
            last.0,
            self.end
        );
        Ok(Run {
            records: last.0 - first.0,
            seconds: (last.1 - first.1).as_secs_f64(),
            cut,
        })
    }

    /// Waits until this many records are committed.
    pub(crate) async fn reach(
        &self,
        records: i64,
        mut alive: impl FnMut() -> Result<()>,
    ) -> Result<()> {
        let limit = Instant::now() + LIMIT;
        let (reached, _) = self.until(records, limit, &mut alive).await?;
        ensure!(
            reached >= records,
            "too slow: {reached} of {records} records after {LIMIT:?}"
        );
        Ok(())
    }

    /// The first sight of `target` or more, or how things stand at `limit`.
    async fn until(
        &self,
        target: i64,
        limit: Instant,
        alive: &mut impl FnMut() -> Result<()>,
    ) -> Result<Mark> {
        let mut ticks = tokio::time::interval(STEP);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut last: Mark = (self.gauge.read().await?, Instant::now());
        while last.0 < target && Instant::now() < limit {
            ticks.tick().await;
            let now = self.gauge.read().await?;
            if now > last.0 {
                last = (now, Instant::now());
            } else {
                self.stalled(last)?;
                alive()?;
            }
        }
        // At the limit, the time since the last progress counts too.
        if last.0 < target {
            last.1 = Instant::now();
        }
        Ok(last)
    }

    fn stalled(&self, (next, since): Mark) -> Result<()> {
        let (end, waited) = (self.end, since.elapsed());
        ensure!(
            waited < PATIENCE,
            "stalled: no progress for {waited:?}, it stands at {next} of {end}"
        );
        Ok(())
    }
}
