//! What a dead letter carries.

use proptest::prelude::*;

use super::*;
use crate::record::{Header, Timestamp};
use crate::testing::{header, null_header, record, with_headers};

fn cause(message: &str) -> Cause {
    Cause {
        kind: CauseKind::Database,
        code: "sql-23505".into(),
        message: message.into(),
        server: Some("Ada's words".into()),
        sqlstate: Some("23505".into()),
        attempts: 2,
    }
}

fn facts<'a>(record: &'a Record, cause: &'a Cause) -> LetterFacts<'a> {
    LetterFacts {
        id: "1d",
        consumer: "billing",
        group: "billing-group",
        cluster_id: "A",
        record,
        cause,
        replay_round: 2,
        event_id: Some("e"),
        tenant: Some("acme"),
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
        ("tidegate-error-kind", "database"),
        ("tidegate-error-code", "sql-23505"),
        ("tidegate-error-message", "twice"),
        ("tidegate-sqlstate", "23505"),
        ("tidegate-attempts", "2"),
        ("tidegate-replay-round", "2"),
        ("tidegate-event-id", "e"),
        ("tidegate-tenant", "acme"),
        ("tidegate-module-digest", "ab01"),
        ("tidegate-rejected-at", "2023-11-14T22:13:20.123Z"),
    ];
    assert_eq!(
        texts(&headers(Profile::Tidegate, &facts(&record, &cause))),
        wanted
    );
}

#[test]
fn spring_gets_its_names_and_big_endian_numbers() {
    let (record, cause) = (record(), cause("twice"));
    let id = header("tidegate-dead-letter-id", b"1d");
    let wanted: [(&str, &[u8]); 10] = [
        ("original-topic", b"orders"),
        ("original-partition", b"\0\0\0\x02"),
        ("original-offset", b"\0\0\0\0\0\0\0\x07"),
        // 1,700,000,000,000
        ("original-timestamp", b"\0\0\x01\x8b\xcf\xe5\x68\0"),
        ("original-timestamp-type", b"CreateTime"),
        ("original-consumer-group", b"billing-group"),
        ("exception-fqcn", b"sql-23505"),
        ("exception-cause-fqcn", b"23505"),
        ("exception-message", b"twice"),
        ("exception-stacktrace", b"twice"),
    ];
    let wanted = wanted.map(|(name, value)| header(&format!("kafka_dlt-{name}"), value));
    let made = headers(Profile::Spring, &facts(&record, &cause));
    assert_eq!(made, [vec![id], wanted.to_vec()].concat());
    let unknown = Record {
        timestamp: Timestamp::Unknown,
        ..record
    };
    let made = headers(Profile::Spring, &facts(&unknown, &cause));
    assert_eq!(made[4].value.as_deref(), Some(&[0xff; 8][..]));
    assert_eq!(
        made[5],
        header("kafka_dlt-original-timestamp-type", b"NoTimestampType")
    );
}

#[test]
fn connect_gets_its_names_in_text() {
    let (record, cause) = (record(), cause("twice"));
    let wanted = [
        ("tidegate-dead-letter-id", "1d"),
        ("__connect.errors.topic", "orders"),
        ("__connect.errors.partition", "2"),
        ("__connect.errors.offset", "7"),
        ("__connect.errors.connector.name", "billing"),
        ("__connect.errors.task.id", "0"),
        ("__connect.errors.stage", "TASK_PUT"),
        ("__connect.errors.class.name", "ab01"),
        ("__connect.errors.exception.class.name", "sql-23505"),
        ("__connect.errors.exception.message", "twice"),
        ("__connect.errors.exception.stacktrace", "twice"),
    ];
    let made = headers(Profile::Connect, &facts(&record, &cause));
    assert_eq!(texts(&made), wanted);
}

