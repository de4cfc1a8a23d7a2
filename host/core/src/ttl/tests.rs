//! Field case 7 and its neighbours: no TTL overflows, none panics.

use proptest::prelude::*;

use super::*;
use crate::testing::{header, null_header, record, with_headers, with_value};

const HOUR: Duration = Duration::from_secs(3600);
const MIN: Duration = Duration::from_secs(60);
const MAX: Duration = Duration::from_secs(86_400 * 30);

fn rule(from: TtlSource, out_of_range: OutOfRange) -> TtlRule {
    TtlRule {
        default: HOUR,
        from: Some(from),
        min: MIN,
        max: MAX,
        out_of_range,
    }
}

fn by_header(value: &[u8], out_of_range: OutOfRange) -> Result<Duration, BadTtl> {
    let rule = rule(TtlSource::Header("event-ttl".to_owned()), out_of_range);
    rule.of(&with_headers(vec![header("event-ttl", value)]))
}

fn by_json(value: &str) -> Result<Duration, BadTtl> {
    rule(TtlSource::Json("/ttl".to_owned()), OutOfRange::Clamp).of(&with_value(value.as_bytes()))
}

#[test]
fn good_ttls_are_taken() {
    for (text, seconds) in [
        ("60", 60),
        ("0000000000000000000000000000000000000000000000061", 61),
        ("P1W", 604_800),
        ("P1DT1H1M1S", 90_061),
        ("PT1.5H", 5400),
        ("PT2,5M", 150),
    ] {
        assert_eq!(
            by_header(text.as_bytes(), OutOfRange::Reject),
            Ok(Duration::from_secs(seconds)),
            "{text}"
        );
    }
}

#[test]
fn out_of_bounds_is_clamped_or_rejected() {
    for (text, bound) in [
        ("-1", MIN),
        ("0", MIN),
        ("PT0.0001S", MIN),
        ("-PT5M", MIN),
        ("99999999999999999999", MAX),
        ("PT99999999999999999999999999999999999999999999999999H", MAX),
        ("P31D", MAX),
    ] {
        assert_eq!(
            by_header(text.as_bytes(), OutOfRange::Clamp),
            Ok(bound),
            "{text}"
        );
        let rejected = by_header(text.as_bytes(), OutOfRange::Reject);
        assert!(
            matches!(rejected, Err(BadTtl::OutOfRange { .. })),
            "{text}: {rejected:?}"
        );
    }
}

#[test]
fn malformed_ttls_are_always_refused() {
    for text in [
        "", "1e30", "P", "PT", "P1DT", "P1M", "P1Y", "1.5", "+1", " 60", "60 ", "60s", "P1H",
        "PT1D", "PT1S1M", "P1D1D", "PT.5S", "PT5.S", "PT1.5H1M", "P1.5DT1M", "PTS", "p1d", "-",
        "--1", "PT1S ", "é", "Pé",
    ] {
        for rule in [OutOfRange::Clamp, OutOfRange::Reject] {
            let error = by_header(text.as_bytes(), rule);
            assert!(
                matches!(error, Err(BadTtl::Malformed { .. })),
                "{text}: {error:?}"
            );
        }
    }
    assert!(matches!(
        by_header(b"\xff", OutOfRange::Clamp),
        Err(BadTtl::NotUtf8(_))
    ));
}

#[test]
fn headers_agree_or_are_ambiguous() {
    let rule = rule(TtlSource::Header("t".to_owned()), OutOfRange::Clamp);
    let of = |headers| rule.of(&with_headers(headers));
    assert_eq!(of(vec![]), Ok(HOUR));
    assert_eq!(
        of(vec![header("t", b"90"), header("t", b"90")]),
        Ok(Duration::from_secs(90))
    );
    assert!(matches!(
        of(vec![header("t", b"90"), header("t", b"91")]),
        Err(BadTtl::Ambiguous(_))
    ));
    assert_eq!(of(vec![null_header("t")]), Ok(HOUR));
    assert_eq!(of(vec![null_header("t"), null_header("t")]), Ok(HOUR));
    assert!(matches!(
        of(vec![header("t", b"90"), null_header("t")]),
        Err(BadTtl::Ambiguous(_))
    ));
}

#[test]
fn json_ttls() {
    assert_eq!(by_json(r#"{"ttl":120}"#), Ok(Duration::from_secs(120)));
    assert_eq!(by_json(r#"{"ttl":"PT2M"}"#), Ok(Duration::from_secs(120)));
    assert_eq!(by_json(r#"{"ttl":-1}"#), Ok(MIN));
    assert_eq!(by_json(r#"{"ttl":99999999999999999999}"#), Ok(MAX));
    assert_eq!(by_json(r#"{"ttl":null}"#), Ok(HOUR));
    assert_eq!(by_json("{}"), Ok(HOUR));
    let tombstone = rule(TtlSource::Json("/ttl".to_owned()), OutOfRange::Clamp).of(&record());
    assert_eq!(tombstone, Ok(HOUR));
    for bad in [
        r#"{"ttl":1e30}"#,
        r#"{"ttl":1.5}"#,
        r#"{"ttl":true}"#,
        r#"{"ttl":[]}"#,
        "{",
        r#"{"ttl":""}"#,
    ] {
        assert!(
            matches!(by_json(bad), Err(BadTtl::Malformed { .. })),
            "{bad}"
        );
    }
}

#[test]
fn configured_durations() {
    for (text, millis) in [
        ("7d", 604_800_000),
        ("500ms", 500),
        ("0ms", 0),
        ("4h", 14_400_000),
        ("1h30m", 5_400_000),
        ("1w", 604_800_000),
        ("PT1M", 60_000),
        ("36500d", 3_153_600_000_000),
    ] {
        assert_eq!(
            parse_duration(text),
            Ok(Duration::from_millis(millis)),
            "{text}"
        );
    }
    for bad in [
        "",
        "7",
        "d",
        "1M",
        "1y",
        "P1M",
        "1mo",
        "1h 30m",
        "30m1h",
        "1h1h",
        "-1s",
        "-PT1S",
        "36501d",
        "1.5h",
        "5µs",
        "99999999999999999999999999999999999999999d",
    ] {
        assert!(parse_duration(bad).is_err(), "{bad}");
    }
    assert!(
        parse_duration("1M")
            .unwrap_err()
            .contains("no fixed length")
    );
}

proptest! {
    #[test]
    fn whatever_is_written_stays_in_bounds(text in "[-+PTWDHMSe0-9.,]{0,40}") {
        if let Ok(ttl) = by_header(text.as_bytes(), OutOfRange::Clamp) {
            prop_assert!((MIN..=MAX).contains(&ttl));
        }
        drop(parse_duration(&text));
    }

    #[test]
    fn bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        drop(by_header(&bytes, OutOfRange::Reject));
        drop(parse_duration(&String::from_utf8_lossy(&bytes)));
    }

    #[test]
    fn seconds_and_iso_agree(n in 60u64..86_400) {
        prop_assert_eq!(by_header(n.to_string().as_bytes(), OutOfRange::Reject), Ok(Duration::from_secs(n)));
        prop_assert_eq!(by_header(format!("PT{n}S").as_bytes(), OutOfRange::Reject), Ok(Duration::from_secs(n)));
    }
}
