//! The headers of Spring for Apache Kafka's dead letters: text, and numbers as Java's big-endian bytes.
//!
//! There is no Java exception: its class is the cause's code, and its cause's class the SQLSTATE where the database
//! spoke.

use super::{LetterFacts, bytes, message, millis, text, trace};
use crate::record::{Header, Timestamp};

pub(super) const PREFIX: &str = "kafka_dlt-";

pub(super) fn own(facts: &LetterFacts<'_>) -> Vec<Header> {
    let (record, cause) = (facts.record, facts.cause);
    let name = |name: &str| format!("{PREFIX}{name}");
    let number = |suffix: &str, value: &[u8]| bytes(&name(suffix), value.to_vec());
    let word = |suffix: &str, value: &str| text(&name(suffix), value);
    let mut own = vec![
        word("original-topic", &record.source.topic),
        number("original-partition", &record.source.partition.to_be_bytes()),
        number("original-offset", &record.offset.to_be_bytes()),
        number(
            "original-timestamp",
            &millis(record.timestamp).to_be_bytes(),
        ),
        word("original-timestamp-type", kind(record.timestamp)),
        word("original-consumer-group", facts.group),
        word("exception-fqcn", &cause.code),
    ];
    own.extend(
        cause
            .sqlstate
            .as_deref()
            .map(|sqlstate| word("exception-cause-fqcn", sqlstate)),
    );
    own.push(word("exception-message", &message(cause)));
    own.push(word("exception-stacktrace", &trace(cause)));
    own
}

/// Java's names of the types.
fn kind(timestamp: Timestamp) -> &'static str {
    match timestamp {
        Timestamp::Unknown => "NoTimestampType",
        Timestamp::Created(_) => "CreateTime",
        Timestamp::Appended(_) => "LogAppendTime",
    }
}
