//! How much of the time background work takes, so that it does not slow down what it tidies up after.

use std::time::Duration;

/// The share of the time to begin with: a twentieth.
const LEAST: u32 = 20;
/// How long work may be left over before it takes a larger share.
const PATIENCE: Duration = Duration::from_secs(60);
/// The longest pause between two pieces of work.
const LONGEST: Duration = Duration::from_secs(5);

/// A duty cycle: work in small pieces with pauses between them, shorter ones while the work does not end. Times are
/// since any fixed moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duty {
    /// One part in so many is work.
    parts: u32,
    /// Since when there has been work with this share.
    since: Option<Duration>,
}

impl Default for Duty {
    fn default() -> Self {
        Self {
            parts: LEAST,
            since: None,
        }
    }
}

impl Duty {
    /// A piece of work that took `took` has ended at `now`, and there is more: how long to pause.
    pub fn pause(&mut self, took: Duration, now: Duration) -> Duration {
        let since = *self.since.get_or_insert(now);
        if now.saturating_sub(since) >= PATIENCE {
            self.parts = (self.parts / 2).max(1);
            self.since = Some(now);
        }
        took.saturating_mul(self.parts - 1).min(LONGEST)
    }

    /// All work is done: the next begins with half the share that this needed.
    pub fn done(&mut self) {
        self.parts = (self.parts * 2).min(LEAST);
        self.since = None;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PIECE: Duration = Duration::from_millis(20);

    #[test]
    fn a_twentieth_of_the_time_at_first_and_all_of_it_in_the_end() {
        let mut duty = Duty::default();
        assert_eq!(duty.pause(PIECE, Duration::ZERO), PIECE * 19);
        assert_eq!(duty.pause(PIECE, Duration::from_secs(59)), PIECE * 19);
        assert_eq!(duty.pause(PIECE, Duration::from_secs(60)), PIECE * 9);
        let last = (2..10).map(|minute| duty.pause(PIECE, Duration::from_secs(60 * minute)));
        assert_eq!(last.last(), Some(Duration::ZERO));
        duty.done();
        assert_eq!(duty.pause(PIECE, Duration::from_secs(1000)), PIECE);
    }

    proptest! {
        #[test]
        fn pauses_are_bounded_and_shrink_while_there_is_work(
            took in 0u64..100_000, steps in prop::collection::vec(0u64..100, 1..50),
        ) {
            let (mut duty, mut now, mut last) = (Duty::default(), 0, LONGEST);
            for step in steps {
                now += step;
                let pause = duty.pause(Duration::from_millis(took), Duration::from_secs(now));
                prop_assert!(pause <= last);
                last = pause;
            }
            for _ in 0..5 {
                duty.done();
            }
            prop_assert_eq!(duty, Duty::default());
        }
    }
}
