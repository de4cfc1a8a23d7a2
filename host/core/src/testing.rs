//! Records for the tests of this package.

use bytes::Bytes;

use crate::record::{Header, Record, Timestamp, TopicPartition};

/// A record without key, value and headers, at offset 7 of `orders[2]`.
pub(crate) fn record() -> Record {
    Record {
        source: TopicPartition {
            topic: "orders".into(),
            partition: 2,
        },
        offset: 7,
        timestamp: Timestamp::Created(1_700_000_000_000),
        key: None,
        value: None,
        headers: Vec::new(),
        unreadable_headers: 0,
    }
}

/// A header with a value.
pub(crate) fn header(name: &str, value: &[u8]) -> Header {
    Header {
        name: name.to_owned(),
        value: Some(Bytes::copy_from_slice(value)),
    }
}

/// A header whose value is null.
pub(crate) fn null_header(name: &str) -> Header {
    Header {
        name: name.to_owned(),
        value: None,
    }
}

/// A record with these headers.
pub(crate) fn with_headers(headers: Vec<Header>) -> Record {
    Record {
        headers,
        ..record()
    }
}

/// A record with this value.
pub(crate) fn with_value(value: &[u8]) -> Record {
    Record {
        value: Some(Bytes::copy_from_slice(value)),
        ..record()
    }
}
