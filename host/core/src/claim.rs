//! Event ids, and the claim on them in the inbox.

use std::sync::Arc;
use std::time::Duration;

use crate::cloudevents::BadCloudEvent;

/// An event's id: 1 to 512 bytes of UTF-8 without NUL, compared byte for byte. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventId(Arc<str>);

impl EventId {
    /// The most bytes an id may have. PostgreSQL's index rows bound it.
    pub const MAX_BYTES: usize = 512;

    /// Checks `id` and takes it; the error says what is wrong with it, without the id's own text.
    pub fn new(id: String) -> Result<Self, BadEventId> {
        match id.len() {
            0 => Err(BadEventId::Empty),
            n if n > Self::MAX_BYTES => Err(BadEventId::TooLong(n)),
            _ if id.contains('\0') => Err(BadEventId::Nul),
            _ => Ok(Self(id.into())),
        }
    }

    /// The id's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why a record has no usable event id. Always permanent: an id is never invented.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadEventId {
    /// The configured place holds nothing.
    #[error("there is no event id: {0}")]
    Missing(String),
    /// The id is null.
    #[error("the event id is null")]
    Null,
    /// The id is the empty string.
    #[error("the event id is empty")]
    Empty,
    /// The id is too long.
    #[error("the event id has {0} bytes; at most {max} are allowed", max = EventId::MAX_BYTES)]
    TooLong(usize),
    /// The id is not UTF-8.
    #[error("the event id is not UTF-8")]
    NotUtf8,
    /// The id holds a NUL, which PostgreSQL's text cannot.
    #[error("the event id holds a NUL byte")]
    Nul,
    /// Two headers of that name differ.
    #[error("the event id is ambiguous: {0}")]
    Ambiguous(String),
    /// The id is not of the configured format, or the place it should be in cannot be read.
    #[error("the event id is malformed: {0}")]
    Malformed(String),
    /// The record is no single CloudEvent with a source and an id.
    #[error(transparent)]
    CloudEvent(#[from] BadCloudEvent),
}

impl BadEventId {
    /// The error code in dead letters, logs and metrics.
    pub const CODE: &str = "bad-event-id";

    /// The code of this one.
    pub fn code(&self) -> &'static str {
        match self {
            Self::CloudEvent(bad) => bad.code(),
            Self::Missing(_)
            | Self::Null
            | Self::Empty
            | Self::TooLong(_)
            | Self::NotUtf8
            | Self::Nul
            | Self::Ambiguous(_)
            | Self::Malformed(_) => Self::CODE,
        }
    }
}

/// What one record asks of the inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimRequest {
    /// What the id is unique within, beside the consumer; empty by default.
    pub scope: Arc<str>,
    /// The event's id.
    pub event_id: EventId,
    /// How long the claim is to last; checked against the consumer's bounds already.
    pub ttl: Duration,
    /// The offset of the record that claims.
    pub offset: i64,
}

/// What the inbox answered to a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claimed {
    /// The event is new.
    New,
    /// An expired claim was taken over: the event is new again, by design.
    TakenOver,
    /// A rejected record's claim was taken over by another record of the event; its open letters are
    /// superseded if this record is handled.
    Supersedes,
    /// Another record's claim stands: this one is a duplicate.
    Duplicate,
}

/// How a duplicate came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DuplicateKind {
    /// Kafka delivered the same record again.
    Redelivery,
    /// Another record carries the same event.
    Republish,
}

/// How old a claim is beside how long it lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Age {
    /// Since the event was claimed.
    pub old: Duration,
    /// From claim to expiry.
    pub ttl: Duration,
}

impl Age {
    /// What share of the claim's life has passed: from 0; beyond 1 for a rejected record's claim that outlives its
    /// TTL.
    pub fn share(self) -> f64 {
        self.old.as_secs_f64() / self.ttl.max(Duration::from_micros(1)).as_secs_f64()
    }
}

/// The claim that makes a record a duplicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// How the duplicate came about.
    pub kind: DuplicateKind,
    /// The claim is of a rejected record: another record of the event may take it over.
    pub rejected: bool,
    /// How old the claim is, and how long it lasts in all; none where it has been pruned since.
    pub age: Option<Age>,
}
