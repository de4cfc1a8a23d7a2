//! The headers of Kafka Connect's dead letters: UTF-8 text.
//!
//! The connector is the consumer, its only task 0. A record that no handler saw failed as a transformation does, any
//! other as a task does that puts a record.

use super::{LetterFacts, message, text, trace};
use crate::record::Header;

pub(super) const PREFIX: &str = "__connect.errors.";

pub(super) fn own(facts: &LetterFacts<'_>) -> Vec<Header> {
    let (record, cause) = (facts.record, facts.cause);
    let (stage, class) = match cause.attempts {
        0 => ("TRANSFORMATION", "tidegate".to_owned()),
        _ => (
            "TASK_PUT",
            facts.module_digest.map_or_else(String::new, hex::encode),
        ),
    };
    let all = [
        ("topic", record.source.topic.to_string()),
        ("partition", record.source.partition.to_string()),
        ("offset", record.offset.to_string()),
        ("connector.name", facts.consumer.to_owned()),
        ("task.id", "0".to_owned()),
        ("stage", stage.to_owned()),
        ("class.name", class),
        ("exception.class.name", cause.code.clone()),
        ("exception.message", message(cause)),
        ("exception.stacktrace", trace(cause)),
    ];
    let header = |(name, value): (&str, String)| text(&format!("{PREFIX}{name}"), &value);
    all.map(header).to_vec()
}
