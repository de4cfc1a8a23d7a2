//! What keeps a host from being ready, and how long a partition may stand still before it counts.

use std::time::Duration;

/// What is granted beside everything that a sound batch may take.
const GRACE: Duration = Duration::from_secs(10);

macro_rules! problems {
    ($($id:ident, $name:literal, $meaning:literal;)*) => {
        /// Why a host is not ready: all that there is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Problem {
            $(#[doc = $meaning] $id,)*
        }

        impl Problem {
            /// All of them, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$id),*];

            /// The word for it, in answers and metrics.
            pub fn name(self) -> &'static str {
                match self { $(Self::$id => $name,)* }
            }

            /// What it means.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$id => $meaning,)* }
            }
        }
    };
}

problems! {
    Starting, "starting",
        "The schema or the handlers' modules are not there yet";
    PollSilent, "poll-silent",
        "A consumer's poll thread has stood still for 30 s; `/livez` is 503 too";
    Database, "database",
        "The database has not answered when it was last asked, or not at all";
    NotRegistered, "not-registered",
        "Where a new consumer with `start = \"latest\"` begins is not written down yet: Kafka or the database has not told or taken it; it joins its group afterwards";
    NotInGroup, "not-in-group",
        "The group has not taken the consumer in, or has taken it for gone";
    NotLetIn, "not-let-in",
        "Brokers refuse the client's certificate, user or password";
    NoPosition, "no-position",
        "An assigned partition has not got its position: Kafka does not return the group's offset, the database cannot be asked or hangs, another owner is still at its last batch";
    Stopped, "stopped",
        "A partition waits for somebody: a stop verdict, a position out of range, a log that is another one or cannot be read";
    NoProgress, "no-progress",
        "A partition has records and no batch of it has been committed for longer than a sound batch with its retries takes: COMMIT or a statement hangs, attempts break again and again";
}

/// What is known of an assigned partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Its position is had.
    pub placed: bool,
    /// It waits for somebody's decision.
    pub stopped: bool,
    /// For how long it has had records without a committed batch.
    pub still: Option<Duration>,
}

impl Standing {
    /// What is wrong with it, if `patience` is what it may take over a batch.
    pub fn problem(self, patience: Duration) -> Option<Problem> {
        match self {
            Self { stopped: true, .. } => Some(Problem::Stopped),
            Self { placed: false, .. } => Some(Problem::NoPosition),
            Self { still, .. } if still > Some(patience) => Some(Problem::NoProgress),
            Self { .. } => None,
        }
    }
}

/// How long a sound partition may take from one committed batch to the next while it has records: guests of a batch run
/// for `batch` together and then a record more, which may be waited for, tried anew by itself and waited for again.
pub fn patience(batch: Duration, wall: Duration, retry: Duration) -> Duration {
    GRACE + batch + 2 * wall + retry
}

/// Watches one partition's N. Times are since any fixed moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stillness {
    next: i64,
    since: Option<Duration>,
}

impl Stillness {
    /// N is `next` at `now`, and there are `records` to handle or none.
    pub fn seen(&mut self, next: i64, records: bool, now: Duration) {
        if !records {
            self.since = None;
        } else if self.since.is_none() || next != self.next {
            self.since = Some(now);
        }
        self.next = next;
    }

    /// For how long there have been records without N moving.
    pub fn time(&self, now: Duration) -> Option<Duration> {
        Some(now.saturating_sub(self.since?))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    #[test]
    fn words_are_of_one_kind_and_no_two_are_the_same() {
        for problem in Problem::ALL {
            let word = |c: char| c.is_ascii_lowercase() || c == '-';
            assert!(problem.name().chars().all(word), "{problem:?}");
            let same = Problem::ALL.iter().filter(|p| p.name() == problem.name());
            assert_eq!(same.count(), 1, "{problem:?}");
        }
    }

    #[test]
    fn a_long_record_with_its_retry_is_no_problem() {
        let (wall, retry) = (Duration::from_secs(30), Duration::from_secs(30));
        let patience = patience(Duration::from_secs(15), wall, retry);
        let standing = |still| Standing {
            placed: true,
            stopped: false,
            still: Some(still),
        };
        assert_eq!(standing(wall + retry + wall).problem(patience), None);
        let long = patience + Duration::from_millis(1);
        assert_eq!(standing(long).problem(patience), Some(Problem::NoProgress));
    }

    proptest! {
        #[test]
        fn a_partition_without_a_position_or_stopped_is_always_a_problem(
            placed: bool, stopped: bool, still in prop::option::of(0u64..200),
        ) {
            let still = still.map(Duration::from_secs);
            let problem = Standing { placed, stopped, still }.problem(PATIENCE);
            let late = still.is_some_and(|still| still > PATIENCE);
            prop_assert_eq!(problem.is_some(), stopped || !placed || late);
        }

        /// Against a model that remembers everything.
        #[test]
        fn stillness_is_the_time_since_n_moved_or_records_came(
            seen in prop::collection::vec((0i64..3, any::<bool>(), 0u64..10), 1..40),
        ) {
            let (mut watch, mut now) = (Stillness::default(), 0);
            let mut past: Vec<(i64, bool, u64)> = Vec::new();
            for (next, records, wait) in seen {
                now += wait;
                past.push((next, records, now));
                watch.seen(next, records, Duration::from_secs(now));
                let same = past.iter().rev().take_while(|(n, r, _)| *r && *n == next);
                let since = same.last().map(|(_, _, at)| *at);
                let expected = since.map(|at| Duration::from_secs(now - at));
                prop_assert_eq!(watch.time(Duration::from_secs(now)), expected);
            }
        }
    }
}
