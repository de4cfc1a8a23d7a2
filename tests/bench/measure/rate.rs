//! Records a second.

use anyhow::{Result, ensure};

use super::clock::{Course, LIMIT, Window};
use super::{Reading, Unit, memory};
use crate::peer::{Job, Peer};

/// Lets the peer handle its part of the topic under the clock. The host may be too slow to finish: its books say how
/// far it has come, the others' do not.
pub(crate) async fn measure(job: &Job<'_>, peer: Peer, window: Window) -> Result<Reading> {
    let mut running = peer.start(job).await?;
    let course = Course::new(&job.env.db, &running.progress(), job.end()).await?;
    let run = course.time(window, || running.alive()).await;
    let peak = memory::peak_mib(&running);
    let finished = run.as_ref().is_ok_and(|run| !run.cut);
    let stopped = running.stop(finished).await;
    let run = run?;
    stopped?;
    ensure!(
        finished || matches!(peer, Peer::Host(_)),
        "too slow: {:.0} records/s, cut short after {LIMIT:?}",
        run.rate()
    );
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
