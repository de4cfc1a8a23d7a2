//! A letter's replay: what to do after a try that broke. Pure: the clock and chance are the caller's.
//!
//! A letter that has to wait waits by itself: its tries and its wait are kept with its turn, and other letters have theirs
//! meanwhile.

use std::time::Duration;

use crate::backoff::RetryPolicy;
use crate::crash;
use crate::failure::{Broken, Failure};
use crate::letter::{Cause, CauseKind};
use crate::verdict::{Facts, Verdict, exhausted, verdict};
use crate::witness::Others;

/// The longest that a letter's transient failures are waited for: somebody waits for the end of the replay.
const MOST_WAITED: Duration = Duration::from_secs(60);
/// The longest wait of an infrastructure failure.
const INFRASTRUCTURE_MAX: Duration = Duration::from_secs(5);
/// A lost connection is an outage, which all letters wait for; one that meets more of them than others do waits by itself.
const OUTAGES: u32 = 3;
/// The pace of contention.
const CONTENTION: Duration = Duration::from_millis(5);

/// The tries of one letter so far, in one round, by whatever hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tries {
    /// Failed calls of its own.
    pub attempts: u32,
    /// The next try takes a new connection with empty caches.
    pub fresh: bool,
    /// How long transient failures have made it wait.
    pub waited: Duration,
    /// Failures so far that were nobody's.
    pub nobodys: u32,
}

/// A letter that waits by itself: its next turn comes when the time is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// How long.
    pub time: Duration,
    /// What for, in words that anybody may read.
    pub words: String,
    /// Whether somebody has to change something first.
    pub stopped: bool,
    /// Whether it keeps its place, and all others wait with it.
    pub in_place: bool,
    /// Its tries so far.
    pub tries: Tries,
}

/// What was found out about a try that broke.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// Another, fresh connection works.
    pub healthy: bool,
    /// What other records say of the statement that was refused.
    pub others: Others,
}

/// What is done after a try that broke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// It is tried again in the same turn: never often in a row.
    AtOnce,
    /// It is the next again, after this wait: what happened would happen to any.
    InPlace(Duration),
    /// It is tried again after this wait, and others have their turn meanwhile.
    Again(Duration),
    /// The same, and somebody has to be told: going on needs something to change.
    Stop(Duration, String),
    /// The letter stays open with this cause.
    Reject(Cause),
    /// The same, and the module is quarantined.
    Escape(Cause),
}

impl Tries {
    /// Decides on a try that broke. `random`: from 0 to 1.
    pub fn broke(
        &mut self,
        broken: &Broken,
        around: Around,
        policy: &RetryPolicy,
        random: f64,
    ) -> Next {
        let was_fresh = std::mem::take(&mut self.fresh);
        let own = broken.offset.is_some() || matches!(broken.failure, Failure::Escape { .. });
        let facts = Facts {
            attempts: self.attempts.saturating_add(u32::from(own)),
            fresh_connection: was_fresh,
            confirmed_healthy: around.healthy,
            of_nobody: !own,
            others: around.others,
        };
        match verdict(&broken.failure, facts) {
            Verdict::Infrastructure => self.nobodys(policy, random),
            Verdict::Contention => {
                self.nobodys = self.nobodys.saturating_add(1);
                Next::Again(CONTENTION * self.nobodys.min(20))
            }
            Verdict::Reconnect => {
                self.fresh = true;
                Next::AtOnce
            }
            Verdict::Transient { after } => self.transient(&broken.failure, after, policy, random),
            Verdict::AgainFresh => {
                self.attempts = facts.attempts;
                Next::AtOnce
            }
            Verdict::Permanent(cause) => Next::Reject(cause),
            Verdict::Stop(reason) => self.stop(reason, policy),
            Verdict::Escape(cause) => Next::Escape(cause),
        }
    }

