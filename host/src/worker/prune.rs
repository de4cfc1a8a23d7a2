//! Removes expired claims, and letters that are over, in small rounds that never hold up a claim, and at a pace that
//! leaves the server to batches.

use std::time::{Duration, Instant};

use metrics::Counter;
use tidegate_core::duty::Duty;
use tidegate_core::failure::Failure;
use tokio_util::sync::CancellationToken;

use crate::inbox::{Inbox, KeepRule, PruneRule};

/// Rows a statement deletes at most.
const ROUND: i64 = 1_000;
/// Letters a statement deletes at most: each may be as large as a record.
const LETTERS: i64 = 100;

/// What is removed, and when.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Expired claims.
    pub claims: PruneRule,
    /// Closed letters and finished replays.
    pub letters: KeepRule,
}

/// Prunes by `rules` every `interval` until `stop`, and counts expired claims.
pub async fn prune(
    inbox: Inbox,
    rules: Rules,
    interval: Duration,
    pruned: Counter,
    stop: CancellationToken,
) {
    let mut pruner = Pruner {
        inbox,
        rules,
        pruned,
        start: Instant::now(),
        duty: Duty::default(),
        stop,
    };
    while !pruner.is_stopped(interval).await {
        for what in [What::Claims, What::Letters, What::Replays] {
            pruner.all(what).await;
        }
    }
}

#[derive(Clone, Copy)]
enum What {
    Claims,
    Letters,
    Replays,
}

struct Pruner {
    inbox: Inbox,
    rules: Rules,
    pruned: Counter,
    start: Instant,
    duty: Duty,
    stop: CancellationToken,
}

impl Pruner {
    /// Removes all that is due, round by round.
    async fn all(&mut self, what: What) {
        let mut removed: u64 = 0;
        loop {
            let began = Instant::now();
            match self.round(what).await {
                Ok(0) => {
                    self.duty.done();
                    break;
                }
                Ok(n) => removed += n,
                Err(error) => {
                    tracing::warn!(%error, "pruning failed; it is tried again at the next interval");
                    break;
                }
            }
            let pause = self.duty.pause(began.elapsed(), self.start.elapsed());
            if self.is_stopped(pause).await {
                break;
            }
        }
        match what {
            _ if removed == 0 => {}
            What::Claims => tracing::info!(removed, "expired claims pruned"),
            What::Letters => tracing::info!(removed, "closed dead letters removed"),
            What::Replays => tracing::info!(removed, "finished replays removed"),
        }
    }

    async fn round(&self, what: What) -> Result<u64, Failure> {
        let (inbox, rules) = (&self.inbox, &self.rules);
        match what {
            What::Claims => {
                let pruned = inbox.prune_once(&rules.claims, ROUND).await?;
                self.pruned.increment(pruned);
                Ok(pruned)
            }
            What::Letters => inbox.drop_closed_letters(&rules.letters, LETTERS).await,
            What::Replays => inbox.drop_finished_replays(&rules.letters, LETTERS).await,
        }
    }

    /// Waits; true once it is the end.
    async fn is_stopped(&self, wait: Duration) -> bool {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => true,
            () = tokio::time::sleep(wait) => false,
        }
    }
}
