//! Records a second.

use anyhow::Result;

use super::clock::{Course, LIMIT, Window};
use super::{Reading, Unit, memory};
use crate::peer::{Job, Peer};

/// Lets the peer handle its part of the topic under the clock.
pub(crate) async fn measure(job: &Job<'_>, peer: Peer, window: Window) -> Result<Reading> {
    let mut running = peer.start(job).await?;
    let course = Course::new(&job.env.db, &running.progress(), job.end()).await?;
    let run = course.time(window, || running.alive()).await;
    let peak = memory::peak_mib(&running);
    let stopped = running.stop(run.is_ok()).await;
    let run = run?;
    stopped?;
    let peak = peak?;
    let reading = Reading::new(Unit::RecordsPerSecond, run.rate());
    let reading = reading
        .detail("seconds", run.seconds)
        .detail("MB/s", run.rate() * megabytes(job));
    let reading = if run.cut {
        reading.detail("cut short after s", LIMIT.as_secs_f64())
    } else {
        reading
    };
    Ok(match peak {
        Some(peak) => reading.detail("peak MiB", peak),
        None => reading,
    })
}

/// The size of a record's value.
#[expect(clippy::cast_precision_loss, reason = "sizes are far below 2^52")]
fn megabytes(job: &Job<'_>) -> f64 {
    job.load.value_bytes as f64 / 1e6
}
