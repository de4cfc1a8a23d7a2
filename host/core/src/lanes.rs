//! How many batches of one consumer a host runs at the same time.
//!
//! Batches of several partitions that touch the same rows in different orders deadlock, and smaller ones do so less:
//! but one large batch at a time is many times faster than many small ones at once. So all partitions run at once until
//! batches are seen to stand in one another's way; then as many lanes stay open as batches got through, down to one, and
//! below that one among all hosts. After a calm time more are tried: at once where nothing was ever refused, later and
//! later where it was.
//!
//! A transaction of a single record needs no lane: it holds next to nothing while it waits, and so it may wait for
//! long. That is how a lock of somebody else's is waited for, beside the lanes.

mod locks;
mod pace;

use std::time::Duration;

pub use locks::{Locks, lock_key};
use pace::Pace;

/// How long nothing must stand in the way before more lanes are tried.
const CALM: Duration = Duration::from_secs(5);
/// The longest such time, where trying has failed again and again.
const LONGEST_CALM: Duration = Duration::from_secs(300);
/// Two batches that waited too long within this stood in each other's way; a single one met somebody else's lock.
const EPISODE: Duration = Duration::from_secs(2);
/// The shortest wait for a lock that counts as being in the way. A deadlock costs this instead of the server's
/// `deadlock_timeout`, which only a superuser may shorten.
const LOCK_WAIT: Duration = Duration::from_millis(250);
/// One at a time among all hosts.
const ALONE: usize = 0;
/// As many as there are.
const OPEN: usize = usize::MAX;

/// When a batch began, in the count of the times that lanes were closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket(u64);

/// The lanes of one consumer on one host. Times are since any fixed moment.
#[derive(Clone, Debug)]
pub struct Lanes {
    /// Lanes open; [`ALONE`] and [`OPEN`] at the ends.
    level: usize,
    /// How many batches there could be at once.
    partitions: usize,
    running: usize,
    /// How often lanes were closed.
    closings: u64,
    /// Batches that ran when lanes were last closed, and how many of them broke.
    ran: usize,
    broken: usize,
    /// When a batch first waited too long with all lanes open.
    suspected: Option<Duration>,
    /// When the level was last changed, or contention last seen.
    since: Duration,
    /// Whether the level was last raised, and has not lasted yet.
    trying: bool,
    /// The lowest level that was tried in vain.
    refused: usize,
    /// How long it must be calm before that is tried again.
    calm: Duration,
    pace: Pace,
}

impl Default for Lanes {
    fn default() -> Self {
        Self {
            level: OPEN,
            partitions: 0,
            running: 0,
            closings: 0,
            ran: 0,
            broken: 0,
            suspected: None,
            since: Duration::ZERO,
            trying: false,
            refused: OPEN,
            calm: CALM,
            pace: Pace::default(),
        }
    }
}

impl Lanes {
    /// How many batches may run at the same time, at least 1; none where there is no limit.
    pub fn limit(&self) -> Option<usize> {
        (self.level != OPEN).then_some(self.level.max(1))
    }

    /// Whether a batch runs alone among all hosts.
    pub fn is_alone(&self) -> bool {
        self.level == ALONE
    }

    /// The most records that a batch should take. Where lanes are closed and records are slow, each runs by itself and
    /// in no lane.
    pub fn most_records(&self) -> usize {
        match self.level != OPEN && self.pace.is_slow() {
            true => 1,
            false => usize::MAX,
        }
    }

    /// What a batch of so many records does about locks. A host's only partition has nobody to be quick for, unless
    /// another host's was in its way.
    pub fn locks(&self, records: usize) -> Locks {
        if self.level == OPEN && self.partitions <= 1 {
            return Locks::default();
        }
        Locks {
            wait: Some(self.pace.patience(records).max(LOCK_WAIT)),
            alone: self.is_alone(),
        }
    }

    /// A batch begins.
    pub fn began(&mut self) -> Ticket {
        self.running += 1;
        Ticket(self.closings)
    }

    /// A batch ended, however it did.
    pub fn ended(&mut self) {
        self.running = self.running.saturating_sub(1);
    }

    /// A batch of so many records that began with `ticket` committed after `time`.
    pub fn committed(&mut self, ticket: Ticket, records: usize, time: Duration) {
        let undisturbed = self.level <= 1 && ticket.0 == self.closings;
        self.pace.committed(records, time, undisturbed);
    }

    /// A batch that began with `ticket` and has not [ended](Self::ended) met another transaction's lock: a `deadlock`,
    /// as the server found, or a wait that was too long.
    pub fn contended(&mut self, ticket: Ticket, deadlock: bool, now: Duration) {
        if ticket.0 == self.closings {
            self.obstructed(deadlock, now);
        } else if ticket.0 + 1 == self.closings && self.level != OPEN {
            // It ran beside those for whose sake lanes were closed.
            self.broken += 1;
            self.since = now;
            self.level = self.level.min(self.survivors());
        }
    }

    fn obstructed(&mut self, deadlock: bool, now: Duration) {
        let lately = |at: Duration| now.saturating_sub(at) <= EPISODE;
        if self.level == OPEN && !deadlock && !self.suspected.is_some_and(lately) {
            self.suspected = Some(now);
            return;
        }
        let first = self.suspected.take().is_some_and(lately);
        let ran = self.running.min(self.level).max(1);
        (self.ran, self.broken) = (ran, 1 + usize::from(first));
        self.close(now);
    }

    fn close(&mut self, now: Duration) {
        if self.trying {
            self.calm = self.calm.saturating_mul(2).min(LONGEST_CALM);
        }
        if self.level > ALONE {
            self.refused = self.refused.min(self.level);
        }
        self.level = match self.level {
            ALONE | 1 => ALONE,
            level => level.min(self.ran / 2).min(self.survivors()).max(1),
        };
        (self.trying, self.since) = (false, now);
        self.closings += 1;
    }

    /// How many batches got through when lanes were last closed, at least 1.
    fn survivors(&self) -> usize {
        self.ran.saturating_sub(self.broken).max(1)
    }

    /// Tries more lanes if it has been calm for long enough; `partitions` is how many could run.
    pub fn rest(&mut self, partitions: usize, now: Duration) {
        self.partitions = partitions;
        let calm = now.saturating_sub(self.since);
        if self.trying && calm >= self.calm {
            self.lasted();
        }
        let next = match self.level {
            OPEN => return,
            ALONE => 1,
            level if level.saturating_mul(2) >= partitions => OPEN,
            level => level * 2,
        };
        if calm >= if next < self.refused { CALM } else { self.calm } {
            (self.level, self.trying, self.since) = (next, true, now);
        }
    }

    /// What was tried last has stood its time.
    fn lasted(&mut self) {
        self.trying = false;
        if self.level >= self.refused {
            (self.refused, self.calm) = (OPEN, CALM);
        }
    }
}

#[cfg(test)]
mod tests;
