//! Resident memory of the host's processes, as the kernel counts it.

use std::collections::VecDeque;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::clock::Course;
use super::{Reading, Unit};
use crate::peer::{Job, Peer, Running};

/// Time between two looks at memory that is to settle.
const STEP: Duration = Duration::from_millis(250);

/// So many looks in a row must agree.
const CALM: usize = 12;

/// The most looks.
const LOOKS: usize = 120;

/// With nothing to do, once it has settled.
pub(crate) async fn idle(job: &Job<'_>, peer: Peer) -> Result<Reading> {
    let mut running = peer.start(job).await?;
    let settled = settle(&mut running).await;
    let stopped = running.stop(settled.is_ok()).await;
    let settled = settled?;
    stopped?;
    Ok(Reading::new(Unit::Mebibytes, settled))
}

/// The most while it handles the topic.
pub(crate) async fn peak(job: &Job<'_>, peer: Peer) -> Result<Reading> {
    let mut running = peer.start(job).await?;
    let course = Course::new(&job.env.db, &running.progress(), job.end()).await?;
    let reached = course.reach(job.end(), || running.alive()).await;
    let peak = peak_mib(&running);
    let stopped = running.stop(reached.is_ok()).await;
    reached.and(stopped)?;
    let peak = peak?.context("only the host has a process of its own")?;
    Ok(Reading::new(Unit::Mebibytes, peak))
}

/// The most that a peer's processes have held so far, in MiB; none where it has no process of its own.
pub(crate) fn peak_mib(running: &Running) -> Result<Option<f64>> {
    total(running, "VmHWM:")
}

async fn settle(running: &mut Running) -> Result<f64> {
    let mut ticks = tokio::time::interval(STEP);
    let mut recent = VecDeque::new();
    for _ in 0..LOOKS {
        ticks.tick().await;
        running.alive()?;
        let now = total(running, "VmRSS:")?.context("only the host has a process of its own")?;
        recent.push_back(now);
        if recent.len() > CALM {
            recent.pop_front();
            if recent.iter().all(|then| (then - now).abs() < now / 200.0) {
                return Ok(now);
            }
        }
    }
    bail!("memory did not settle: {recent:?} MiB")
}

fn total(running: &Running, field: &str) -> Result<Option<f64>> {
    let pids = running.pids();
    let sizes: Result<Vec<f64>> = pids.iter().map(|&pid| mib(pid, field)).collect();
    let sizes = sizes?;
    Ok((!sizes.is_empty()).then(|| sizes.iter().sum()))
}

fn mib(pid: i32, field: &str) -> Result<f64> {
    let file = format!("/proc/{pid}/status");
    let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {file}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    let kib = line.and_then(|line| line.split_whitespace().next());
    let kib: f64 = kib
        .with_context(|| format!("{file} has no {field}"))?
        .parse()?;
    Ok(kib / 1024.0)
}
