//! A published dead letter's headers.

use bytes::Bytes;

use super::Cause;
use crate::record::{Header, Record, Timestamp};
use crate::text::bounded;

/// What the names of Tidegate's own headers begin with. Inbound ones are stripped: they are replaced, never
/// appended.
pub const PREFIX: &str = "tidegate-";
/// The most bytes of the error message's header.
pub const MAX_HEADER_MESSAGE_BYTES: usize = 1024;

/// What a dead letter's headers tell.
#[derive(Clone, Copy, Debug)]
pub struct LetterFacts<'a> {
    /// The letter's id, as `letter_id` makes it.
    pub id: &'a str,
    /// The consumer's name.
    pub consumer: &'a str,
    /// The cluster that the record was read from.
    pub cluster_id: &'a str,
    /// The record.
    pub record: &'a Record,
    /// Why it was rejected.
    pub cause: &'a Cause,
    /// The event's id, where the record has a good one.
    pub event_id: Option<&'a str>,
    /// The digest of the module that handled it, if one did.
    pub module_digest: Option<&'a [u8]>,
    /// When it was rejected, milliseconds since 1970 UTC.
    pub rejected_at_ms: i64,
}

/// The record's own headers, in order and byte for byte but for those under the prefix, and then one of
/// each of Tidegate's, in UTF-8 text.
pub fn headers(facts: &LetterFacts<'_>) -> Vec<Header> {
    let foreign = facts.record.headers.iter().filter(|h| !is_own(&h.name));
    let own = own(facts).into_iter().filter_map(|(name, value)| {
        let value = Some(Bytes::from(value?));
        let name = format!("{PREFIX}{name}");
        Some(Header { name, value })
    });
    foreign.cloned().chain(own).collect()
}

fn is_own(name: &str) -> bool {
    let start = name.as_bytes().get(..PREFIX.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(PREFIX.as_bytes()))
}

fn own(facts: &LetterFacts<'_>) -> [(&'static str, Option<String>); 15] {
    let (record, cause) = (facts.record, facts.cause);
    let (timestamp, timestamp_type) = timestamp(record.timestamp);
    let message = bounded(&cause.message, MAX_HEADER_MESSAGE_BYTES);
    [
        ("dead-letter-id", Some(facts.id.to_owned())),
        ("consumer", Some(facts.consumer.to_owned())),
        ("cluster-id", Some(facts.cluster_id.to_owned())),
        ("topic", Some(record.source.topic.to_string())),
        ("partition", Some(record.source.partition.to_string())),
        ("offset", Some(record.offset.to_string())),
        ("timestamp", Some(timestamp.to_string())),
        ("timestamp-type", Some(timestamp_type.to_owned())),
        ("error-code", Some(cause.code.clone())),
        ("error-message", Some(message)),
        ("sqlstate", cause.sqlstate.clone()),
        ("attempts", Some(cause.attempts.to_string())),
        ("event-id", facts.event_id.map(str::to_owned)),
        ("module-digest", facts.module_digest.map(hex::encode)),
        ("rejected-at", Some(rfc3339(facts.rejected_at_ms))),
    ]
}

/// A record without a timestamp has Kafka's own -1, and the type `none`.
fn timestamp(timestamp: Timestamp) -> (i64, &'static str) {
    match timestamp {
        Timestamp::Unknown => (-1, "none"),
        Timestamp::Created(ms) => (ms, "create"),
        Timestamp::Appended(ms) => (ms, "append"),
    }
}

/// Moments outside the years that the calendar reaches become the nearest one inside.
fn rfc3339(ms: i64) -> String {
    let nearest = if ms < 0 {
        jiff::Timestamp::MIN
    } else {
        jiff::Timestamp::MAX
    };
    format!(
        "{:.3}",
        jiff::Timestamp::from_millisecond(ms).unwrap_or(nearest)
    )
}
