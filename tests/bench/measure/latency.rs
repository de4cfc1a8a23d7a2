//! From producing a record to its commit, at a steady pace.
//!
//! The server keeps the time of each commit, taken just before the log is flushed; the inbox row names the transaction.
//! So nobody is asked but the database, by the clock of the machine that the producer is on too.

use std::collections::HashMap;

use anyhow::{Context, Result, ensure};

use super::clock::Course;
use super::{Reading, Unit, pace};
use crate::peer::{Job, Peer};

/// Records that come before the paced ones, to start everything.
const WARM_UP: usize = 500;

/// The median over the second half, in milliseconds, with the tail beside it.
pub(crate) async fn measure(job: &Job<'_>, peer: Peer, per_second: usize) -> Result<Reading> {
    let mut running = peer.start(job).await?;
    let course = Course::new(&job.env.db, &running.progress(), job.end()).await?;
    let producer = pace::Producer::new(job)?;
    producer.send(..WARM_UP, None).await?;
    let warm = i64::try_from(WARM_UP)?;
    let done = match course.reach(warm, || running.alive()).await {
        Ok(()) => producer.send(WARM_UP.., Some(per_second)).await,
        Err(e) => Err(e),
    };
    let done = match done {
        Ok(()) => course.reach(job.end(), || running.alive()).await,
        Err(e) => Err(e),
    };
    let stopped = running.stop(done.is_ok()).await;
    done.and(stopped)?;
    let produced = producer.times();
    let half = &produced[produced.len() / 2..];
    let latencies = latencies(job, peer, half).await?;
    Ok(Reading::new(Unit::Milliseconds, quantile(&latencies, 0.5))
        .detail("p99", quantile(&latencies, 0.99))
        .detail("p99.9", quantile(&latencies, 0.999)))
}

/// In milliseconds, sorted.
async fn latencies(job: &Job<'_>, peer: Peer, produced: &[(String, i64)]) -> Result<Vec<f64>> {
    let query = format!(
        "SELECT event_id, (extract(epoch FROM pg_xact_commit_timestamp(xmin)) * 1000000)::bigint FROM {}",
        peer.inbox()
    );
    let rows = job.env.db.client().await.query(&query, &[]).await?;
    let commits: Result<HashMap<String, i64>, tokio_postgres::Error> = rows
        .iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
        .collect();
    let commits = commits?;
    let mut latencies = Vec::with_capacity(produced.len());
    for (id, at) in produced {
        let commit = commits
            .get(id)
            .context("a record that was handled is not in the inbox")?;
        latencies.push(milliseconds(commit - at));
    }
    ensure!(!latencies.is_empty(), "no record was paced");
    latencies.sort_by(f64::total_cmp);
    Ok(latencies)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a latency is far below 2^52 microseconds"
)]
fn milliseconds(micros: i64) -> f64 {
    micros as f64 / 1_000.0
}

/// Of sorted numbers; the next larger one.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an index into a vector"
)]
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let index = (sorted.len() as f64 * share) as usize;
    sorted[index.min(sorted.len() - 1)]
}
