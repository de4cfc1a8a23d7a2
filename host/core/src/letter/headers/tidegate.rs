//! Tidegate's own headers: UTF-8 text under one prefix.

use super::{LetterFacts, message, millis, text};
use crate::record::{Header, Timestamp};

pub(super) const PREFIX: &str = "tidegate-";

/// All but the stable id.
pub(super) fn own(facts: &LetterFacts<'_>) -> Vec<Header> {
    let (record, cause) = (facts.record, facts.cause);
    let all = [
        ("consumer", Some(facts.consumer.to_owned())),
        ("cluster-id", Some(facts.cluster_id.to_owned())),
        ("topic", Some(record.source.topic.to_string())),
        ("partition", Some(record.source.partition.to_string())),
        ("offset", Some(record.offset.to_string())),
        ("timestamp", Some(millis(record.timestamp).to_string())),
        ("timestamp-type", Some(kind(record.timestamp).to_owned())),
        ("error-kind", Some(cause.kind.as_str().to_owned())),
        ("error-code", Some(cause.code.clone())),
        ("error-message", Some(message(cause))),
        ("sqlstate", cause.sqlstate.clone()),
        ("attempts", Some(cause.attempts.to_string())),
        ("replay-round", Some(facts.replay_round.to_string())),
        ("event-id", facts.event_id.map(str::to_owned)),
        ("tenant", facts.tenant.map(str::to_owned)),
        ("module-digest", facts.module_digest.map(hex::encode)),
        ("rejected-at", Some(rfc3339(facts.rejected_at_ms))),
    ];
    let header = |(name, value): (&str, Option<String>)| {
        value.map(|value| text(&format!("{PREFIX}{name}"), &value))
    };
    all.into_iter().filter_map(header).collect()
}

fn kind(timestamp: Timestamp) -> &'static str {
    match timestamp {
        Timestamp::Unknown => "none",
        Timestamp::Created(_) => "create",
        Timestamp::Appended(_) => "append",
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
