//! Removes expired claims, in small rounds that never hold up a claim.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::inbox::{Inbox, PruneRule};

/// Rows a statement deletes at most.
const ROUND: i64 = 1_000;

/// Prunes expired claims by `rule` every `interval` until `stop`.
pub async fn prune(inbox: Inbox, rule: PruneRule, interval: Duration, stop: CancellationToken) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(interval) => round(&inbox, &rule, &stop).await,
        }
    }
}

async fn round(inbox: &Inbox, rule: &PruneRule, stop: &CancellationToken) {
    let mut removed: u64 = 0;
    while !stop.is_cancelled() {
        match inbox.prune_once(rule, ROUND).await {
            Ok(0) => break,
            Ok(n) => removed += n,
            Err(error) => {
                tracing::warn!(%error, "pruning failed; it is tried again at the next interval");
                break;
            }
        }
    }
    if removed > 0 {
        tracing::info!(removed, "expired claims pruned");
    }
}