    fn nobodys(&mut self, policy: &RetryPolicy, random: f64) -> Next {
        self.nobodys = self.nobodys.saturating_add(1);
        let wait = policy.wait(self.nobodys, random).min(INFRASTRUCTURE_MAX);
        match self.nobodys {
            ..=OUTAGES => Next::InPlace(wait),
            _ => Next::Again(wait),
        }
    }

    fn stop(&mut self, reason: String, policy: &RetryPolicy) -> Next {
        self.fresh = true;
        Next::Stop(policy.max, reason)
    }

    fn transient(
        &mut self,
        failure: &Failure,
        after: Option<Duration>,
        policy: &RetryPolicy,
        random: f64,
    ) -> Next {
        self.attempts = self.attempts.saturating_add(1);
        if self.waited >= MOST_WAITED || policy.exhausted(self.attempts, self.waited) {
            let facts = Facts {
                attempts: self.attempts,
                ..Facts::default()
            };
            return Next::Reject(exhausted(failure, facts));
        }
        let wait = after.unwrap_or_else(|| policy.wait(self.attempts, random));
        let wait = wait.min(policy.max);
        // A wait of nothing counts too, or a handler that asks for it would never be out of retries.
        self.waited += wait.max(Duration::from_millis(1));
        Next::Again(wait)
    }
}

