//! A published dead letter's headers, by profile.

mod connect;
mod spring;
mod tidegate;

use bytes::Bytes;

use super::Cause;
use crate::record::{Header, Record, Timestamp};
use crate::text::bounded;

/// What the names of Tidegate's own headers begin with. Inbound ones are stripped: they are replaced, never
/// appended.
pub const PREFIX: &str = tidegate::PREFIX;
/// The stable id's header, in every profile.
pub const ID: &str = "tidegate-dead-letter-id";
/// The most bytes of the error message's header.
pub const MAX_HEADER_MESSAGE_BYTES: usize = 1024;
/// The most bytes of the header that a profile has for the whole of what happened.
pub const MAX_TRACE_BYTES: usize = 4096;

/// Whose names the headers have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// Tidegate's own, all of them text.
    #[default]
    Tidegate,
    /// Those of Spring for Apache Kafka; its numbers are big-endian.
    Spring,
    /// Those of Kafka Connect, all of them text.
    Connect,
}

/// What a dead letter's headers tell.
#[derive(Clone, Copy, Debug)]
pub struct LetterFacts<'a> {
    /// The letter's id, as `letter_id` makes it.
    pub id: &'a str,
    /// The consumer's name.
    pub consumer: &'a str,
    /// The consumer's group.
    pub group: &'a str,
    /// The cluster that the record was read from.
    pub cluster_id: &'a str,
    /// The record.
    pub record: &'a Record,
    /// Why it was rejected.
    pub cause: &'a Cause,
    /// The round of replay that rejected it; 0 for the first.
    pub replay_round: u32,
    /// The event's id, where the record has a good one.
    pub event_id: Option<&'a str>,
    /// The tenant, where there are tenants and the record names one.
    pub tenant: Option<&'a str>,
    /// The digest of the module that handled it, if one did.
    pub module_digest: Option<&'a [u8]>,
    /// When it was rejected, milliseconds since 1970 UTC.
    pub rejected_at_ms: i64,
}

/// The record's own headers, in order and byte for byte but for those under the profile's prefix and Tidegate's, and
/// then one of each of the profile's. The stable id rides along in every profile.
pub fn headers(profile: Profile, facts: &LetterFacts<'_>) -> Vec<Header> {
    let (prefix, own) = match profile {
        Profile::Tidegate => (tidegate::PREFIX, tidegate::own(facts)),
        Profile::Spring => (spring::PREFIX, spring::own(facts)),
        Profile::Connect => (connect::PREFIX, connect::own(facts)),
    };
    let foreign = |header: &&Header| !begins(&header.name, PREFIX) && !begins(&header.name, prefix);
    let foreign = facts.record.headers.iter().filter(foreign).cloned();
    foreign.chain([text(ID, facts.id)]).chain(own).collect()
}

fn begins(name: &str, prefix: &str) -> bool {
    let start = name.as_bytes().get(..prefix.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(prefix.as_bytes()))
}

fn text(name: &str, value: &str) -> Header {
    bytes(name, Bytes::copy_from_slice(value.as_bytes()))
}

fn bytes(name: &str, value: impl Into<Bytes>) -> Header {
    Header {
        name: name.to_owned(),
        value: Some(value.into()),
    }
}

/// The error's message, bounded.
fn message(cause: &Cause) -> String {
    bounded(&cause.message, MAX_HEADER_MESSAGE_BYTES)
}

/// All of the error's words, such as a trap's frames, bounded.
fn trace(cause: &Cause) -> String {
    bounded(&cause.message, MAX_TRACE_BYTES)
}

/// A record without a timestamp has Kafka's own -1.
fn millis(timestamp: Timestamp) -> i64 {
    timestamp.millis().unwrap_or(-1)
}