#[test]
fn each_profile_replaces_its_own_names_and_leaves_the_others() {
    let inbound = vec![
        header("kafka_dlt-exception-fqcn", b"old"),
        header("__connect.errors.stage", b"old"),
        header("tidegate-dead-letter-id", b"forged"),
        header("k", b"v"),
    ];
    let (record, cause) = (with_headers(inbound.clone()), cause("m"));
    for (profile, kept) in [
        (Profile::Tidegate, vec![0, 1, 3]),
        (Profile::Spring, vec![1, 3]),
        (Profile::Connect, vec![0, 3]),
    ] {
        let kept: Vec<_> = kept
            .into_iter()
            .map(|n: usize| inbound[n].clone())
            .collect();
        let made = headers(profile, &facts(&record, &cause));
        assert_eq!(made[..kept.len()], kept, "{profile:?}");
        assert_eq!(made[kept.len()], header(ID, b"1d"), "{profile:?}");
        let second = with_headers(made.clone());
        assert_eq!(
            headers(profile, &facts(&second, &cause)),
            made,
            "{profile:?}"
        );
    }
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
    let made = headers(Profile::Tidegate, &facts(&record, &cause));
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
    assert_eq!(headers(Profile::Tidegate, &facts(&second, &cause)), made);
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
        tenant: None,
        module_digest: None,
        ..facts(&record, &cause)
    };
    let made = headers(Profile::Tidegate, &facts);
    let names: Vec<_> = made.iter().map(|h| h.name.as_str()).collect();
    for absent in [
        "tidegate-sqlstate",
        "tidegate-event-id",
        "tidegate-tenant",
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
        Cause::from(BadTtl::NotUtf8("`header:t`".into())).code,
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
    fn headers_are_bounded_and_never_panic(message in ".{0,6000}", at: i64, name in ".{0,20}") {
        let (record, cause) = (with_headers(vec![header(&name, b"x")]), cause(&message));
        let facts = LetterFacts { rejected_at_ms: at, ..facts(&record, &cause) };
        for profile in [Profile::Tidegate, Profile::Spring, Profile::Connect] {
            for header in headers(profile, &facts) {
                let value = header.value.unwrap();
                prop_assert!(value.len() <= MAX_TRACE_BYTES);
                let text = !header.name.starts_with("kafka_dlt-original-");
                prop_assert!(!text || std::str::from_utf8(&value).is_ok());
            }
        }
    }
}

#[test]
fn a_row_keeps_what_the_server_said_apart() {
    let told = Cause {
        message: "unique_violation (SQLSTATE 23505), table `t`".into(),
        ..cause("")
    };
    let again = |cause: &Cause| {
        let (code, sqlstate) = (cause.code.clone(), cause.sqlstate.clone());
        Cause::from_row(cause.kind, code, cause.text(), sqlstate, cause.attempts)
    };
    assert_eq!(again(&told), told);
    let codes = Cause {
        server: None,
        ..told.clone()
    };
    assert_eq!(again(&codes), codes);
    let guests = Cause {
        sqlstate: None,
        ..Cause {
            message: "two\nlines".into(),
            ..codes
        }
    };
    assert_eq!(again(&guests), guests);
    // A row of before: all of it is the server's.
    let (code, sqlstate) = ("sql-23505".into(), Some("23505".into()));
    let old = Cause::from_row(CauseKind::Database, code, "Ada".into(), sqlstate, 2);
    assert_eq!(old.message, "unique_violation (SQLSTATE 23505)");
    assert_eq!(old.server, Some("Ada".into()));
}

#[test]
fn what_the_server_said_is_in_no_header() {
    let (record, cause) = (record(), cause("words"));
    for profile in [Profile::Tidegate, Profile::Spring, Profile::Connect] {
        let made = headers(profile, &facts(&record, &cause));
        let told = made.iter().filter_map(|header| header.value.as_deref());
        assert!(
            told.flat_map(|value| value.windows(3))
                .all(|part| part != b"Ada")
        );
    }
}
