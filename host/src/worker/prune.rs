//! Removes expired claims, in small rounds that never hold up a claim, and at a pace that leaves the server to batches.

use std::time::{Duration, Instant};

use metrics::Counter;
use tidegate_core::duty::Duty;
use tokio_util::sync::CancellationToken;

use crate::inbox::{Inbox, PruneRule};

/// Rows a statement deletes at most.
const ROUND: i64 = 1_000;

/// Prunes expired claims by `rule` every `interval` until `stop`, and counts them.
pub async fn prune(
    inbox: Inbox,
    rule: PruneRule,
    interval: Duration,
    pruned: Counter,
    stop: CancellationToken,
) {
    let (start, mut duty) = (Instant::now(), Duty::default());
    while !is_stopped(&stop, interval).await {
        let mut removed: u64 = 0;
        loop {
            let began = Instant::now();
            match inbox.prune_once(&rule, ROUND).await {
                Ok(0) => {
                    duty.done();
                    break;
                }
                Ok(n) => {
                    pruned.increment(n);
                    removed += n;
                }
                Err(error) => {
                    tracing::warn!(%error, "pruning failed; it is tried again at the next interval");
                    break;
                }
            }
            let pause = duty.pause(began.elapsed(), start.elapsed());
            if is_stopped(&stop, pause).await {
                break;
            }
        }
        if removed > 0 {
            tracing::info!(removed, "expired claims pruned");
        }
    }
}

/// Waits; true once it is the end.
async fn is_stopped(stop: &CancellationToken, wait: Duration) -> bool {
    tokio::select! {
        biased;
        () = stop.cancelled() => true,
        () = tokio::time::sleep(wait) => false,
    }
}
