//! Takes a target's bytes apart.

use std::borrow::Cow;

use bytes::Bytes;
use tidegate_core::record::{Header, Record, Timestamp, TopicPartition};

/// Between two fields of an input: no byte of UTF-8, so that a corpus can be read and written by hand.
const SEPARATOR: u8 = 0xff;
/// A field of this byte alone is null.
const NULL: &[u8] = b"\xfe";

/// An input's fields, one after another; beyond the last all are empty.
pub(crate) struct Fields<'a>(Vec<&'a [u8]>);

impl<'a> Fields<'a> {
    pub(crate) fn new(data: &'a [u8]) -> Self {
        Self(data.split(|byte| *byte == SEPARATOR).rev().collect())
    }

    pub(crate) fn bytes(&mut self) -> &'a [u8] {
        self.0.pop().unwrap_or_default()
    }

    pub(crate) fn text(&mut self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.bytes())
    }

    /// The next field's first byte.
    pub(crate) fn byte(&mut self) -> u8 {
        self.bytes().first().copied().unwrap_or_default()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn nullable(&mut self) -> Option<Bytes> {
        match self.bytes() {
            NULL => None,
            bytes => Some(Bytes::copy_from_slice(bytes)),
        }
    }

    /// Key, value and headers: all that is left.
    pub(crate) fn record(mut self) -> Record {
        let (key, value) = (self.nullable(), self.nullable());
        let mut headers = Vec::new();
        while !self.is_empty() {
            let name = self.text().into_owned();
            let value = self.nullable();
            headers.push(Header { name, value });
        }
        Record {
            source: TopicPartition {
                topic: "orders".into(),
                partition: 2,
            },
            offset: 7,
            timestamp: Timestamp::Created(1_700_000_000_000),
            key,
            value,
            headers,
            unreadable_headers: 0,
        }
    }
}

/// Up to `N` bytes as a big-endian number's, zeros beyond their end; and what is left.
pub(crate) fn number<const N: usize>(data: &[u8]) -> ([u8; N], &[u8]) {
    let (head, rest) = data.split_at(data.len().min(N));
    let mut bytes = [0; N];
    bytes[..head.len()].copy_from_slice(head);
    (bytes, rest)
}
