//! What a module has done on this host lately: what its records came to, and whether it tried to leave its transaction.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tidegate_core::brake::{Brake, BrakePolicy, Ended, Trip};

use crate::inbox::Memory;

/// A tenant's, or a consumer's.
#[derive(Debug)]
pub struct Conduct {
    /// Which of its statements have worked.
    pub memory: Arc<Memory>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    brake: Option<Brake>,
    /// Since when it runs.
    since: Instant,
    /// Digests of modules that tried to leave their transaction.
    quarantined: HashSet<[u8; 32]>,
}

impl Conduct {
    /// Nothing done yet; without a policy nothing is counted.
    pub fn new(policy: Option<BrakePolicy>) -> Self {
        Self {
            memory: Arc::default(),
            state: Mutex::new(State {
                brake: policy.map(Brake::new),
                since: Instant::now(),
                quarantined: HashSet::new(),
            }),
        }
    }

    /// Whether committing records that ended so would trip the brake.
    pub fn trips(&self, ends: impl Iterator<Item = Ended>) -> Option<Trip> {
        self.state().brake.as_ref()?.trips(ends)
    }

    /// Records that ended so are committed.
    pub fn ended(&self, ends: impl Iterator<Item = Ended>) {
        if let Some(brake) = &mut self.state().brake {
            brake.committed(ends);
        }
    }

    /// It runs again: what held it back counts no more.
    pub fn released(&self) {
        self.memory.clear();
        let mut state = self.state();
        state.since = Instant::now();
        state.quarantined.clear();
        if let Some(brake) = &mut state.brake {
            brake.clear();
        }
    }

    /// Another module is active: what the last one's records came to counts no more.
    pub fn module_changed(&self) {
        self.memory.clear();
        if let Some(brake) = &mut self.state().brake {
            brake.clear();
        }
    }

    /// How long it has run here since it was last held back.
    pub fn running_for(&self) -> Duration {
        self.state().since.elapsed()
    }

    /// Bars a module that tried to leave its transaction. It runs no more until another is activated.
    pub fn quarantine(&self, digest: [u8; 32]) {
        self.state().quarantined.insert(digest);
    }

    /// Whether a module is barred.
    pub fn is_quarantined(&self, digest: &[u8; 32]) -> bool {
        self.state().quarantined.contains(digest)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
