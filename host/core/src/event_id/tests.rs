//! Where event ids are found: every place, every way to be wrong.

use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::testing::{header, null_header, record, with_headers, with_value};

fn rule(parts: &[&str]) -> IdRule {
    let parts: Vec<String> = parts.iter().map(|p| (*p).to_owned()).collect();
    IdRule::parse(&parts, IdFormat::Bytes).unwrap()
}

fn id(rule: &IdRule, record: &Record) -> String {
    rule.extract(record).unwrap().as_str().to_owned()
}

#[test]
fn headers_are_read_byte_for_byte() {
    let rule = rule(&["header:event-id"]);
    let same = vec![
        header("k", b"1"),
        header("event-id", b"a"),
        header("event-id", b"a"),
    ];
    assert_eq!(id(&rule, &with_headers(same)), "a");
    let differ = vec![
        header("event-id", b"a"),
        header("k", b"2"),
        header("event-id", b"b"),
    ];
    let error = rule.extract(&with_headers(differ));
    assert!(matches!(error, Err(BadEventId::Ambiguous(_))), "{error:?}");
    let half_null = vec![header("event-id", b"a"), null_header("event-id")];
    let error = rule.extract(&with_headers(half_null));
    assert!(matches!(error, Err(BadEventId::Ambiguous(_))), "{error:?}");
}

#[test]
fn bad_headers_are_named() {
    let of = |h| rule(&["header:event-id"]).extract(&with_headers(h));
    assert!(matches!(of(vec![]), Err(BadEventId::Missing(_))));
    assert!(matches!(
        of(vec![header("Event-Id", b"a")]),
        Err(BadEventId::Missing(_))
    ));
    assert_eq!(of(vec![null_header("event-id")]), Err(BadEventId::Null));
    assert_eq!(of(vec![header("event-id", b"")]), Err(BadEventId::Empty));
    assert_eq!(
        of(vec![header("event-id", b"\xff")]),
        Err(BadEventId::NotUtf8)
    );
    assert_eq!(of(vec![header("event-id", b"a\0")]), Err(BadEventId::Nul));
    assert_eq!(
        of(vec![header("event-id", &[b'x'; 513])]),
        Err(BadEventId::TooLong(513))
    );
    assert!(of(vec![header("event-id", &[b'x'; 512])]).is_ok());
}

