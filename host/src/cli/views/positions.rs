//! What `offsets adopt` and `offsets set` did.

use serde::Serialize;

use super::super::render::{Row, opt};

/// A position before or after `offsets adopt` or `offsets set`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Position {
    /// The group that the position belongs to.
    pub group: String,
    /// The cluster that the log belongs to.
    pub cluster_id: String,
    /// N: the next offset to handle.
    pub next_offset: i64,
}

/// What `offsets adopt` or `offsets set` did to a partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PositionRow {
    /// The consumer's name.
    pub consumer: String,
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// The log's first offset.
    pub low: i64,
    /// The offset behind the log's last.
    pub high: i64,
    /// The row before, if there was one.
    pub before: Option<Position>,
    /// The row after, read back.
    pub after: Position,
    /// The group's offset before, by Kafka.
    pub kafka_before: Option<i64>,
    /// The group's offset after, asked for again.
    pub kafka_after: Option<i64>,
    /// Where the position came from, and the dead letter of what was skipped.
    pub note: Option<String>,
}

impl Row for PositionRow {
    const COLUMNS: &'static [&'static str] = &[
        "consumer",
        "topic",
        "part",
        "low",
        "high",
        "next before",
        "next after",
        "kafka before",
        "kafka after",
        "group before",
        "group after",
        "cluster before",
        "cluster after",
        "note",
    ];

    fn cells(&self) -> Vec<String> {
        let before = self.before.as_ref();
        vec![
            self.consumer.clone(),
            self.topic.clone(),
            self.partition.to_string(),
            self.low.to_string(),
            self.high.to_string(),
            opt(before.map(|row| row.next_offset)),
            self.after.next_offset.to_string(),
            opt(self.kafka_before),
            opt(self.kafka_after),
            opt(before.map(|row| &row.group)),
            self.after.group.clone(),
            opt(before.map(|row| &row.cluster_id)),
            self.after.cluster_id.clone(),
            opt(self.note.as_ref()),
        ]
    }
}
