//! Dates and times from their binary form to the text that PostgreSQL prints under `DateStyle = ISO`.
//!
//! Own civil-date arithmetic, since PostgreSQL's range (4713 BC to 294276 AD) is wider than a calendar
//! library's.

const DAY: i64 = 86_400_000_000;

/// A `date`: days since 2000-01-01.
pub(crate) fn date(days: i32) -> String {
    match days {
        i32::MAX => "infinity".to_owned(),
        i32::MIN => "-infinity".to_owned(),
        days => {
            let (day, era) = civil(i64::from(days));
            format!("{day}{era}")
        }
    }
}

/// A `time`: microseconds since midnight; 24:00:00 included.
pub(crate) fn time(micros: i64) -> String {
    let seconds = micros / 1_000_000;
    let clock = format!(
        "{:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    );
    match micros % 1_000_000 {
        0 => clock,
        fraction => format!("{clock}.{}", format!("{fraction:06}").trim_end_matches('0')),
    }
}

/// A `timestamp`: microseconds since 2000-01-01 00:00:00.
pub(crate) fn timestamp(micros: i64) -> String {
    zoned(micros, "")
}

/// A `timestamptz`, in UTC.
pub(crate) fn timestamptz(micros: i64) -> String {
    zoned(micros, "+00")
}

fn zoned(micros: i64, zone: &str) -> String {
    match micros {
        i64::MAX => "infinity".to_owned(),
        i64::MIN => "-infinity".to_owned(),
        micros => {
            let (day, era) = civil(micros.div_euclid(DAY));
            format!("{day} {}{zone}{era}", time(micros.rem_euclid(DAY)))
        }
    }
}

/// `YYYY-MM-DD` and ` BC` where it applies. Years are counted from March, so that the leap day ends one, in
/// cycles of 400 years, which all have 146,097 days.
fn civil(days_since_2000: i64) -> (String, &'static str) {
    let days = days_since_2000 + 730_425; // since 1 March of the year 0
    let cycle = days.div_euclid(146_097);
    let day_of_cycle = days.rem_euclid(146_097);
    let leap_days = day_of_cycle / 1_460 - day_of_cycle / 36_524 + day_of_cycle / 146_096;
    let year_of_cycle = (day_of_cycle - leap_days) / 365;
    let day_of_year =
        day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = cycle * 400 + year_of_cycle + i64::from(month <= 2);
    match year {
        year if year > 0 => (format!("{year:04}-{month:02}-{day:02}"), ""),
        year => (format!("{:04}-{month:02}-{day:02}", 1 - year), " BC"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(date(0), "2000-01-01");
        assert_eq!(date(59), "2000-02-29");
        assert_eq!(date(-1), "1999-12-31");
        assert_eq!(date(366), "2001-01-01");
        assert_eq!(date(-730_119), "0001-01-01");
        assert_eq!(date(-730_120), "0001-12-31 BC");
        assert_eq!(date(-2_451_545), "4714-11-24 BC");
        assert_eq!(date(i32::MAX), "infinity");
    }

    #[test]
    fn times() {
        assert_eq!(time(0), "00:00:00");
        assert_eq!(time(DAY), "24:00:00");
        assert_eq!(time(DAY - 1), "23:59:59.999999");
        assert_eq!(time(1_500_000), "00:00:01.5");
    }

    #[test]
    fn timestamps() {
        assert_eq!(timestamp(-1), "1999-12-31 23:59:59.999999");
        assert_eq!(
            timestamptz(9_223_371_331_199_999_999),
            "294276-12-31 23:59:59.999999+00"
        );
        assert_eq!(
            timestamptz(-211_813_488_000_000_000),
            "4714-11-24 00:00:00+00 BC"
        );
        assert_eq!(timestamp(i64::MIN), "-infinity");
    }
}
