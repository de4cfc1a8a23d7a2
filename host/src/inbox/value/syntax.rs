//! The spellings of numbers, dates and times that a parameter may use.
//!
//! PostgreSQL would take more (`now`, `1 January`), and would drop without a word what a type cannot hold (the
//! zone of a `timestamp`, the time of a `date`, the seventh digit of a second): those are refused here. Ranges
//! are the server's to check.

/// Whether `text` is a `numeric`: digits, point, exponent, `NaN` or `Infinity`.
pub(crate) fn is_numeric(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned, "Infinity" | "infinity") || text == "NaN" {
        return true;
    }
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    all_digits(whole)
        && all_digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && exponent.is_none_or(is_exponent)
}

fn is_exponent(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    !digits.is_empty() && all_digits(digits)
}

fn all_digits(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit())
}

/// Whether `text` is `YYYY-MM-DD`, more year digits and ` BC` included, or an infinity.
pub(crate) fn is_date(text: &str) -> bool {
    is_infinity(text) || is_day(text.strip_suffix(" BC").unwrap_or(text))
}

/// Whether `text` is `HH:MM`, `HH:MM:SS` or that with up to six digits after the point.
pub(crate) fn is_time(text: &str) -> bool {
    let (clock, fraction) = match text.split_once('.') {
        Some((clock, fraction)) => (clock, Some(fraction)),
        None => (text, None),
    };
    let fields = clock.split(':').collect::<Vec<_>>();
    let whole = matches!(fields.len(), 2 | 3) && fields.iter().all(|f| is_digits(f, 2..=2));
    whole && fraction.is_none_or(|f| fields.len() == 3 && is_digits(f, 1..=6))
}

/// Whether `text` is a date and a time, joined by a space or `T`, or an infinity.
pub(crate) fn is_timestamp(text: &str) -> bool {
    let text = text.strip_suffix(" BC").unwrap_or(text);
    is_infinity(text)
        || text
            .split_once([' ', 'T'])
            .is_some_and(|(day, time)| is_day(day) && is_time(time))
}

/// Whether `text` is a timestamp, with or without a zone; without one it is in UTC.
pub(crate) fn is_timestamptz(text: &str) -> bool {
    if is_timestamp(text) {
        return true;
    }
    let text = text.strip_suffix(" BC").unwrap_or(text);
    if let Some(utc) = text.strip_suffix('Z') {
        return !is_infinity(utc) && is_timestamp(utc);
    }
    let Some(sign) = text.rfind(['+', '-']) else {
        return false;
    };
    is_timestamp(&text[..sign]) && is_zone(&text[sign + 1..])
}

fn is_zone(text: &str) -> bool {
    let fields = text.split(':').collect::<Vec<_>>();
    fields.len() <= 3 && fields.iter().all(|f| is_digits(f, 2..=2))
        || fields.len() == 1 && is_digits(text, 4..=4)
}

fn is_day(text: &str) -> bool {
    let fields = text.split('-').collect::<Vec<_>>();
    matches!(fields[..], [year, month, day]
        if is_digits(year, 4..=7) && is_digits(month, 2..=2) && is_digits(day, 2..=2))
}

fn is_digits(text: &str, length: std::ops::RangeInclusive<usize>) -> bool {
    length.contains(&text.len()) && all_digits(text)
}

fn is_infinity(text: &str) -> bool {
    matches!(text, "infinity" | "-infinity")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numerics() {
        for good in [
            "0",
            "-1.50",
            ".5",
            "5.",
            "1e10",
            "1E-7",
            "NaN",
            "Infinity",
            "-Infinity",
            "+3",
        ] {
            assert!(is_numeric(good), "{good}");
        }
        for bad in ["", ".", "-", "1e", "0x10", "1_000", "nan ", "1.2.3", " 1"] {
            assert!(!is_numeric(bad), "{bad}");
        }
    }

    #[test]
    fn dates_and_times() {
        assert!(is_date("2024-02-29") && is_date("0044-03-15 BC") && is_date("infinity"));
        assert!(!is_date("now") && !is_date("2024-2-9") && !is_date("2024-02-29 10:00"));
        assert!(is_time("23:59:59.999999") && is_time("24:00:00") && is_time("10:00"));
        assert!(!is_time("10:00:00.1234567") && !is_time("10:00+02") && !is_time("10:00.5"));
    }

    #[test]
    fn timestamps() {
        assert!(
            is_timestamp("2024-02-29T10:00:00.5") && is_timestamp("294276-12-31 23:59:59.999999")
        );
        assert!(!is_timestamp("2024-02-29 10:00:00+02") && !is_timestamp("2024-02-29"));
        assert!(
            is_timestamptz("2024-02-29T10:00:00Z") && is_timestamptz("2024-02-29 10:00:00+05:30")
        );
        assert!(is_timestamptz("0044-03-15 10:00:00+00 BC") && is_timestamptz("-infinity"));
        assert!(!is_timestamptz("2024-02-29 10:00:00 CET") && !is_timestamptz("infinityZ"));
    }
}
