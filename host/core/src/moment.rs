//! Moments as operators write them: an RFC 3339 timestamp, or how long ago.

use crate::ttl::parse_duration;

/// Reads `2026-05-01T12:00:00Z` or, for two hours before `now_ms`, `2h`. Milliseconds since 1970 UTC.
///
/// # Errors
/// The text is neither, in words.
pub fn parse_moment(text: &str, now_ms: i64) -> Result<i64, String> {
    if let Ok(moment) = text.parse::<jiff::Timestamp>() {
        return Ok(moment.as_millisecond());
    }
    let ago = parse_duration(text).ok().map(|ago| ago.as_millis());
    ago.and_then(|ms| i64::try_from(ms).ok())
        .map(|ms| now_ms.saturating_sub(ms))
        .ok_or_else(|| {
            format!(
                "{text:?} is no moment; write for example \"2h\" (ago) or \"2026-05-01T12:00:00Z\""
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_is_itself_and_a_duration_is_ago() {
        let now = 1_700_000_000_000;
        let of = |text: &str| parse_moment(text, now);
        assert_eq!(of("2023-11-14T22:13:20Z"), Ok(now));
        assert_eq!(of("2023-11-14T23:13:20+01:00"), Ok(now));
        assert_eq!(of("2h"), Ok(now - 7_200_000));
        assert_eq!(of("PT30M"), Ok(now - 1_800_000));
        for bad in ["", "soon", "2023-11-14", "2023-11-14T22:13:20"] {
            assert!(of(bad).is_err(), "{bad}");
        }
    }
}
