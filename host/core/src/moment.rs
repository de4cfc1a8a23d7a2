//! Moments as operators write them: an RFC 3339 timestamp, milliseconds since 1970, or how long ago.

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

/// Reads `2026-01-31T12:00:00Z`, or milliseconds since 1970 UTC, which it answers.
///
/// # Errors
/// Neither form, or a moment before 1970, where no record can be looked for.
pub fn parse(given: &str) -> Result<i64, String> {
    let ms = match given.parse::<i64>() {
        Ok(ms) => ms,
        Err(_) => {
            let parsed = given.parse::<jiff::Timestamp>();
            parsed
                .map_err(|_| {
                    format!(
                        "{given:?} is no moment; write for example 2026-01-31T12:00:00Z, or milliseconds since 1970"
                    )
                })?
                .as_millisecond()
        }
    };
    match ms {
        ms if ms < 0 => Err(format!("{given:?} is before 1970")),
        ms => Ok(ms),
    }
}

/// The moment in RFC 3339, UTC.
pub fn text(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms).map_or_else(|_| format!("{ms} ms"), |at| at.to_string())
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

    #[test]
    fn both_forms_mean_the_same_moment() {
        let ms = 1_769_860_800_000;
        assert_eq!(parse("2026-01-31T12:00:00Z"), Ok(ms));
        assert_eq!(parse("2026-01-31T13:00:00+01:00"), Ok(ms));
        assert_eq!(parse("2026-01-31T12:00:00.250Z"), Ok(ms + 250));
        assert_eq!(parse("1769860800000"), Ok(ms));
        assert_eq!(text(ms), "2026-01-31T12:00:00Z");
        assert_eq!(parse("0"), Ok(0));
    }

    #[test]
    fn what_is_no_moment_or_too_early_is_refused() {
        for bad in ["", "yesterday", "2026-01-31", "2026-13-01T00:00:00Z", "1e3"] {
            assert!(
                parse(bad).is_err_and(|text| text.contains("2026-01-31T12:00:00Z")),
                "{bad}"
            );
        }
        for early in ["-1", "1969-12-31T23:59:59Z"] {
            assert!(
                parse(early).is_err_and(|text| text.contains("1970")),
                "{early}"
            );
        }
    }
}
