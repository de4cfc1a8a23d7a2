//! Identities in both modes, and all ways to have none.

use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::record::Header;
use crate::testing::{header, null_header, record};

const JSON: &[u8] = b"application/cloudevents+json; charset=utf-8";

fn binary(id: &[u8], source: &[u8]) -> Vec<Header> {
    vec![header("ce_id", id), header("ce_source", source)]
}

fn with(headers: Vec<Header>, value: Option<&str>) -> Record {
    Record {
        headers,
        value: value.map(|v| Bytes::copy_from_slice(v.as_bytes())),
        ..record()
    }
}

fn structured(value: &str) -> Record {
    with(vec![header("content-type", JSON)], Some(value))
}

/// The code and the message that an event without an identity gets.
fn refused(record: &Record) -> (&'static str, String) {
    let bad = identity(record).unwrap_err();
    (bad.code(), bad.to_string())
}

fn event(source: &str, id: &str) -> Identity {
    let (source, id) = (source.to_owned(), id.to_owned());
    Identity { source, id }
}

#[test]
fn an_event_has_one_identity_in_either_mode() {
    let value = r#"{"specversion":"1.0","id":"1\u00e9","type":"t","source":"/shop","data":{"id":7,"id":8}}"#;
    assert_eq!(identity(&structured(value)), Ok(event("/shop", "1\u{e9}")));
    let plain = |value| with(binary("1\u{e9}".as_bytes(), b"/shop"), value);
    assert_eq!(
        identity(&plain(Some("no JSON"))),
        Ok(event("/shop", "1\u{e9}"))
    );
    // In binary mode the value's own members say nothing.
    assert_eq!(
        identity(&plain(Some(r#"{"id":"2"}"#))),
        Ok(event("/shop", "1\u{e9}"))
    );
}

#[test]
fn a_tombstone_keeps_its_headers_id_whatever_its_content_type() {
    let types: [&[u8]; 4] = [
        JSON,
        b"application/cloudevents-batch+json",
        b"application/cloudevents+avro",
        b"a/b",
    ];
    for media in types {
        let mut headers = binary(b"1", b"/shop");
        headers.push(header("content-type", media));
        assert_eq!(identity(&with(headers, None)), Ok(event("/shop", "1")));
    }
    let bare = refused(&with(vec![header("content-type", JSON)], None));
    assert_eq!(bare.0, "cloudevents-source");
}

#[test]
fn every_way_to_have_no_identity_has_its_code() {
    let of = |source: &str, id: &str| structured(&format!("{{{source}{id}\"x\":0}}"));
    let good = (r#""source":"/shop","#, r#""id":"1","#);
    for (bad, words) in [
        ("", "holds no"),
        (r#""NAME":null,"#, "is null"),
        (r#""NAME":"","#, "is empty"),
        (r#""NAME":7,"#, "is a number"),
        (r#""NAME":["SECRET"],"#, "is an array"),
    ] {
        let (code, said) = refused(&of(&bad.replace("NAME", "source"), good.1));
        assert!(
            code == "cloudevents-source" && said.contains(words),
            "{code} {said}"
        );
        let (code, said) = refused(&of(good.0, &bad.replace("NAME", "id")));
        assert!(
            code == "cloudevents-id" && said.contains(words),
            "{code} {said}"
        );
        assert!(!said.contains("SECRET"), "{said}");
    }
    for headers in [
        vec![],
        vec![null_header("ce_source")],
        binary(b"1", b""),
        binary(b"1", b"\xff"),
    ] {
        assert_eq!(refused(&with(headers, Some("x"))).0, "cloudevents-source");
    }
    let no_id = vec![header("ce_source", b"/shop"), null_header("ce_id")];
    assert_eq!(refused(&with(no_id, Some("x"))).0, "cloudevents-id");
}

#[test]
fn a_name_that_stands_twice_is_no_name() {
    for value in [
        r#"{"id":"1","source":"/a","id":"1"}"#,
        r#"{"id":"1","source":"/a","sourc\u0065":"/b"}"#,
    ] {
        let (code, said) = refused(&structured(value));
        assert!(code == "bad-event-id" && said.contains("twice"), "{said}");
    }
}

#[test]
fn batches_and_other_formats_are_told_apart_from_what_cannot_be_read() {
    let of = |media: &[u8], value| refused(&with(vec![header("content-type", media)], Some(value)));
    assert_eq!(
        of(b"application/cloudevents-batch+json", "[]").0,
        "cloudevents-batch"
    );
    let (code, said) = of(b"application/cloudevents+protobuf", "x");
    assert!(
        code == "cloudevents-format" && said.contains("`protobuf`"),
        "{said}"
    );
    for (value, words) in [
        ("", "is empty"),
        ("SECRET", "is not JSON"),
        ("{} {}", "goes on"),
    ] {
        let (code, said) = refused(&structured(value));
        assert!(code == "bad-event-id" && said.contains(words), "{said}");
        assert!(!said.contains("SECRET"), "{said}");
    }
}

#[test]
fn headers_beside_the_value_agree_or_nothing_is_taken() {
    let both = |id: &[u8], source: &[u8]| {
        let mut record = structured(r#"{"id":"1","source":"/shop"}"#);
        record.headers.extend(binary(id, source));
        record
    };
    assert_eq!(identity(&both(b"1", b"/shop")), Ok(event("/shop", "1")));
    for other in [
        both(b"2", b"/shop"),
        both(b"1", b"/else"),
        both(b"", b"/shop"),
    ] {
        let (code, said) = refused(&other);
        assert!(code == "bad-event-id" && said.contains("differ"), "{said}");
    }
    let mut half = structured(r#"{"id":"1","source":"/shop"}"#);
    half.headers.push(null_header("ce_id"));
    assert_eq!(identity(&half), Ok(event("/shop", "1")));
}

#[test]
fn every_code_is_listed() {
    let all = [
        BadCloudEvent::Batch,
        BadCloudEvent::Format(String::new()),
        BadCloudEvent::Source(String::new()),
        BadCloudEvent::Id(String::new()),
    ];
    assert_eq!(all.map(|bad| bad.code()), BadCloudEvent::CODES);
}

proptest! {
    /// Whatever an event's attributes hold, both modes name the same event.
    #[test]
    fn both_modes_agree(id in "\\PC{1,20}|[\"\\\\\u{0}-\u{1f}]{1,8}", source in "\\PC{1,20}", data in ".{0,20}") {
        let value = serde_json::json!({"data": {"id": &data}, "source": &source, "id": &id}).to_string();
        let wanted = Ok(event(&source, &id));
        prop_assert_eq!(identity(&structured(&value)), wanted.clone());
        let headers = binary(id.as_bytes(), source.as_bytes());
        prop_assert_eq!(identity(&with(headers.clone(), Some(&data))), wanted.clone());
        prop_assert_eq!(identity(&with(headers, None)), wanted);
    }

    #[test]
    fn nothing_panics_and_every_refusal_says_why(
        value in prop::option::of(prop::collection::vec(any::<u8>(), 0..64)),
        media in "(application/cloudevents)?[-+;a-z ]{0,12}",
        id in prop::collection::vec(any::<u8>(), 0..8),
    ) {
        let mut headers = binary(&id, &id);
        headers.push(header("content-type", media.as_bytes()));
        let record = Record { headers, value: value.map(Bytes::from), ..record() };
        match identity(&record) {
            Ok(event) => prop_assert!(!event.id.is_empty() && !event.source.is_empty()),
            Err(bad) => prop_assert!(!bad.to_string().is_empty()),
        }
    }
}