/// The cause of a letter whose replay ended hosts again and again.
pub fn took_hosts_down(deaths: i32) -> Cause {
    Cause {
        kind: CauseKind::Crash,
        code: crash::CODE.to_owned(),
        message: format!("{deaths} hosts died while they replayed this record"),
        server: None,
        sqlstate: None,
        attempts: u32::try_from(deaths).unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::limits::Limit;

    fn own(failure: Failure) -> Broken {
        Broken {
            offset: Some(7),
            failure,
        }
    }

    fn sql(offset: Option<i64>, sqlstate: &str) -> Broken {
        let failure = Failure::Sql {
            sqlstate: sqlstate.into(),
            message: "m".into(),
            constraint: None,
            named: Box::default(),
        };
        Broken { offset, failure }
    }

    fn retry() -> Broken {
        own(Failure::Retry {
            message: "later".into(),
            after_ms: None,
        })
    }

    #[test]
    fn a_transient_failure_is_retried_to_a_bound_and_then_rejected() {
        let (mut tries, policy) = (Tries::default(), RetryPolicy::default());
        let mut waited = Duration::ZERO;
        let cause = loop {
            match tries.broke(&retry(), Around::default(), &policy, 1.0) {
                Next::Again(wait) => waited += wait,
                Next::Reject(cause) => break cause,
                other @ (Next::AtOnce | Next::InPlace(_) | Next::Stop(..) | Next::Escape(_)) => {
                    panic!("{other:?}")
                }
            }
        };
        assert_eq!(cause.code, "retries-exhausted");
        assert!(
            (MOST_WAITED..MOST_WAITED + policy.max).contains(&waited),
            "{waited:?}"
        );
        assert_eq!(cause.attempts, tries.attempts);
    }

    #[test]
    fn what_is_nobodys_is_waited_for_and_never_counts() {
        let (mut tries, policy) = (Tries::default(), RetryPolicy::default());
        let lost = Broken {
            offset: None,
            failure: Failure::Unreachable {
                message: "gone".into(),
            },
        };
        for broken in [lost, sql(None, "57014"), sql(Some(7), "40001")] {
            for _ in 0..100 {
                let next = tries.broke(&broken, Around::default(), &policy, 1.0);
                assert!(
                    matches!(next, Next::Again(wait) | Next::InPlace(wait) if wait <= INFRASTRUCTURE_MAX),
                    "{next:?}"
                );
            }
        }
        assert_eq!(tries.attempts, 0);
    }

    #[test]
    fn a_stop_comes_after_a_fresh_connection_and_rejects_nothing() {
        let (mut tries, policy) = (Tries::default(), RetryPolicy::default());
        let broken = sql(Some(7), "42P01");
        assert_eq!(
            tries.broke(&broken, Around::default(), &policy, 0.0),
            Next::AtOnce
        );
        assert!(tries.fresh);
        assert!(
            matches!(tries.broke(&broken, Around::default(), &policy, 0.0), Next::Stop(wait, _) if wait == policy.max)
        );
        assert!(tries.fresh, "each later try is on a fresh connection too");
        let nobodys = sql(None, "22012");
        assert!(matches!(
            tries.broke(&nobodys, Around::default(), &policy, 0.0),
            Next::Stop(..)
        ));
    }

    #[test]
    fn a_trap_is_tried_twice_and_a_fault_of_the_record_once() {
        let (mut tries, policy) = (Tries::default(), RetryPolicy::default());
        let trap = own(Failure::Limit(Limit::Cpu));
        assert_eq!(
            tries.broke(&trap, Around::default(), &policy, 0.0),
            Next::AtOnce
        );
        assert!(
            matches!(tries.broke(&trap, Around::default(), &policy, 0.0), Next::Reject(cause) if cause.attempts == 2)
        );
        let next = Tries::default().broke(&sql(Some(7), "23505"), Around::default(), &policy, 0.0);
        assert!(matches!(next, Next::Reject(cause) if cause.code == "sql-23505"));
        let escape = Failure::Escape {
            message: "m".into(),
        };
        let escape = Broken {
            offset: None,
            failure: escape,
        };
        assert!(matches!(
            Tries::default().broke(&escape, Around::default(), &policy, 0.0),
            Next::Escape(_)
        ));
    }

    fn any_failure() -> impl Strategy<Value = Broken> {
        let retry = |after_ms| Failure::Retry {
            message: "m".into(),
            after_ms,
        };
        let codes = [
            "40001", "42P01", "08006", "57014", "23505", "55P03", "XX000", "22012",
        ];
        prop_oneof![
            proptest::option::of(0_u32..90_000).prop_map(move |after| own(retry(after))),
            (0..codes.len(), any::<bool>())
                .prop_map(move |(code, mine)| sql(mine.then_some(7), codes[code])),
            Just(own(Failure::Limit(Limit::Cpu))),
            Just(own(Failure::Limit(Limit::DatabaseWait))),
        ]
    }

    proptest! {
        /// Others never wait for a letter's turn beyond a few tries, whatever it meets.
        #[test]
        fn a_turn_is_over_after_a_few_tries(
            failures in proptest::collection::vec((any_failure(), any::<bool>()), 1..60),
            random in 0.0..1.0_f64,
        ) {
            let (mut tries, policy) = (Tries::default(), RetryPolicy::default());
            let (mut in_a_row, mut in_place) = (0, 0);
            for (broken, healthy) in failures {
                let waited = tries.waited;
                match tries.broke(&broken, Around { healthy, ..Around::default() }, &policy, random) {
                    Next::AtOnce => in_a_row += 1,
                    Next::InPlace(wait) => {
                        (in_a_row, in_place) = (0, in_place + 1);
                        prop_assert!(wait <= INFRASTRUCTURE_MAX && in_place <= OUTAGES);
                    }
                    Next::Again(wait) | Next::Stop(wait, _) => {
                        in_a_row = 0;
                        prop_assert!(wait <= policy.max);
                    }
                    Next::Reject(_) | Next::Escape(_) => break,
                }
                prop_assert!(in_a_row <= 3, "{in_a_row} tries in a turn");
                prop_assert!(tries.waited >= waited, "what it waited is not forgotten");
            }
        }

        #[test]
        fn every_handler_that_asks_for_retries_comes_to_an_end(after in proptest::option::of(0_u32..200_000), random: f64) {
            let (mut tries, policy) = (Tries::default(), RetryPolicy::default());
            let broken = own(Failure::Retry { message: "m".into(), after_ms: after });
            let end = (0..60_002).any(|_| matches!(tries.broke(&broken, Around::default(), &policy, random), Next::Reject(_)));
            prop_assert!(end);
        }
    }
}
