//! The progress row: how far a consumer has come in a partition.

use std::time::Duration;

use crate::crash::Ends;
use crate::record::{Digest, TopicPartition};

/// Names a progress row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProgressKey {
    /// The consumer's name.
    pub consumer: String,
    /// The partition.
    pub source: TopicPartition,
}

/// The last record that was handled: how we know the log again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastRecord {
    /// Its offset.
    pub offset: i64,
    /// Its timestamp in milliseconds, if it had one.
    pub timestamp_ms: Option<i64>,
    /// Of its key, value and headers; none where a host that took none has written the row.
    pub digest: Option<Digest>,
    /// Its event id, if it had a good one, by the rule of then.
    pub event_id: Option<String>,
}

/// A progress row as read at assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The consumer group that the position belongs to.
    pub group: String,
    /// The cluster that the log belongs to.
    pub cluster_id: String,
    /// How often the position was given to another log: records of different epochs are different records, whatever
    /// their offsets.
    pub log_epoch: i32,
    /// N: the next offset to handle.
    pub next_offset: i64,
    /// C: the last offset that Kafka acknowledged as committed.
    pub committed: Option<i64>,
    /// The last record handled.
    pub last: Option<LastRecord>,
    /// The record at or behind N that failed last and is tried again.
    pub failing: Option<Failing>,
    /// How earlier owners ended.
    pub ends: Ends,
}

/// A record that failed and is tried again: what its next owner must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failing {
    /// Its offset.
    pub offset: i64,
    /// Its calls so far that came to a failure of its own.
    pub attempts: u32,
    /// Time that those, and the waits between them, took. Outages do not count.
    pub elapsed: Duration,
}

impl Progress {
    /// Whether a command put the position where it is and Kafka has not acknowledged it yet: then Kafka's offset says
    /// nothing, whichever side of the position it is on. A new consumer's row lacks C too, but its log is the first.
    pub fn is_set(&self) -> bool {
        self.committed.is_none() && self.log_epoch > 0
    }
}

/// What a batch adds to the row's counters, in its own transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Records handled.
    pub done: i64,
    /// Records the handler skipped.
    pub skipped: i64,
    /// Records dead-lettered.
    pub rejected: i64,
    /// Duplicates: the same record delivered again.
    pub redelivered: i64,
    /// Duplicates: another record of a known event.
    pub republished: i64,
    /// Expired claims taken over.
    pub taken_over: i64,
}
