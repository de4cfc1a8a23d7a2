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

/// What `offsets adopt` did to a partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AdoptedRow {
    /// The consumer's name.
    pub consumer: String,
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// Where the position came from: `group offset` or `beginning of the log`.
    pub from: String,
    /// The row before.
    pub before: Position,
    /// The row after, read back.
    pub after: Position,
}

impl Row for AdoptedRow {
    const COLUMNS: &'static [&'static str] = &[
        "consumer",
        "topic",
        "part",
        "taken from",
        "next before",
        "next after",
        "group before",
        "group after",
        "cluster before",
        "cluster after",
    ];

    fn cells(&self) -> Vec<String> {
        vec![
            self.consumer.clone(),
            self.topic.clone(),
            self.partition.to_string(),
            self.from.clone(),
            self.before.next_offset.to_string(),
            self.after.next_offset.to_string(),
            self.before.group.clone(),
            self.after.group.clone(),
            self.before.cluster_id.clone(),
            self.after.cluster_id.clone(),
        ]
    }
}

/// What `offsets set` did to a partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SetRow {
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
}

impl Row for SetRow {
    const COLUMNS: &'static [&'static str] = &[
        "consumer",
        "topic",
        "part",
        "low",
        "high",
        "next before",
        "next after",
        "group before",
        "group after",
        "cluster before",
        "cluster after",
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
            opt(before.map(|row| &row.group)),
            self.after.group.clone(),
            opt(before.map(|row| &row.cluster_id)),
            self.after.cluster_id.clone(),
        ]
    }
}
