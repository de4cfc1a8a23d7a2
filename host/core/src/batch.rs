//! Cutting batches.

use std::time::Duration;

/// `[consumer.batch]`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchLimits {
    /// The most records of a batch.
    pub max_records: usize,
    /// The most bytes of a batch; one record may exceed it alone.
    pub max_bytes: usize,
    /// How long to wait for more records before a batch that is not full is cut; zero cuts at once.
    pub max_wait: Duration,
}
