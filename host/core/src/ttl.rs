//! How long a claim lasts.

mod duration;

use std::time::Duration;

pub use self::duration::parse_duration;
use self::duration::{Amount, seconds_or_iso};
use crate::headers::{Said, said};
use crate::json::{self, Found};
use crate::record::Record;

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

/// Why a record's own TTL cannot be used. Always permanent; the record's text is never quoted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTtl {
    /// It is not UTF-8.
    #[error("the TTL in {0} is not UTF-8")]
    NotUtf8(String),
    /// Two headers of the name differ, or an object names its member twice.
    #[error("the TTL is ambiguous: {0}")]
    Ambiguous(String),
    /// It cannot be read.
    #[error("the TTL in {place} is malformed: {reason}")]
    Malformed {
        /// Where it stands.
        place: String,
        /// What is wrong with it.
        reason: String,
    },
    /// It is outside the consumer's bounds, and those are to reject.
    #[error(
        "the TTL in {place} is outside {min:?} to {max:?} (`min_ttl`, `max_ttl`; \
         `ttl_out_of_range = \"clamp\"` would take the bound)"
    )]
    OutOfRange {
        /// Where it stands.
        place: String,
        /// The shortest allowed.
        min: Duration,
        /// The longest allowed.
        max: Duration,
    },
}

impl BadTtl {
    /// The error code in dead letters, logs and metrics.
    pub const CODE: &str = "bad-ttl";
}

impl TtlRule {
    /// How long the record's claim is to last.
    ///
    /// A record without a TTL of its own gets the default: no such header or a null one, a tombstone, nothing or
    /// `null` at the pointer. An empty text is no TTL, and no way to say that there is none. Negative and absurdly large ones are outside the bounds; they never overflow.
    ///
    /// # Errors
    ///
    /// A TTL that cannot be read always; one outside the bounds when those are to reject.
    pub fn of(&self, record: &Record) -> Result<Duration, BadTtl> {
        let Some(source) = &self.from else {
            return Ok(self.default);
        };
        match source.amount(record)? {
            None => Ok(self.default),
            Some(amount) => self.bounded(amount, source),
        }
    }

    fn bounded(&self, amount: Amount, source: &TtlSource) -> Result<Duration, BadTtl> {
        match (amount, self.out_of_range) {
            (Amount::Of(ttl), _) if self.min <= ttl && ttl <= self.max => Ok(ttl),
            (Amount::Of(ttl), OutOfRange::Clamp) => Ok(ttl.max(self.min).min(self.max)),
            (Amount::Negative, OutOfRange::Clamp) => Ok(self.min),
            (Amount::Of(_) | Amount::Negative, OutOfRange::Reject) => Err(BadTtl::OutOfRange {
                place: source.to_string(),
                min: self.min,
                max: self.max,
            }),
        }
    }
}

impl TtlSource {
    /// What the record says here; none if it says nothing.
    fn amount(&self, record: &Record) -> Result<Option<Amount>, BadTtl> {
        match self {
            TtlSource::Header(name) => self.in_header(said(&record.headers, name)),
            TtlSource::Json(pointer) => match &record.value {
                None => Ok(None),
                Some(value) => self.in_value(value, pointer),
            },
        }
    }

    fn in_header(&self, said: Said<'_>) -> Result<Option<Amount>, BadTtl> {
        let value = match said {
            // Kafka's null is a producer's way to write "none".
            Said::Nothing | Said::One(None) => return Ok(None),
            Said::Ambiguous => return Err(BadTtl::Ambiguous(format!("two headers {self} differ"))),
            Said::One(Some(value)) => value,
        };
        let text = std::str::from_utf8(value).map_err(|_| BadTtl::NotUtf8(self.to_string()))?;
        self.read(text).map(Some)
    }

    fn in_value(&self, value: &[u8], pointer: &str) -> Result<Option<Amount>, BadTtl> {
        match json::at(value, pointer) {
            Err(json::NotJson(why)) => Err(self.malformed(&format!("the value {why}"))),
            Ok(Found::Twice) => Err(BadTtl::Ambiguous(format!(
                "the value names what {self} walks twice"
            ))),
            Ok(Found::Absent | Found::Null) => Ok(None),
            Ok(Found::Text(text)) => self.read(&text).map(Some),
            Ok(Found::Number(digits)) => self.read(digits).map(Some),
            Ok(Found::Other(_)) => Err(self.malformed("a string or a number is needed")),
        }
    }

    fn read(&self, text: &str) -> Result<Amount, BadTtl> {
        seconds_or_iso(text).map_err(|reason| self.malformed(reason))
    }

    fn malformed(&self, reason: &str) -> BadTtl {
        BadTtl::Malformed {
            place: self.to_string(),
            reason: reason.to_owned(),
        }
    }
}

impl std::fmt::Display for TtlSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TtlSource::Header(name) => write!(f, "`header:{name}`"),
            TtlSource::Json(pointer) => write!(f, "`json:{pointer}`"),
        }
    }
}

#[cfg(test)]
mod tests;
