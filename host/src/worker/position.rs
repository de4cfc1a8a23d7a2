//! Where a partition stands.

use std::sync::Arc;

use tidegate_core::crash::Ends;
use tidegate_core::progress::Failing;
use tidegate_core::record::TopicPartition;
use uuid::Uuid;

/// Where a partition stands.
#[derive(Clone, Debug)]
pub struct Position {
    /// The owner's token.
    pub token: Uuid,
    /// The cluster that the log belongs to.
    pub cluster_id: Arc<str>,
    /// The log's epoch, by the progress row.
    pub log_epoch: i32,
    /// N: the next offset to handle.
    pub next: i64,
    /// C, where it is to be written with the next batch.
    pub committed: Option<i64>,
    /// The record that failed last, at or behind N.
    pub failing: Option<Failing>,
    /// How earlier owners ended.
    pub ends: Ends,
}

/// A position taken.
pub struct Placed {
    /// The partition.
    pub source: TopicPartition,
    /// Where it stands; `committed` is what Kafka holds, none where it is to be told whatever it holds.
    pub position: Position,
    /// The log ended there when it was looked at.
    pub at_end: bool,
}
