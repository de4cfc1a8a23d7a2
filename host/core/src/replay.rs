//! A letter's replay: what to do after a try that broke. Pure: the clock and chance are the caller's.

use std::time::Duration;

use crate::backoff::RetryPolicy;
use crate::crash;
use crate::failure::{Broken, Failure};
use crate::letter::{Cause, CauseKind};
use crate::verdict::{Facts, Verdict, exhausted, verdict};
use crate::witness::Others;

/// The longest that a letter's transient failures are waited for: others are behind it.
const MOST_WAITED: Duration = Duration::from_secs(60);
/// The longest wait of an infrastructure failure.
const INFRASTRUCTURE_MAX: Duration = Duration::from_secs(5);
/// The pace of contention.
const CONTENTION: Duration = Duration::from_millis(5);

/// The tries of one letter so far, by one host in one round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tries {
    /// Failed calls of its own.
    pub attempts: u32,
    /// The next try takes a new connection with empty caches.
    pub fresh: bool,
    /// How long transient failures have made it wait.
    waited: Duration,
    /// Failures in a row that were nobody's.
    turns: u32,
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
    /// It is tried again after this wait.
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
                self.turns = self.turns.saturating_add(1);
                Next::Again(CONTENTION * self.turns.min(20))
            }
            Verdict::Reconnect => {
                self.fresh = true;
                Next::Again(Duration::ZERO)
            }
            Verdict::Transient { after } => self.transient(&broken.failure, after, policy, random),
            Verdict::AgainFresh => {
                self.attempts = facts.attempts;
                Next::Again(Duration::ZERO)
            }
            Verdict::Permanent(cause) => Next::Reject(cause),
            Verdict::Stop(reason) => self.stop(reason, policy),
            Verdict::Escape(cause) => Next::Escape(cause),
        }
    }

    fn nobodys(&mut self, policy: &RetryPolicy, random: f64) -> Next {
        self.turns = self.turns.saturating_add(1);
        Next::Again(policy.wait(self.turns, random).min(INFRASTRUCTURE_MAX))
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
                other @ (Next::Stop(..) | Next::Escape(_)) => panic!("{other:?}"),
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
                    matches!(next, Next::Again(wait) if wait <= INFRASTRUCTURE_MAX),
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
            Next::Again(Duration::ZERO)
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
            Next::Again(Duration::ZERO)
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

    proptest! {
        #[test]
        fn every_handler_that_asks_for_retries_comes_to_an_end(after in proptest::option::of(0_u32..200_000), random: f64) {
            let (mut tries, policy) = (Tries::default(), RetryPolicy::default());
            let broken = own(Failure::Retry { message: "m".into(), after_ms: after });
            let end = (0..60_002).any(|_| matches!(tries.broke(&broken, Around::default(), &policy, random), Next::Reject(_)));
            prop_assert!(end);
        }
    }
}
