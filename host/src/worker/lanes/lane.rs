//! One batch's stay in a lane.

use std::sync::Arc;
use std::time::Instant;

use tidegate_core::failure::{Broken, Failure};
use tidegate_core::lanes::{Locks, Ticket};
use tidegate_core::sqlstate::{DEADLOCK, SqlClass};
use tokio::sync::OwnedSemaphorePermit;

use super::Lanes;
use crate::worker::attempt::Attempt;

/// A place to run one batch in; given back when dropped.
pub struct Lane {
    pub(super) run: Option<Run>,
    /// What the batch's transaction does about locks.
    pub locks: Locks,
}

/// A batch under way.
pub(super) struct Run {
    pub(super) lanes: Arc<Lanes>,
    pub(super) permit: Option<OwnedSemaphorePermit>,
    pub(super) began: (Ticket, Instant),
    pub(super) records: usize,
}

impl Lane {
    /// Gives the lane back and tells how the batch ended.
    pub fn leave(self, attempt: &Attempt) {
        if let Some(run) = &self.run {
            run.tell(attempt);
        }
    }
}

impl Run {
    fn tell(&self, attempt: &Attempt) {
        let (ticket, began) = self.began;
        let mut state = self.lanes.state();
        match attempt {
            Attempt::Committed { .. } => {
                let time = began.elapsed();
                state.decisions.committed(ticket, self.records, time);
            }
            Attempt::Broken(broken) => {
                if let Some(deadlock) = contention(broken) {
                    let now = self.lanes.start.elapsed();
                    state.decisions.contended(ticket, deadlock, now);
                    self.lanes.adjust(&mut state);
                }
            }
            Attempt::SplitBefore(_)
            | Attempt::TooLong
            | Attempt::Landed(_)
            | Attempt::Held
            | Attempt::Fenced
            | Attempt::Tripped(..) => {}
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let mut state = self.lanes.state();
        state.decisions.ended();
        if let (true, Some(permit)) = (state.excess > 0, self.permit.take()) {
            state.excess -= 1;
            permit.forget();
        }
    }
}

/// Whether another transaction's lock was in the way; if so, whether the server found a deadlock.
fn contention(broken: &Broken) -> Option<bool> {
    match &broken.failure {
        failure if failure.class() != Some(SqlClass::Contention) => None,
        Failure::Sql { sqlstate, .. } => Some(sqlstate == DEADLOCK),
        _ => None,
    }
}
