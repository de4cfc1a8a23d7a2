//! Records a second.

use anyhow::Result;

use super::clock::Course;
use super::{Reading, Unit, memory};
use crate::peer::{Job, Peer};

/// Lets the peer handle its part of the topic under the clock.
pub(crate) async fn measure(job: &Job<'_>, peer: Peer) -> Result<Reading> {
    let mut running = peer.start(job).await?;
    let course = Course::new(&job.env.db, &running.progress(), job.end()).await?;
    let run = course.time(|| running.alive()).await;
    let peak = running.pids().into_iter().map(memory::peak_mib);
    let peak: f64 = peak.sum::<Result<f64>>()?;
    running.stop(run.is_ok()).await?;
    let run = run?;
    let reading = Reading {
        value: run.rate(),
        unit: Unit::RecordsPerSecond,
        details: vec![("seconds", run.seconds)],
    };
    Ok(if peak > 0.0 {
        reading.detail("peak MiB", peak)
    } else {
        reading
    })
}
