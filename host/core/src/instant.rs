//! A moment as an operator writes it: RFC 3339, or milliseconds since 1970 UTC.

/// Milliseconds since 1970 UTC.
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
