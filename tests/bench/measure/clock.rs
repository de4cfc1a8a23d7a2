//! One clock for all: it runs while a peer is between the first tenth and the last twentieth of its records.
//!
//! Starting a process, loading a module, joining a group and preparing the first statements are outside, and so is the
//! end, where some partitions are done and others not. Progress is looked at every 20 ms; both ends are seen late by
//! half of that on average, which cancels out.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tidegate_tests::Db;
use tokio::time::MissedTickBehavior;
use tokio_postgres::{Client, Statement};

const STEP: Duration = Duration::from_millis(20);

/// The longest time without any progress.
const PATIENCE: Duration = Duration::from_secs(60);

/// The longest time of a measurement: what is slower is stopped, and its rate so far counts.
const LIMIT: Duration = Duration::from_secs(120);

/// Where a peer shows how many records it has committed.
#[derive(Clone)]
pub(crate) enum Progress {
    /// A query of one number.
    Table(&'static str),
    /// A counter in this process.
    Counter(Arc<AtomicI64>),
}

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

enum Gauge {
    Table(Client, Statement),
    Counter(Arc<AtomicI64>),
}

impl Gauge {
    async fn read(&self) -> Result<i64> {
        match self {
            Gauge::Counter(counter) => Ok(counter.load(Ordering::Relaxed)),
            Gauge::Table(client, statement) => {
                let row = client.query_one(statement, &[]).await?;
                Ok(row.try_get::<_, Option<i64>>(0)?.unwrap_or(0))
            }
        }
    }
}

/// What to look at, and how far it has to come.
pub(crate) struct Course {
    gauge: Gauge,
    /// Records when all is done.
    end: i64,
}

type Mark = (i64, Instant);

impl Course {
    /// Watches `progress` by a connection of its own.
    pub(crate) async fn new(db: &Db, progress: &Progress, end: i64) -> Result<Self> {
        let gauge = match progress {
            Progress::Counter(counter) => Gauge::Counter(Arc::clone(counter)),
            Progress::Table(query) => {
                let client = db.client().await;
                let statement = client.prepare(query).await?;
                Gauge::Table(client, statement)
            }
        };
        Ok(Self { gauge, end })
    }

    /// Watches to the end; `alive` says why a peer that has died did.
    pub(crate) async fn time(&self, mut alive: impl FnMut() -> Result<()>) -> Result<Run> {
        let (from, to) = (self.end / 10, self.end * 19 / 20);
        let mut ticks = tokio::time::interval(STEP);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let began = Instant::now();
        let (mut last, mut first, mut stop): (Mark, Option<Mark>, Option<Mark>) =
            ((0, began), None, None);
        while last.0 < self.end {
            ticks.tick().await;
            let now = self.gauge.read().await?;
            if now > last.0 {
                last = (now, Instant::now());
                first = first.or_else(|| (now >= from).then_some(last));
                stop = stop.or_else(|| (now >= to).then_some(last));
            } else {
                self.stalled(last)?;
                alive()?;
            }
            if began.elapsed() > LIMIT {
                break;
            }
        }
        self.finish(first, stop.unwrap_or(last))
    }

    fn stalled(&self, (next, since): Mark) -> Result<()> {
        let (end, waited) = (self.end, since.elapsed());
        ensure!(
            waited < PATIENCE,
            "stalled: no progress for {waited:?}, it stands at {next} of {end}"
        );
        Ok(())
    }

    fn finish(&self, first: Option<Mark>, last: Mark) -> Result<Run> {
        let (end, (from, began)) = (
            self.end,
            first.context("the clock never started: too slow, or nothing to do")?,
        );
        ensure!(
            last.0 > from,
            "{end} records were done before the clock could run: give more --records"
        );
        Ok(Run {
            records: last.0 - from,
            seconds: (last.1 - began).as_secs_f64(),
        })
    }
}
