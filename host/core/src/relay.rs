//! Which dead letter topics are written to now. Each is a destination with a backoff of its own, so that one that refuses
//! holds back its own letters alone. Times are since any fixed moment.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::backoff::RetryPolicy;

/// Letters of one run to a topic that takes them; one that refuses is asked with a single one.
pub const RUN: usize = 100;
/// The most topics that are written to at once: each holds up to [`RUN`] letters.
const TAKING: usize = 8;
/// The most topics that refuse and are asked at once: each holds one letter, and asking may take half a minute.
const REFUSING: usize = 64;
/// How long a topic that took all there was is left alone, unless somebody rings.
const REST: Duration = Duration::from_secs(1);
/// How long one is left alone that time mends.
const BRIEF: RetryPolicy = policy(Duration::from_secs(15));
/// How long one is left alone that somebody has to mend.
const SLOW: RetryPolicy = policy(Duration::from_secs(60));

const fn policy(max: Duration) -> RetryPolicy {
    RetryPolicy {
        initial: Duration::from_secs(2),
        max,
        max_elapsed: Duration::MAX,
        max_attempts: None,
    }
}

/// What mends whatever keeps a topic from taking letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mends {
    /// Time: a broker that is away, a leader that is being elected.
    Time,
    /// Somebody: a clock, a right, the topic's or the brokers' configuration.
    Somebody,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The topic took what was to be published.
    Took {
        /// There may be more.
        more: bool,
    },
    /// It refused a letter, or nobody answered.
    Refused(Mends),
}

/// A run that is to begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The topic.
    pub topic: String,
    /// The most letters.
    pub most: usize,
}

/// The topics that letters wait for.
#[derive(Clone, Debug, Default)]
pub struct Destinations(BTreeMap<String, Standing>);

/// How one of them stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Standing {
    /// Refusals in a row.
    refusals: u32,
    /// It is left alone until then.
    due: Duration,
    running: bool,
    /// New letters were announced during its run.
    rung: bool,
    /// Letters waited for it since [`Destinations::round_over`].
    waiting: bool,
}

impl Standing {
    fn refuses(&self) -> bool {
        self.refusals > 0
    }
}

impl Destinations {
    /// Letters wait for these topics: which runs are to begin, those that have waited longest first. At most one a topic.
    pub fn begin<'t>(
        &mut self,
        topics: impl Iterator<Item = &'t str>,
        now: Duration,
    ) -> Vec<Start> {
        let mut due = Vec::new();
        for topic in topics {
            let standing = self.0.entry(topic.to_owned()).or_default();
            standing.waiting = true;
            if !standing.running && standing.due <= now {
                due.push((standing.due, topic));
            }
        }
        due.sort_unstable();
        let starts = due.into_iter().map(|(_, topic)| topic);
        starts.filter_map(|topic| self.start(topic)).collect()
    }

    /// Begins a run where there is room for one.
    fn start(&mut self, topic: &str) -> Option<Start> {
        let refuses = self.0.get(topic)?.refuses();
        let beside = self
            .0
            .values()
            .filter(|s| s.running && s.refuses() == refuses);
        let (room, most) = if refuses {
            (REFUSING, 1)
        } else {
            (TAKING, RUN)
        };
        if beside.count() >= room {
            return None;
        }
        let standing = self.0.get_mut(topic)?;
        (standing.running, standing.rung) = (true, false);
        Some(Start {
            topic: topic.to_owned(),
            most,
        })
    }

    /// A run has ended. `random`: from 0 to 1.
    pub fn ended(&mut self, topic: &str, ended: Ended, now: Duration, random: f64) {
        let Some(standing) = self.0.get_mut(topic) else {
            return;
        };
        standing.running = false;
        let rest = match ended {
            Ended::Took { more } => {
                standing.refusals = 0;
                if more || standing.rung {
                    Duration::ZERO
                } else {
                    REST
                }
            }
            Ended::Refused(mends) => {
                standing.refusals = standing.refusals.saturating_add(1);
                let policy = match mends {
                    Mends::Time => &BRIEF,
                    Mends::Somebody => &SLOW,
                };
                policy.wait(standing.refusals, random)
            }
        };
        standing.due = now.saturating_add(rest);
    }

    /// New letters were written: topics that take letters are not left alone. One that refuses has its time.
    pub fn ring(&mut self) {
        for standing in self.0.values_mut().filter(|s| !s.refuses()) {
            (standing.rung, standing.due) = (true, Duration::ZERO);
        }
    }

    /// All topics that letters wait for have been named since the last time: others are forgotten. Those that are left.
    pub fn round_over(&mut self) -> BTreeSet<String> {
        self.0
            .retain(|_, standing| std::mem::take(&mut standing.waiting) || standing.running);
        self.0.keys().cloned().collect()
    }
}

#[cfg(test)]
mod tests;
