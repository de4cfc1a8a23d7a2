//! A consumer's pulse: when its poll thread last turned, whether it is a member of its group, how far it has fetched.

use std::collections::HashMap;
use std::sync::atomic::{
    AtomicBool, AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tidegate_core::record::TopicPartition;

use super::statistics::Reach;
use super::trouble::Trouble;

/// Written by the poll thread, read by whoever asks how it is.
#[derive(Debug)]
pub(super) struct Pulse {
    base: Instant,
    /// Milliseconds since `base`.
    turned: AtomicU64,
    joined: AtomicBool,
    assigned: AtomicUsize,
    without_topics: AtomicBool,
    /// Why brokers do not let the client in.
    pub(super) trouble: Trouble,
    /// How far fetching has come, of the partitions that are fetched.
    reach: Mutex<HashMap<TopicPartition, Reach>>,
}

impl Default for Pulse {
    fn default() -> Self {
        Self {
            base: Instant::now(),
            turned: AtomicU64::new(0),
            joined: AtomicBool::new(false),
            assigned: AtomicUsize::new(0),
            without_topics: AtomicBool::new(false),
            trouble: Trouble::default(),
            reach: Mutex::default(),
        }
    }
}

impl Pulse {
    /// The poll thread is about to turn once more.
    pub(super) fn beat(&self) {
        let millis = self.base.elapsed().as_millis();
        self.turned
            .store(u64::try_from(millis).unwrap_or(u64::MAX), Relaxed);
    }

    /// How far fetching has come.
    pub(super) fn reaches(&self, reach: HashMap<TopicPartition, Reach>) {
        *self.reach.lock().unwrap_or_else(PoisonError::into_inner) = reach;
    }

    /// What was said of that last.
    pub(super) fn reach(&self) -> HashMap<TopicPartition, Reach> {
        let reach = self.reach.lock().unwrap_or_else(PoisonError::into_inner);
        reach.clone()
    }

    /// How long ago that was.
    pub(super) fn since(&self) -> Duration {
        let turned = Duration::from_millis(self.turned.load(Relaxed));
        self.base.elapsed().saturating_sub(turned)
    }

    /// The group has given an assignment, which [`set_assigned`](Self::set_assigned) has told before, maybe an empty one, or has taken us for gone.
    pub(super) fn set_joined(&self, joined: bool) {
        self.joined.store(joined, Release);
    }

    /// The group has given us so many partitions, all in all.
    pub(super) fn set_assigned(&self, partitions: usize) {
        self.assigned.store(partitions, Relaxed);
    }

    /// Whether the broker says that none of the topics exists.
    pub(super) fn set_without_topics(&self, without: bool) {
        self.without_topics.store(without, Relaxed);
    }

    /// Whether the broker's last word was that none of the topics exists: no group is joined for those.
    pub(super) fn is_without_topics(&self) -> bool {
        self.without_topics.load(Relaxed)
    }

    /// How many partitions the group has given us.
    pub(super) fn assigned(&self) -> usize {
        self.assigned.load(Relaxed)
    }

    /// Whether the group's last word was an assignment.
    pub(super) fn has_joined(&self) -> bool {
        self.joined.load(Acquire)
    }
}
