//! Tables and JSON.

use super::super::views::{CountsView, Foreign, LetterDetail, LetterRow, OffsetRow};
use super::*;

fn letter() -> LetterRow {
    LetterRow {
        id: "abc".into(),
        consumer: "billing".into(),
        topic: "payments".into(),
        partition: 3,
        offset: 41,
        event_id: None,
        kind: "handler",
        code: "bad-event-id".into(),
        message: "line\n\u{1b}[2J".to_owned() + &"x".repeat(100),
        sqlstate: None,
        attempts: 1,
        replay_round: 0,
        unpublishable: None,
        refusal: None,
        state: "open".into(),
        created_at: "2026-01-01T00:00:00Z".into(),
        published_at: None,
        module_digest: None,
        tenant: None,
    }
}

#[test]
fn a_table_is_aligned_bounded_and_harmless() {
    let text = list(Format::Table, &[letter()], "none");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0].find("CODE"), lines[1].find("bad-event-id"));
    assert!(
        lines[0].contains("PART  OFFSET") && lines[1].contains("   3      41  -"),
        "{text}"
    );
    assert!(!text.contains('\u{1b}') && lines[1].ends_with('…'));
    assert_eq!(
        list::<LetterRow>(Format::Table, &[], "no letters"),
        "no letters"
    );
}

#[test]
fn json_is_complete() {
    let rows: serde_json::Value =
        serde_json::from_str(&list(Format::Json, &[letter()], "")).unwrap();
    assert_eq!(rows[0]["message"].as_str().unwrap().chars().count(), 109);
    assert!(rows[0]["event_id"].is_null());
    assert_eq!(list::<LetterRow>(Format::Json, &[], "no letters"), "[]");
}

#[test]
fn bytes_are_text_or_hexadecimal() {
    assert_eq!(bytes(None), "null");
    assert_eq!(bytes(Some(b"")), "");
    assert_eq!(bytes(Some("grün".as_bytes())), "grün");
    assert_eq!(bytes(Some(&[0xff, 0x00])), "0xff00");
}

#[test]
fn a_letter_shows_its_record_byte_for_byte() {
    let detail = LetterDetail {
        letter: letter(),
        cluster_id: "c".into(),
        former_ids: Vec::new(),
        unpublished_rounds: Vec::new(),
        closed_at: None,
        scope: String::new(),
        server_message: None,
        timestamp_ms: Some(5),
        key: None,
        value: Some(Foreign(vec![0xff])),
        headers: vec![
            ("k".into(), Some(Foreign(b"1".to_vec()))),
            ("k".into(), None),
            ("\u{1b}]0;x\u{7}\n".into(), None),
        ],
    };
    let text = one(Format::Table, &detail);
    assert!(text.contains("  0xff\n"), "{text}");
    assert!(
        text.contains("1\nheader k ") && text.contains("null\nheader \\u{1b}]0;x\\u{7}\\n  null"),
        "{text}"
    );
    let json: serde_json::Value = serde_json::from_str(&one(Format::Json, &detail)).unwrap();
    assert_eq!(json["value"]["hex"], "ff");
    assert_eq!(
        json["headers"],
        serde_json::json!([["k", "1"], ["k", null], ["\u{1b}]0;x\u{7}\n", null]])
    );
    assert_eq!(json["code"], "bad-event-id");
}

#[test]
fn offsets_name_their_counters_in_json() {
    let mut row = OffsetRow {
        consumer: "billing".into(),
        topic: "payments".into(),
        partition: 0,
        group: "billing".into(),
        kafka_committed: Some(5),
        next_offset: Some(7),
        acknowledged: None,
        low: Some(0),
        high: Some(10),
        lag: Some(3),
        state: "running".into(),
        owner: None,
        failing_offset: None,
        failing_attempts: None,
        stopped_for: None,
        counts: Some(CountsView {
            done: 7,
            skipped: 0,
            rejected: 0,
            redelivered: 2,
            republished: 0,
            taken_over: 0,
        }),
    };
    let json: serde_json::Value =
        serde_json::from_str(&list(Format::Json, std::slice::from_ref(&row), "")).unwrap();
    assert_eq!(
        (json[0]["lag"].as_i64(), json[0]["redelivered"].as_i64()),
        (Some(3), Some(2))
    );
    row.counts = None;
    assert!(list(Format::Table, &[row], "").contains("-"));
}
