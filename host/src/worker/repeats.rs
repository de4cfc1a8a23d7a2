//! Repeated failures: logged in full once, then as summaries at growing intervals.

use std::time::{Duration, Instant};

/// Counts one kind of failure while it lasts.
#[derive(Debug, Default)]
pub struct Repeats {
    since: Option<Instant>,
    count: u64,
}

/// When and how a repeated failure is to be logged.
#[derive(Debug, PartialEq, Eq)]
pub enum Say {
    /// The first: in full.
    First,
    /// A summary: how often, and for how long.
    Again(u64, Duration),
    /// Nothing this time.
    Nothing,
}

impl Repeats {
    /// Counts one more failure at `now`. The first, then every power of two is said.
    pub fn failed(&mut self, now: Instant) -> Say {
        self.count += 1;
        let since = *self.since.get_or_insert(now);
        match self.count {
            1 => Say::First,
            n if n.is_power_of_two() => Say::Again(n, now.duration_since(since)),
            _ => Say::Nothing,
        }
    }

    /// The failure is over; says how often it had happened, if it had.
    pub fn over(&mut self) -> Option<u64> {
        let count = std::mem::take(self).count;
        (count > 0).then_some(count)
    }

    /// Failures so far.
    pub fn count(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_said_at_growing_intervals() {
        let mut repeats = Repeats::default();
        let now = Instant::now();
        let said = (0..100)
            .filter(|_| repeats.failed(now) != Say::Nothing)
            .count();
        assert_eq!(said, 7);
        assert_eq!(repeats.over(), Some(100));
        assert_eq!(repeats.over(), None);
        assert_eq!(repeats.failed(now), Say::First);
    }
}
