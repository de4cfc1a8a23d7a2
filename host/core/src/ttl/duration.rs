//! Durations as text: whole seconds, ISO 8601, and the configuration's own spelling. Sums saturate.

use std::time::Duration;

/// A duration as it was written. What is too large to hold is the largest there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Amount {
    /// Below zero.
    Negative,
    /// Zero or more.
    Of(Duration),
}

const SECOND: u128 = 1_000_000_000;
const MINUTE: u128 = 60 * SECOND;
const HOUR: u128 = 60 * MINUTE;
const DAY: u128 = 24 * HOUR;
const WEEK: u128 = 7 * DAY;

/// The configuration's units, longest first.
const UNITS: [(&str, u128); 6] = [
    ("w", WEEK),
    ("d", DAY),
    ("h", HOUR),
    ("m", MINUTE),
    ("s", SECOND),
    ("ms", SECOND / 1000),
];

/// The longest duration that a configuration may name, in days: a hundred years. With it no clock overflows.
const MAX_DAYS: u128 = 36_500;

const NO_FIXED_LENGTH: &str = "years and months have no fixed length; use weeks or days";
const NOT_A_DURATION: &str = "whole seconds or an ISO 8601 duration such as PT4H is needed";

/// Reads a configured duration: `500ms`, `4h`, `1h30m` (units `w d h m s ms`, longest first), or ISO 8601.
///
/// # Errors
///
/// Says what is wrong with `text`; years and months are refused, and more than 36500 days.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let nanos = match iso(text) {
        Some(Ok(Amount::Of(duration))) => duration.as_nanos(),
        Some(Ok(Amount::Negative)) => return Err(format!("`{text}` is negative")),
        Some(Err(reason)) => return Err(format!("`{text}` is no duration: {reason}")),
        None => friendly(text).map_err(|reason| format!("`{text}` is no duration: {reason}"))?,
    };
    if nanos > MAX_DAYS * DAY {
        return Err(format!("`{text}` is longer than {MAX_DAYS}d"));
    }
    Ok(duration(nanos))
}

/// Reads a record's own: whole seconds or ISO 8601. The error says what is wrong, without the text.
pub(super) fn seconds_or_iso(text: &str) -> Result<Amount, &'static str> {
    if let Some(amount) = iso(text) {
        return amount;
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(NOT_A_DURATION);
    }
    Ok(if digits.len() < text.len() {
        Amount::Negative
    } else {
        Amount::Of(duration(number(digits).saturating_mul(SECOND)))
    })
}

fn friendly(text: &str) -> Result<u128, &'static str> {
    let (mut rest, mut units, mut sum) = (text, &UNITS[..], 0u128);
    while !rest.is_empty() {
        let (digits, after) = split_where(rest, |b| !b.is_ascii_digit());
        let (name, after) = split_where(after, |b| !b.is_ascii_alphabetic());
        if matches!(
            name,
            "M" | "mo" | "y" | "Y" | "month" | "months" | "year" | "years"
        ) {
            return Err(NO_FIXED_LENGTH);
        }
        let place = units.iter().position(|(unit, _)| *unit == name);
        let Some(place) = place.filter(|_| !digits.is_empty()) else {
            return Err("write numbers with units w, d, h, m, s, ms, longest first, such as 1h30m");
        };
        sum = sum.saturating_add(number(digits).saturating_mul(units[place].1));
        (rest, units) = (after, &units[place + 1..]);
    }
    if text.is_empty() {
        Err("it is empty")
    } else {
        Ok(sum)
    }
}

/// An ISO 8601 duration; none if `text` does not begin like one.
fn iso(text: &str) -> Option<Result<Amount, &'static str>> {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let body = unsigned.strip_prefix('P')?;
    Some(iso_body(body).map(|nanos| {
        if unsigned.len() < text.len() {
            Amount::Negative
        } else {
            Amount::Of(duration(nanos))
        }
    }))
}

fn iso_body(body: &str) -> Result<u128, &'static str> {
    let (days, time) = match body.split_once('T') {
        Some((_, "")) => return Err("nothing follows its T"),
        Some((days, time)) => (days, time),
        None => (body, ""),
    };
    if days.is_empty() && time.is_empty() {
        return Err("nothing follows its P");
    }
    if days.contains(['Y', 'M']) {
        return Err(NO_FIXED_LENGTH);
    }
    let (days, fraction) = components(days, &[('W', WEEK), ('D', DAY)])?;
    if fraction && !time.is_empty() {
        return Err("only its last number may have a fraction");
    }
    let (time, _) = components(time, &[('H', HOUR), ('M', MINUTE), ('S', SECOND)])?;
    Ok(days.saturating_add(time))
}

/// Sums numbers with designators, longest first, each at most once; says whether the last had a fraction.
fn components(text: &str, units: &[(char, u128)]) -> Result<(u128, bool), &'static str> {
    let (mut rest, mut units, mut sum, mut fraction) = (text, units, 0u128, false);
    while !rest.is_empty() {
        if fraction {
            return Err("only its last number may have a fraction");
        }
        let (digits, after) =
            split_where(rest, |b| !(b.is_ascii_digit() || matches!(b, b'.' | b',')));
        let mut after = after.chars();
        let designator = after.next();
        let place = units.iter().position(|(unit, _)| Some(*unit) == designator);
        let place = place.ok_or("it is no ISO 8601 duration")?;
        fraction = digits.contains(['.', ',']);
        sum = sum.saturating_add(decimal(digits, units[place].1)?);
        (rest, units) = (after.as_str(), &units[place + 1..]);
    }
    Ok((sum, fraction))
}

/// `digits`, perhaps with a fraction, times `unit`; beyond nine decimals the fraction is cut.
fn decimal(digits: &str, unit: u128) -> Result<u128, &'static str> {
    let (whole, fraction) = match digits.split_once(['.', ',']) {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (digits, None),
    };
    let well_formed = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !well_formed(whole) || fraction.is_some_and(|f| !well_formed(f)) {
        return Err("one of its numbers is malformed");
    }
    let nine: String = fraction
        .unwrap_or("")
        .chars()
        .chain("000000000".chars())
        .take(9)
        .collect();
    let part = number(&nine).saturating_mul(unit) / SECOND;
    Ok(number(whole).saturating_mul(unit).saturating_add(part))
}

fn number(digits: &str) -> u128 {
    digits.bytes().fold(0u128, |n, b| {
        n.saturating_mul(10)
            .saturating_add(u128::from(b.wrapping_sub(b'0')))
    })
}

fn split_where(text: &str, stop: impl Fn(u8) -> bool) -> (&str, &str) {
    // Every byte that does not stop is ASCII, so the cut is at a character's boundary.
    text.split_at(text.bytes().position(stop).unwrap_or(text.len()))
}

fn duration(nanos: u128) -> Duration {
    match (u64::try_from(nanos / SECOND), u32::try_from(nanos % SECOND)) {
        (Ok(seconds), Ok(nanos)) => Duration::new(seconds, nanos),
        (Err(_), _) | (_, Err(_)) => Duration::MAX,
    }
}
