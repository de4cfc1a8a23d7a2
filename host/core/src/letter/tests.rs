//! What a dead letter carries.

use proptest::prelude::*;

use super::*;
use crate::record::{Header, Timestamp};
use crate::testing::{header, null_header, record, with_headers};

fn cause(message: &str) -> Cause {
    Cause {
        code: "sql-23505".into(),
        message: message.into(),
        sqlstate: Some("23505".into()),
        attempts: 2,
    }
}

fn facts<'a>(record: &'a Record, cause: &'a Cause) -> LetterFacts<'a> {
    LetterFacts {
        id: "1d",
        consumer: "billing",
        cluster_id: "A",
        record,
        cause,
        event_id: Some("e"),
        module_digest: Some(&[0xab, 0x01]),
        rejected_at_ms: 1_700_000_000_123,
    }
}

fn texts(headers: &[Header]) -> Vec<(&str, &str)> {
    let text = |h: &'static [u8]| std::str::from_utf8(h).unwrap();
    let of = |h: &Header| text(h.value.clone().unwrap().to_vec().leak());
    headers.iter().map(|h| (h.name.as_str(), of(h))).collect()
}

#[test]
fn every_fact_has_its_header() {
    let (record, cause) = (record(), cause("twice"));
    let wanted = [
        ("tidegate-dead-letter-id", "1d"),
        ("tidegate-consumer", "billing"),
        ("tidegate-cluster-id", "A"),
        ("tidegate-topic", "orders"),
        ("tidegate-partition", "2"),
        ("tidegate-offset", "7"),
        ("tidegate-timestamp", "1700000000000"),
        ("tidegate-timestamp-type", "create"),
        ("tidegate-error-code", "sql-23505"),
        ("tidegate-error-message", "twice"),
        ("tidegate-sqlstate", "23505"),
        ("tidegate-attempts", "2"),
        ("tidegate-event-id", "e"),
        ("tidegate-module-digest", "ab01"),
        ("tidegate-rejected-at", "2023-11-14T22:13:20.123Z"),
    ];
    assert_eq!(texts(&headers(&facts(&record, &cause))), wanted);
}

#[test]
fn the_records_own_stay_and_inbound_ones_under_the_prefix_go() {
    let own = vec![
        header("k", b"\xff"),
        null_header("k"),
        header("k", b"\xff"),
        header("tidegate", b"1"),
    ];
    let mut all = own.clone();
    all.insert(1, header("Tidegate-Offset", b"99"));
    all.insert(3, header("tidegate-x", b"1"));
    let (record, cause) = (with_headers(all), cause("m"));
    let made = headers(&facts(&record, &cause));
    assert_eq!(made[..4], own);
    assert_eq!(
        made.iter()
            .filter(|h| h.name.eq_ignore_ascii_case("tidegate-offset"))
            .count(),
        1
    );
    // A published letter that is rejected once more carries each header once again.
    let second = Record {
        headers: made.clone(),
        ..record
    };
    assert_eq!(headers(&facts(&second, &cause)), made);
}

#[test]
fn what_is_unknown_has_no_header() {
    let record = Record {
        timestamp: Timestamp::Unknown,
        ..record()
    };
    let cause = Cause {
        sqlstate: None,
        ..cause("m")
    };
    let facts = LetterFacts {
        event_id: None,
        module_digest: None,
        ..facts(&record, &cause)
    };
    let made = headers(&facts);
    let names: Vec<_> = made.iter().map(|h| h.name.as_str()).collect();
    for absent in [
        "tidegate-sqlstate",
        "tidegate-event-id",
        "tidegate-module-digest",
    ] {
        assert!(!names.contains(&absent), "{absent}");
    }
    assert!(texts(&made).contains(&("tidegate-timestamp", "-1")));
    assert!(texts(&made).contains(&("tidegate-timestamp-type", "none")));
}

#[test]
fn bad_ids_and_ttls_have_their_codes() {
    let cause = Cause::from(BadEventId::Empty);
    assert_eq!((cause.code.as_str(), cause.attempts), ("bad-event-id", 0));
    assert_eq!(
        Cause::from(BadTtl::Null("`header:t`".into())).code,
        "bad-ttl"
    );
}

fn orders(partition: i32) -> TopicPartition {
    TopicPartition {
        topic: "orders".into(),
        partition,
    }
}

#[test]
fn ids_are_stable_and_apart() {
    let id = letter_id("billing", ("A", 0), &orders(2), 7, 0);
    // Letters already published carry ids made this way: the bytes hashed must never change.
    assert_eq!(
        id,
        "953c941e07dc645ef77e216405334022d331b5b38c04eef85f408431633f973d"
    );
    let others = [
        letter_id("billin", ("gA", 0), &orders(2), 7, 0),
        letter_id("billing", ("A", 0), &orders(3), 7, 0),
        letter_id("billing", ("A", 0), &orders(2), 8, 0),
        letter_id("billing", ("A", 0), &orders(2), 7, 1),
        letter_id("billing", ("A", 1), &orders(2), 7, 0),
        letter_id("billing", ("A", 2), &orders(2), 7, 0),
    ];
    assert!(others.iter().all(|other| *other != id));
}

proptest! {
    #[test]
    fn headers_are_bounded_and_never_panic(message in ".{0,2000}", at: i64, name in ".{0,20}") {
        let (record, cause) = (with_headers(vec![header(&name, b"x")]), cause(&message));
        let facts = LetterFacts { rejected_at_ms: at, ..facts(&record, &cause) };
        for header in headers(&facts) {
            let value = header.value.unwrap();
            prop_assert!(value.len() <= MAX_HEADER_MESSAGE_BYTES);
            prop_assert!(std::str::from_utf8(&value).is_ok());
        }
    }
}
