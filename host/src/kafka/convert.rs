//! librdkafka's messages become records: every byte is copied once, into one buffer a record.

use bytes::{Bytes, BytesMut};
use rdkafka::Message;
use rdkafka::message::{BorrowedHeaders, BorrowedMessage, Headers, Timestamp as Stamp};
use tidegate_core::record::{Header, Record, Timestamp, TopicPartition};

use super::quiet;

/// The record in `message`, which was read from `source`.
pub(super) fn record(message: &BorrowedMessage<'_>, source: TopicPartition) -> Record {
    let (headers, unreadable_headers) = message.headers().map(read_headers).unwrap_or_default();
    let len = |b: Option<&[u8]>| b.map_or(0, <[u8]>::len);
    let in_headers: usize = headers.iter().map(|(_, value)| len(*value)).sum();
    let total = len(message.key()) + len(message.payload()) + in_headers;
    let mut buffer = BytesMut::with_capacity(total);
    let mut copy = |bytes: Option<&[u8]>| bytes.map(|bytes| push(&mut buffer, bytes));
    Record {
        source,
        offset: message.offset(),
        timestamp: timestamp(message.timestamp()),
        key: copy(message.key()),
        value: copy(message.payload()),
        headers: headers
            .into_iter()
            .map(|(name, value)| Header {
                name,
                value: copy(value),
            })
            .collect(),
        unreadable_headers,
    }
}

fn push(buffer: &mut BytesMut, bytes: &[u8]) -> Bytes {
    buffer.extend_from_slice(bytes);
    buffer.split().freeze()
}

/// A header's name and value.
type Raw<'m> = (String, Option<&'m [u8]>);

/// The headers, and how many more there are whose names are not UTF-8: the bindings panic on those.
fn read_headers(headers: &BorrowedHeaders) -> (Vec<Raw<'_>>, u32) {
    let mut unreadable = 0;
    let mut readable = Vec::with_capacity(headers.count());
    for i in 0..headers.count() {
        match quiet::read(|| headers.try_get(i)) {
            Some(header) => readable.extend(header.map(|h| (h.key.to_owned(), h.value))),
            None => unreadable += 1,
        }
    }
    (readable, unreadable)
}

fn timestamp(stamp: Stamp) -> Timestamp {
    match stamp {
        Stamp::NotAvailable | Stamp::CreateTime(-1) | Stamp::LogAppendTime(-1) => {
            Timestamp::Unknown
        }
        Stamp::CreateTime(ms) => Timestamp::Created(ms),
        Stamp::LogAppendTime(ms) => Timestamp::Appended(ms),
    }
}
