//! How long to wait before trying again.

use std::time::Duration;

/// `[consumer.retry]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The first wait.
    pub initial: Duration,
    /// The longest wait.
    pub max: Duration,
    /// How long a record that its handler calls transient is retried before it is dead-lettered: the time of its
    /// attempts and of the waits between them.
    pub max_elapsed: Duration,
    /// How many calls it may take; none: time alone counts.
    pub max_attempts: Option<u32>,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            initial: Duration::from_millis(500),
            max: Duration::from_secs(30),
            max_elapsed: Duration::from_secs(600),
            max_attempts: None,
        }
    }
}

impl RetryPolicy {
    /// The wait before the try that follows the `attempt`th failure (from 1). `random`, from 0 to 1,
    /// places it between half of `initial` and a ceiling that doubles with each failure up to `max`, so
    /// that partitions that failed together do not return together.
    pub fn wait(&self, attempt: u32, random: f64) -> Duration {
        let doublings = attempt.saturating_sub(1).min(31);
        let ceiling = self.initial.saturating_mul(1 << doublings).min(self.max);
        let floor = (self.initial / 2).min(ceiling);
        let random = if random.is_nan() {
            0.0
        } else {
            random.clamp(0.0, 1.0)
        };
        let spread = (ceiling - floor).as_secs_f64() * random;
        // Rounding in floating point must not pass the ceiling.
        Duration::try_from_secs_f64(spread)
            .map_or(ceiling, |s| floor.saturating_add(s).min(ceiling))
    }

    /// Whether a record that has failed `attempts` times in `elapsed` is out of retries.
    pub fn exhausted(&self, attempts: u32, elapsed: Duration) -> bool {
        elapsed >= self.max_elapsed || self.max_attempts.is_some_and(|most| attempts >= most)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn waits_grow_to_the_longest() {
        let policy = RetryPolicy::default();
        let ceilings: Vec<u128> = (1..9).map(|n| policy.wait(n, 1.0).as_millis()).collect();
        assert_eq!(
            ceilings,
            [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]
        );
        assert_eq!(policy.wait(9, 0.0), Duration::from_millis(250));
        assert!(!policy.exhausted(9_999, Duration::from_secs(599)));
        assert!(policy.exhausted(1, Duration::from_secs(600)));
        let five = RetryPolicy {
            max_attempts: Some(5),
            ..policy
        };
        assert!(!five.exhausted(4, Duration::ZERO));
        assert!(five.exhausted(5, Duration::ZERO));
    }

    proptest! {
        #[test]
        fn waits_stay_in_bounds(attempt: u32, random: f64, initial: u64, max: u64) {
            let (initial, max) = (Duration::from_millis(initial), Duration::from_millis(max));
            let policy = RetryPolicy { initial, max, ..RetryPolicy::default() };
            let wait = policy.wait(attempt, random);
            prop_assert!(wait <= max && wait >= (initial / 2).min(max));
        }
    }
}
