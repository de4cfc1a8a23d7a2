//! Dead letters: rejected records kept with their cause.

mod headers;
mod kind;

use sha2::{Digest, Sha256};

pub use self::headers::{
    ID, LetterFacts, MAX_HEADER_MESSAGE_BYTES, MAX_TRACE_BYTES, PREFIX, Profile, headers,
};
pub use self::kind::CauseKind;
use crate::brake::Ended;
use crate::claim::BadEventId;
use crate::failure::{ServerWords, condition};
use crate::record::{Record, TopicPartition};
use crate::ttl::BadTtl;

/// The code of a letter that stands for a gap: records that an operator had skipped. It holds no record, only the first
/// offset of the gap, so there is nothing to replay.
pub const SKIPPED: &str = "skipped";

/// A rejected record's cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// What it is to the host: the one field that decides anything.
    pub kind: CauseKind,
    /// A short code, such as `bad-event-id`, `trap` or the handler's own, which may be spelled like one of the host's.
    pub code: String,
    /// What happened, in words that anybody may read. A guest's own words are the guest's to choose.
    pub message: String,
    /// What the server said, for the dead letter's row alone.
    pub server: Option<ServerWords>,
    /// The SQLSTATE, where the database spoke.
    pub sqlstate: Option<String>,
    /// How often the record was tried.
    pub attempts: u32,
}

impl Cause {
    /// What the brake sees of the record: nothing where it was only put aside because its tenant could not run.
    pub fn ended(&self) -> Option<Ended> {
        match self.kind {
            CauseKind::Tenant => None,
            CauseKind::Trap => Some(Ended::Trapped),
            CauseKind::Handler
            | CauseKind::Retries
            | CauseKind::Record
            | CauseKind::Header
            | CauseKind::Database
            | CauseKind::Limit
            | CauseKind::Escape
            | CauseKind::Crash
            | CauseKind::Skipped => Some(Ended::Rejected),
        }
    }

    /// The text that a letter's row holds: the message, and below it what the server said.
    pub fn text(&self) -> String {
        match &self.server {
            Some(words) if !words.as_str().is_empty() => {
                format!("{}\n{}", self.message, words.as_str())
            }
            _ => self.message.clone(),
        }
    }

    /// A cause from a letter's row. What cannot be ours is the server's: letters of before the two were told apart.
    pub fn from_row(
        kind: CauseKind,
        code: String,
        text: String,
        sqlstate: Option<String>,
        attempts: u32,
    ) -> Self {
        let (message, server) = match sqlstate.as_deref().map(condition) {
            None => (text, None),
            Some(condition) if !text.starts_with(&condition) => (condition, Some(text.into())),
            Some(_) => match text.split_once('\n') {
                Some((message, words)) => (message.to_owned(), Some(words.into())),
                None => (text, None),
            },
        };
        Self {
            kind,
            code,
            message,
            server,
            sqlstate,
            attempts,
        }
    }
}

/// The code of a trapped guest.
pub const TRAP: &str = "trap";

/// A dead letter about to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    /// The record, byte for byte.
    pub record: Record,
    /// The event's scope.
    pub scope: String,
    /// The event's id, where the record has a good one.
    pub event_id: Option<String>,
    /// The tenant, where there are tenants and the record names one.
    pub tenant: Option<String>,
    /// The module that it was meant for, sha256 of its bytes.
    pub module_digest: Option<[u8; 32]>,
    /// Why it was rejected.
    pub cause: Cause,
}

impl From<BadEventId> for Cause {
    /// The cause of a record that was rejected before any try.
    fn from(bad: BadEventId) -> Self {
        untried(bad.code(), &bad)
    }
}

impl From<BadTtl> for Cause {
    /// The cause of a record that was rejected before any try.
    fn from(bad: BadTtl) -> Self {
        untried(BadTtl::CODE, &bad)
    }
}

fn untried(code: &str, error: &dyn std::error::Error) -> Cause {
    Cause {
        kind: CauseKind::Record,
        code: code.to_owned(),
        message: error.to_string(),
        server: None,
        sqlstate: None,
        attempts: 0,
    }
}

/// The id of a letter with code [`SKIPPED`]: that of a round that no replay reaches.
pub fn skipped_id(consumer: &str, log: (&str, i32), source: &TopicPartition, first: i64) -> String {
    letter_id(consumer, log, source, first, u32::MAX)
}

/// The message of a letter with code [`SKIPPED`]: which offsets, from the first to before `next`, and who asked for it.
pub fn skipped(source: &TopicPartition, first: i64, next: i64, by: &str) -> String {
    let (last, count) = (next.saturating_sub(1), next.saturating_sub(first));
    format!(
        "offsets {first} to {last} of {source} ({count} offsets) were skipped by `tidegate offsets set`, asked for by {by}; the records, where there are any, are in the topic alone"
    )
}

/// A dead letter's stable id: 64 hexadecimal digits, the same whenever the same record of the same log is
/// rejected for the same consumer in the same replay round (0: not replayed). The log is that of a cluster and an
/// epoch ([`Progress::log_epoch`](crate::progress::Progress::log_epoch)).
pub fn letter_id(
    consumer: &str,
    (cluster_id, log_epoch): (&str, i32),
    source: &TopicPartition,
    offset: i64,
    replay_round: u32,
) -> String {
    let mut hash = Sha256::new();
    // A length before each text keeps two lists of fields from making one sequence of bytes.
    for text in [consumer, cluster_id, &source.topic] {
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text.as_bytes());
    }
    hash.update(source.partition.to_be_bytes());
    hash.update(offset.to_be_bytes());
    hash.update(replay_round.to_be_bytes());
    // The first epoch adds nothing, so that its ids are those of before there were epochs.
    if log_epoch > 0 {
        hash.update(log_epoch.to_be_bytes());
    }
    hex::encode(hash.finalize())
}

#[cfg(test)]
mod tests;
