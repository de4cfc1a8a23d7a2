//! Where to resume.

/// Where a consumer starts in a log that neither Kafka nor PostgreSQL knows a position in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At the log's beginning.
    Earliest,
    /// At the log's end.
    Latest,
}
