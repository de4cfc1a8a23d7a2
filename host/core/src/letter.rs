//! Dead letters: rejected records kept with their cause.

use crate::record::Record;

/// A rejected record's cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// A short code, such as `bad-event-id`, `trap` or the handler's own.
    pub code: String,
    /// What happened, in words.
    pub message: String,
    /// The SQLSTATE, where the database spoke.
    pub sqlstate: Option<String>,
    /// How often the record was tried.
    pub attempts: u32,
}

/// A dead letter about to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    /// The record, byte for byte.
    pub record: Record,
    /// The event's scope.
    pub scope: String,
    /// The event's id, where the record has a good one.
    pub event_id: Option<String>,
    /// Why it was rejected.
    pub cause: Cause,
}
