//! How long to wait before trying again.

use std::time::Duration;

/// `[consumer.retry]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The first wait.
    pub initial: Duration,
    /// The longest wait.
    pub max: Duration,
    /// How long a record that its handler calls transient is retried before it is dead-lettered.
    pub max_elapsed: Duration,
}
