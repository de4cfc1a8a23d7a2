//! Durations, moments and TTLs.

use std::time::Duration;

use tidegate_core::moment;
use tidegate_core::ttl::{OutOfRange, TtlRule, TtlSource, parse_duration};

use crate::input::Fields;

const MIN: Duration = Duration::from_secs(60);
const MAX: Duration = Duration::from_secs(30 * 86_400);
const DEFAULT: Duration = Duration::from_secs(86_400);

/// A text as a duration and as a moment, a pointer and a record: a TTL is within its bounds, or an error.
pub(crate) fn ttl(data: &[u8]) {
    let mut fields = Fields::new(data);
    let (text, pointer) = (fields.text(), fields.text());
    let century = Duration::from_secs(36_500 * 86_400);
    assert!(parse_duration(&text).map_or(true, |d| d <= century));
    for now in [i64::MIN, 0, 1_700_000_000_000, i64::MAX] {
        drop(moment::parse_moment(&text, now));
    }
    if let Ok(ms) = moment::parse(&text) {
        assert!(ms >= 0 && !moment::text(ms).is_empty());
    }
    let record = fields.record();
    let names = record.headers.iter().map(|header| header.name.clone());
    let mut sources: Vec<_> = names.map(TtlSource::Header).collect();
    sources.push(TtlSource::Json(pointer.into_owned()));
    for source in sources {
        for out_of_range in [OutOfRange::Clamp, OutOfRange::Reject] {
            let rule = TtlRule {
                default: DEFAULT,
                from: Some(source.clone()),
                min: MIN,
                max: MAX,
                out_of_range,
            };
            match rule.of(&record) {
                Ok(ttl) => assert!((MIN..=MAX).contains(&ttl), "{ttl:?}"),
                Err(bad) => assert!(!bad.to_string().is_empty()),
            }
        }
    }
}
