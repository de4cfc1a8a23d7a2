//! From starting the process to the first commit that anybody can see.

use std::time::Instant;

use anyhow::Result;

use super::clock::Course;
use super::{Reading, Unit};
use crate::peer::{Job, Peer};

/// Looks every 20 ms, so it is late by 10 ms on average.
pub(crate) async fn measure(job: &Job<'_>, peer: Peer) -> Result<Reading> {
    let began = Instant::now();
    let mut running = peer.start(job).await?;
    let course = Course::new(&job.env.db, &running.progress(), job.end()).await?;
    let first = course.reach(1, || running.alive()).await;
    let elapsed = began.elapsed().as_secs_f64() * 1_000.0;
    let all = course.reach(job.end(), || running.alive()).await;
    let stopped = running.stop(all.is_ok()).await;
    first.and(all).and(stopped)?;
    Ok(Reading::new(Unit::Milliseconds, elapsed))
}