#[test]
fn json_ids_keep_their_digits() {
    let rule = rule(&["json:/id"]);
    for (value, wanted) in [
        (r#"{"id":"a"}"#, "a"),
        (r#"{"id":1}"#, "1"),
        (r#"{"id":1.0}"#, "1.0"),
        (r#"{"id":1E5}"#, "1E5"),
        (
            r#"{"id":123456789012345678901234567890}"#,
            "123456789012345678901234567890",
        ),
        (r#"{"x":"\u0000","id":-0}"#, "-0"),
    ] {
        assert_eq!(id(&rule, &with_value(value.as_bytes())), wanted);
    }
}

/// A number is the text that spells it: `1` is the id `"1"`, and other spellings of the same number are other ids.
#[test]
fn a_number_and_the_string_of_its_digits_are_one_id_and_its_other_spellings_are_others() {
    let rule = rule(&["json:/id"]);
    let of = |spelled: &str| {
        id(
            &rule,
            &with_value(format!(r#"{{"id":{spelled}}}"#).as_bytes()),
        )
    };
    assert_eq!(of("1"), of(r#""1""#));
    assert_eq!(of("1.0"), of(r#""1.0""#));
    for other in [
        "1.0", "1e0", "1E0", "1e+0", "10e-1", "\"01\"", "\" 1\"", "\"+1\"",
    ] {
        assert_ne!(of(other), of("1"), "{other}");
    }
}

#[test]
fn bad_json_ids_are_named_without_the_value() {
    let rule = rule(&["json:/id"]);
    let of = |v: &str| rule.extract(&with_value(v.as_bytes()));
    assert_eq!(of(r#"{"id":null}"#), Err(BadEventId::Null));
    assert_eq!(of(r#"{"id":""}"#), Err(BadEventId::Empty));
    assert_eq!(of(r#"{"id":"\u0000"}"#), Err(BadEventId::Nul));
    assert!(matches!(of("{}"), Err(BadEventId::Missing(_))));
    assert!(matches!(of("7"), Err(BadEventId::Missing(_))));
    assert!(matches!(
        rule.extract(&record()),
        Err(BadEventId::Missing(_))
    ));
    for bad in [
        r#"{"id":{}}"#,
        r#"{"id":[]}"#,
        r#"{"id":true}"#,
        "SECRET {",
        "",
    ] {
        let error = of(bad).unwrap_err();
        assert!(
            matches!(error, BadEventId::Malformed(_)),
            "{bad}: {error:?}"
        );
        assert!(!error.to_string().contains("SECRET"));
    }
}

#[test]
fn keys_positions_and_cloudevents() {
    let keyed = Record {
        key: Some(Bytes::from_static(b"k|1")),
        ..record()
    };
    assert_eq!(id(&rule(&["key"]), &keyed), "k|1");
    assert_eq!(rule(&["key"]).extract(&record()), Err(BadEventId::Null));
    assert_eq!(id(&rule(&["position"]), &record()), "orders-2-7");
    assert_eq!(id(&rule(&["position", "key"]), &keyed), r"orders-2-7|k\|1");
    let event = with_headers(vec![header("ce_id", b"1"), header("ce_source", b"/shop")]);
    assert_eq!(id(&rule(&["cloudevents"]), &event), "/shop|1");
    let structured = Record {
        headers: vec![header("content-type", b"application/cloudevents+json")],
        ..with_value(br#"{"id":"1","source":"/shop"}"#)
    };
    assert_eq!(id(&rule(&["cloudevents"]), &structured), "/shop|1");
    let half = with_headers(vec![header("ce_id", b"1")]);
    assert!(matches!(
        rule(&["cloudevents"]).extract(&half),
        Err(BadEventId::CloudEvent(_))
    ));
}

#[test]
fn spellings_of_a_uuid_are_one() {
    let rule = IdRule::parse(&["header:event-id".to_owned()], IdFormat::Uuid).unwrap();
    let of = |v: &str| rule.extract(&with_headers(vec![header("event-id", v.as_bytes())]));
    let plain = "0f4fd1ad-9c15-4f7a-a0c5-4a1b2c3d4e5f";
    for spelling in [
        plain.to_owned(),
        plain.to_uppercase(),
        format!("{{{plain}}}"),
        format!("urn:uuid:{plain}"),
        plain.replace('-', ""),
    ] {
        assert_eq!(of(&spelling).unwrap().as_str(), plain);
    }
    for other in [format!("{plain} "), "x".to_owned(), format!("{{{plain}")] {
        assert!(
            matches!(of(&other), Err(BadEventId::Malformed(_))),
            "{other}"
        );
    }
}

#[test]
fn wrong_rules_are_refused() {
    let parse = |parts: &[&str], format| {
        let parts: Vec<String> = parts.iter().map(|p| (*p).to_owned()).collect();
        IdRule::parse(&parts, format)
    };
    for bad in ["header:", "json:", "json:id", "Key", "", "header"] {
        assert!(parse(&[bad], IdFormat::Bytes).is_err(), "{bad}");
    }
    assert!(parse(&[], IdFormat::Bytes).is_err());
    assert!(parse(&["key", "json:/v"], IdFormat::Uuid).is_err());
    assert!(parse(&["cloudevents"], IdFormat::Uuid).is_err());
    assert_eq!(
        parse(&["header:a:b"], IdFormat::Bytes).unwrap().sources,
        [IdSource::Header("a:b".to_owned())]
    );
}

proptest! {
    #[test]
    fn joined_parts_are_unambiguous(
        a in prop::collection::vec(r"[ab|\\:]{1,4}", 1..4),
        b in prop::collection::vec(r"[ab|\\:]{1,4}", 1..4),
    ) {
        // A single part is taken as it stands, so only rules of one shape are compared.
        prop_assume!((a.len() == 1) == (b.len() == 1));
        prop_assert_eq!(a == b, join(a) == join(b));
    }

    #[test]
    fn nothing_panics(value in prop::collection::vec(any::<u8>(), 0..64), name in "[a-e/~0-9]{0,6}") {
        let rule = IdRule {
            sources: vec![IdSource::Json(name), IdSource::Header("h".to_owned())],
            format: IdFormat::Bytes,
        };
        let mut record = with_value(&value);
        record.headers.push(header("h", &value));
        drop(rule.extract(&record));
    }
}
