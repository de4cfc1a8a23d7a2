//! A Kafka entry as it was fetched.

mod digest;

use std::sync::Arc;

pub use digest::Digest;

use bytes::Bytes;

/// A partition of a topic.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TopicPartition {
    /// The topic's name.
    pub topic: Arc<str>,
    /// The partition's number, from 0.
    pub partition: i32,
}

impl std::fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}[{}]", self.topic, self.partition)
    }
}

/// Where a record's timestamp comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timestamp {
    /// The record carries none.
    Unknown,
    /// Set by the producer, milliseconds since 1970 UTC.
    Created(i64),
    /// Set by the broker as it appended the record, milliseconds since 1970 UTC.
    Appended(i64),
}

impl Timestamp {
    /// Milliseconds since 1970 UTC, if the record carries a timestamp.
    pub fn millis(self) -> Option<i64> {
        match self {
            Timestamp::Unknown => None,
            Timestamp::Created(ms) | Timestamp::Appended(ms) => Some(ms),
        }
    }
}

/// One header. A record may carry several of one name; their order is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The name.
    pub name: String,
    /// The value; Kafka allows null.
    pub value: Option<Bytes>,
}

/// One Kafka entry as fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The topic and partition it was read from.
    pub source: TopicPartition,
    /// Its offset there.
    pub offset: i64,
    /// Its timestamp.
    pub timestamp: Timestamp,
    /// Its key; null is not the empty key.
    pub key: Option<Bytes>,
    /// Its value; null is a tombstone.
    pub value: Option<Bytes>,
    /// Its headers, in order, with duplicates.
    pub headers: Vec<Header>,
    /// How many headers it has beside these, whose names are not UTF-8: neither name nor value can be had.
    pub unreadable_headers: u32,
}

impl Record {
    /// Bytes this record holds in memory, near enough to bound a queue by.
    pub fn size(&self) -> usize {
        let opt = |b: &Option<Bytes>| b.as_ref().map_or(0, Bytes::len);
        let headers = self
            .headers
            .iter()
            .map(|h| h.name.len() + opt(&h.value) + 64);
        opt(&self.key) + opt(&self.value) + headers.sum::<usize>() + std::mem::size_of::<Self>()
    }
}
