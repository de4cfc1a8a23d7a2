//! The lanes that batches of one consumer run in: the core decides how many, a fair semaphore holds the rest back.

mod lane;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tidegate_core::lanes::{Lanes as Decisions, Locks};
use tokio::sync::{Semaphore, watch};

pub use lane::Lane;
use lane::Run;

/// As good as no limit.
const ALL: usize = 1 << 20;

/// One consumer's lanes on this host.
pub struct Lanes {
    consumer: Arc<str>,
    start: Instant,
    permits: Arc<Semaphore>,
    state: Mutex<State>,
}

struct State {
    decisions: Decisions,
    /// Permits that there are to be.
    permits: usize,
    /// Permits beyond those, still held by batches that run; they go as the batches end.
    excess: usize,
    /// The fewest lanes since all were open.
    lowest: usize,
}

impl Lanes {
    /// All lanes open.
    pub fn new(consumer: Arc<str>) -> Arc<Self> {
        let state = State {
            decisions: Decisions::default(),
            permits: ALL,
            excess: 0,
            lowest: ALL,
        };
        Arc::new(Self {
            consumer,
            start: Instant::now(),
            permits: Arc::new(Semaphore::new(ALL)),
            state: Mutex::new(state),
        })
    }

    /// The most records that the next batch should take. Tries more lanes if it is time; `partitions` is how many
    /// could run.
    pub fn most_records(&self, partitions: usize) -> usize {
        let mut state = self.state();
        state.decisions.rest(partitions, self.start.elapsed());
        self.adjust(&mut state);
        state.decisions.most_records()
    }

    /// Waits, in turn, for a lane for a batch of so many records; none once no batch may begin any more. A single
    /// record takes no lane.
    pub async fn enter(
        self: &Arc<Self>,
        records: usize,
        may_begin: &mut watch::Receiver<bool>,
    ) -> Option<Lane> {
        if records == 1 {
            return Some(Lane {
                run: None,
                locks: Locks::default(),
            });
        }
        let permits = Arc::clone(&self.permits);
        let permit = tokio::select! {
            biased;
            permit = permits.acquire_owned() => permit.ok()?,
            _ = may_begin.wait_for(|may| !may) => return None,
        };
        let mut state = self.state();
        let (ticket, locks) = (state.decisions.began(), state.decisions.locks(records));
        let run = Run {
            lanes: Arc::clone(self),
            permit: Some(permit),
            began: (ticket, Instant::now()),
            records,
        };
        Some(Lane {
            run: Some(run),
            locks,
        })
    }

    /// Brings the permits to the number decided.
    fn adjust(&self, state: &mut State) {
        let wanted = state.decisions.limit().unwrap_or(ALL);
        let had = std::mem::replace(&mut state.permits, wanted);
        if wanted < had {
            let free = self.permits.forget_permits(had - wanted);
            state.excess += had - wanted - free;
        } else if wanted > had {
            let settled = state.excess.min(wanted - had);
            state.excess -= settled;
            self.permits.add_permits(wanted - had - settled);
        }
        self.say(state, had);
    }

    fn say(&self, state: &mut State, had: usize) {
        let (consumer, lanes) = (&self.consumer, state.permits);
        if lanes == ALL && had != ALL {
            state.lowest = ALL;
            tracing::info!(%consumer, "all partitions' batches run at the same time again");
        } else if lanes < state.lowest {
            state.lowest = lanes;
            tracing::info!(%consumer, lanes, "batches of several partitions wait for one another's rows: fewer run at the same time until that is over");
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
