//! What `offsets show` lists.

use serde::Serialize;

use super::super::render::{Row, opt};

/// Where a consumer stands in a partition, by Kafka and by PostgreSQL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OffsetRow {
    /// The consumer's name.
    pub consumer: String,
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// The group of the progress row; the configuration's where there is no row.
    pub group: String,
    /// K: what Kafka has committed for the group.
    pub kafka_committed: Option<i64>,
    /// N: the next offset to handle.
    pub next_offset: Option<i64>,
    /// C: the last offset that Kafka acknowledged to us.
    pub acknowledged: Option<i64>,
    /// The log's beginning.
    pub low: Option<i64>,
    /// The log's end.
    pub high: Option<i64>,
    /// Records between N and the log's end.
    pub lag: Option<i64>,
    /// `paused` or `braked` where the consumer is; else `stopped` where the partition waits for somebody, `retrying` where
    /// a record of it is tried again, or `running`.
    pub state: String,
    /// The host that owns the position; `gone` where it has not been seen for a while, none where nobody owns it.
    pub owner: Option<String>,
    /// The record that failed last and is tried again: its offset.
    pub failing_offset: Option<i64>,
    /// How often it was tried.
    pub failing_attempts: Option<i32>,
    /// Why the partition is stopped, if it is.
    pub stopped_for: Option<String>,
    /// The row's counters.
    #[serde(flatten)]
    pub counts: Option<CountsView>,
}

/// A progress row's counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CountsView {
    /// Records handled.
    pub done: i64,
    /// Records the handler skipped.
    pub skipped: i64,
    /// Records dead-lettered.
    pub rejected: i64,
    /// Duplicates: the same record again.
    pub redelivered: i64,
    /// Duplicates: another record of a known event.
    pub republished: i64,
    /// Expired claims taken over.
    pub taken_over: i64,
}

impl Row for OffsetRow {
    const COLUMNS: &'static [&'static str] = &[
        "consumer",
        "topic",
        "part",
        "group",
        "kafka",
        "next",
        "acked",
        "low",
        "high",
        "lag",
        "done",
        "skipped",
        "rejected",
        "redelivered",
        "republished",
        "taken over",
        "state",
        "owner",
        "failing",
        "attempts",
        "stopped for",
    ];

    fn cells(&self) -> Vec<String> {
        let count = |pick: fn(&CountsView) -> i64| opt(self.counts.as_ref().map(pick));
        vec![
            self.consumer.clone(),
            self.topic.clone(),
            self.partition.to_string(),
            self.group.clone(),
            opt(self.kafka_committed),
            opt(self.next_offset),
            opt(self.acknowledged),
            opt(self.low),
            opt(self.high),
            opt(self.lag),
            count(|c| c.done),
            count(|c| c.skipped),
            count(|c| c.rejected),
            count(|c| c.redelivered),
            count(|c| c.republished),
            count(|c| c.taken_over),
            self.state.clone(),
            opt(self.owner.as_ref()),
            opt(self.failing_offset),
            opt(self.failing_attempts),
            opt(self.stopped_for.as_ref()),
        ]
    }
}
