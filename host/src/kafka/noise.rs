//! Repeated failures: the first in full, then summaries at growing intervals.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const FIRST: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_secs(600);
/// A failure unseen for so long is news again.
const QUIET: Duration = Duration::from_secs(900);
/// Kinds remembered; beyond, the memory is emptied.
const KINDS: usize = 64;

/// Decides which of many alike failures are logged.
#[derive(Debug, Default)]
pub(super) struct Noise(Mutex<HashMap<String, Kind>>);

#[derive(Debug)]
struct Kind {
    interval: Duration,
    next: Instant,
    seen: Instant,
    held_back: u64,
}

impl Noise {
    /// Whether this failure is to be logged now, and how many alike were held back since the last that was.
    pub(super) fn let_through(&self, kind: &str, now: Instant) -> Option<u64> {
        let mut kinds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kinds.retain(|_, k| now.duration_since(k.seen) < QUIET);
        if kinds.len() >= KINDS && !kinds.contains_key(kind) {
            kinds.clear();
        }
        match kinds.entry(kind.to_owned()) {
            std::collections::hash_map::Entry::Vacant(place) => {
                place.insert(Kind::new(now));
                Some(0)
            }
            std::collections::hash_map::Entry::Occupied(mut place) => place.get_mut().again(now),
        }
    }
}

impl Kind {
    fn new(now: Instant) -> Self {
        Self {
            interval: FIRST,
            next: now + FIRST,
            seen: now,
            held_back: 0,
        }
    }

    fn again(&mut self, now: Instant) -> Option<u64> {
        self.seen = now;
        if now < self.next {
            self.held_back += 1;
            return None;
        }
        self.interval = (self.interval * 3).min(LONGEST);
        self.next = now + self.interval;
        Some(std::mem::take(&mut self.held_back))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_in_full_then_at_growing_intervals() {
        let noise = Noise::default();
        let start = Instant::now();
        let logged: Vec<u64> = (0..400)
            .filter(|s| {
                noise
                    .let_through("down", start + Duration::from_secs(*s))
                    .is_some()
            })
            .collect();
        assert_eq!(logged, [0, 10, 40, 130]);
        let much_later = start + Duration::from_secs(2000);
        assert_eq!(noise.let_through("down", much_later), Some(0));
        assert_eq!(noise.let_through("other", start), Some(0));
    }
}
