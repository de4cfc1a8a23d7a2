//! How long a claim lasts.

use std::time::Duration;

/// `[consumer.dedup] ttl`, `ttl_from`, `min_ttl`, `max_ttl` and `ttl_out_of_range`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TtlRule {
    /// The consumer's own, where a record has none.
    pub default: Duration,
    /// Where a record carries its own.
    pub from: Option<TtlSource>,
    /// The shortest allowed.
    pub min: Duration,
    /// The longest allowed.
    pub max: Duration,
    /// What becomes of a TTL outside the bounds.
    pub out_of_range: OutOfRange,
}

/// Where a record's own TTL is found: whole seconds, or an ISO 8601 duration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TtlSource {
    /// `header:NAME`
    Header(String),
    /// `json:/pointer`
    Json(String),
}

/// What becomes of a TTL outside the bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutOfRange {
    /// It becomes the bound.
    Clamp,
    /// The record is rejected with code `bad-ttl`.
    Reject,
}
