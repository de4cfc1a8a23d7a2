//! The brake: too many of the latest records rejected, or too many of them trapping, and the consumer is held back.

use std::collections::VecDeque;

/// `[consumer.brake]`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BrakePolicy {
    /// How many of the latest committed records are looked at: 1 to 100,000.
    pub window: usize,
    /// The share of them that may be rejected: above 0, at most 1. What the window has no records for yet counts as
    /// handled, so that the first records alone never trip it.
    pub share: f64,
    /// How many records in the window may end in a trap or at a limit of their guest.
    pub traps: usize,
}

impl Default for BrakePolicy {
    fn default() -> Self {
        Self {
            window: 200,
            share: 0.5,
            traps: 10,
        }
    }
}

impl BrakePolicy {
    /// The most rejected records that the window may hold.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a share of at most 100,000, floored"
    )]
    pub fn most_rejected(&self) -> usize {
        (self.window as f64 * self.share.clamp(0.0, 1.0)) as usize
    }
}

/// What a record came to, as far as the brake cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Handled, or a duplicate.
    Well,
    /// Rejected.
    Rejected,
    /// Rejected because its guest trapped or ran into a limit that ends its instance.
    Trapped,
}

/// Why the brake trips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trip {
    /// More records rejected than the share allows.
    Rejected {
        /// How many.
        rejected: usize,
        /// Of the latest so many.
        window: usize,
    },
    /// More records trapping than allowed.
    Trapped {
        /// How many.
        trapped: usize,
        /// Of the latest so many.
        window: usize,
    },
}

impl std::fmt::Display for Trip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Trip::Rejected { rejected, window } => {
                write!(f, "{rejected} of the latest {window} records were rejected")
            }
            Trip::Trapped { trapped, window } => write!(
                f,
                "{trapped} of the latest {window} records ended in a trap or at a limit of their guest"
            ),
        }
    }
}

/// The latest records of one consumer on one host.
#[derive(Clone, Debug)]
pub struct Brake {
    policy: BrakePolicy,
    window: VecDeque<Ended>,
    rejected: usize,
    trapped: usize,
}

impl Brake {
    /// A brake that has seen nothing.
    pub fn new(policy: BrakePolicy) -> Self {
        Self {
            policy,
            window: VecDeque::new(),
            rejected: 0,
            trapped: 0,
        }
    }

    /// Whether committing a batch with these ends would trip it at some record. Nothing is remembered.
    pub fn trips(&self, batch: impl Iterator<Item = Ended>) -> Option<Trip> {
        // Batches without a rejection are the rule and cost no copy.
        let (mut ahead, mut well) = (None, 0);
        for ended in batch {
            if ended == Ended::Well && ahead.is_none() {
                well += 1;
                continue;
            }
            let seen = ahead.get_or_insert_with(|| self.after(well));
            seen.take_in(ended);
            if let Some(trip) = seen.tripped() {
                return Some(trip);
            }
        }
        None
    }

    /// Remembers a committed batch.
    pub fn committed(&mut self, batch: impl Iterator<Item = Ended>) {
        batch.for_each(|ended| self.take_in(ended));
    }

    /// Forgets everything: the brake was lifted.
    pub fn clear(&mut self) {
        *self = Self::new(self.policy);
    }

    fn after(&self, well: usize) -> Self {
        let mut ahead = self.clone();
        let well = well.min(self.policy.window);
        ahead.committed(std::iter::repeat_n(Ended::Well, well));
        ahead
    }

    fn take_in(&mut self, ended: Ended) {
        if self.window.len() >= self.policy.window
            && let Some(old) = self.window.pop_front()
        {
            self.rejected -= usize::from(old != Ended::Well);
            self.trapped -= usize::from(old == Ended::Trapped);
        }
        self.window.push_back(ended);
        self.rejected += usize::from(ended != Ended::Well);
        self.trapped += usize::from(ended == Ended::Trapped);
    }

    fn tripped(&self) -> Option<Trip> {
        let window = self.policy.window;
        if self.trapped > self.policy.traps {
            let trapped = self.trapped;
            return Some(Trip::Trapped { trapped, window });
        }
        let rejected = self.rejected;
        (rejected > self.policy.most_rejected()).then_some(Trip::Rejected { rejected, window })
    }
}

#[cfg(test)]
mod tests;
