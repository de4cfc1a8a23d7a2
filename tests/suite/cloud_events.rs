//! CloudEvents in both content modes: one event, whichever way it is written.

use serde_json::json;
use tidegate_tests::{Consumer, Rec};

use crate::scene::{Counts, Scene, done_and_rejected};

const JSON: &str = "application/cloudevents+json";

/// The whole event in the value.
fn structured(source: &str, id: &str) -> Rec {
    let event = json!({"specversion": "1.0", "type": "paid", "source": source, "id": id,
        "amount_minor": 1, "account_id": 1});
    Rec::new(event.to_string()).to(0)
}

/// Source and id in headers.
fn binary(source: &str, id: &str) -> Rec {
    let data = json!({"amount_minor": 1, "account_id": 1, "id": "data's own"});
    let rec = Rec::new(data.to_string()).to(0);
    rec.header("ce_source", source).header("ce_id", id)
}

async fn consumer(scene: &Scene) -> Consumer {
    scene.consumer("rejects").await.dedup("id", "cloudevents")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_is_one_in_structured_and_in_binary_mode_by_the_content_type() {
    let scene = Scene::new("events-modes", 1, 1).await;
    let typed = |rec: Rec, media: &str| rec.header("content-type", media);
    scene
        .produce(vec![
            typed(structured("/shop", "1"), JSON),
            typed(
                structured("/shop", "1"),
                "Application/CloudEvents+JSON; charset=UTF-8",
            ),
            structured("/shop", "1").header("Content-Type", JSON),
            typed(binary("/shop", "1"), "application/json"),
            binary("/shop", "1"),
            // The same headers beside the value, as the specification allows.
            typed(structured("/shop", "2"), JSON)
                .header("ce_source", "/shop")
                .header("ce_id", "2"),
            typed(structured("/else", "1"), JSON).header("content-type", JSON),
        ])
        .await;
    let _host = scene.run(consumer(&scene).await).await;
    let expected = Counts {
        republished: 4,
        ..done_and_rejected(3, 0)
    };
    scene.wait_counts(expected).await;
    let ids = "SELECT event_id FROM tidegate.processed_events ORDER BY event_id";
    let ids = scene.env.db.query_text(ids).await.concat();
    let wanted = ["/else|1", "/shop|1", "/shop|2"].map(|id| Some(id.to_owned()));
    assert_eq!(ids, wanted);
}

/// A handler that does not know tombstones rejects one: by its letter's id it is seen that the headers named it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tombstone_keeps_its_headers_id_under_any_content_type() {
    let scene = Scene::new("events-tombstone", 1, 1).await;
    let tombstones = [JSON, "application/cloudevents-batch+json", "text/plain"];
    let tombstones = tombstones.iter().zip(["1", "2", "3"]);
    let tombstones = tombstones.map(|(media, id)| {
        let rec = binary("/shop", id).null_value();
        rec.header("content-type", *media)
    });
    scene.produce(tombstones.collect()).await;
    let _host = scene.run(consumer(&scene).await).await;
    scene.wait_counts(done_and_rejected(0, 3)).await;
    let ids: Vec<_> = scene
        .letters()
        .await
        .into_iter()
        .map(|l| l.event_id)
        .collect();
    assert_eq!(
        ids,
        ["/shop|1", "/shop|2", "/shop|3"].map(|id| Some(id.to_owned()))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_single_event_with_source_and_id_is_a_letter_with_a_code_of_its_own() {
    let scene = Scene::new("events-letters", 1, 1).await;
    let of = |media: &str, value: &str| Rec::new(value).to(0).header("content-type", media);
    let bad = [
        (
            "cloudevents-batch",
            of("application/cloudevents-batch+json", "[]"),
        ),
        (
            "cloudevents-format",
            of("application/cloudevents+avro", "x"),
        ),
        ("cloudevents-source", of(JSON, r#"{"id":"1"}"#)),
        ("cloudevents-source", of(JSON, r#"{"id":"1","source":7}"#)),
        ("cloudevents-id", of(JSON, r#"{"source":"/shop","id":""}"#)),
        (
            "cloudevents-source",
            Rec::new("x").to(0).header("ce_id", "1"),
        ),
        (
            "cloudevents-id",
            Rec::new("x").to(0).header("ce_source", "1"),
        ),
        (
            "bad-event-id",
            of(JSON, r#"{"source":"/shop","id":"1","id":"2"}"#),
        ),
        (
            "bad-event-id",
            of(JSON, r#"{"source":"/shop","id":"1"}"#).header("ce_id", "2"),
        ),
        (
            "bad-event-id",
            of(JSON, "{}").header("content-type", "text/plain"),
        ),
        ("bad-event-id", of(JSON, "\u{feff}{}")),
    ];
    let (codes, records): (Vec<_>, Vec<_>) = bad.into_iter().unzip();
    let rejected = i64::try_from(records.len()).unwrap();
    scene.produce(records).await;
    scene.produce(vec![binary("/shop", "good")]).await;
    let _host = scene.run(consumer(&scene).await.set("brake", "off")).await;
    scene.wait_counts(done_and_rejected(1, rejected)).await;
    let letters = scene.letters().await;
    let found: Vec<_> = letters.iter().map(|l| l.code.as_str()).collect();
    assert_eq!(found, codes, "{letters:?}");
    assert!(letters[1].message.contains("`avro`"), "{letters:?}");
    assert!(
        letters[10].message.contains("byte order mark"),
        "{letters:?}"
    );
}

/// What keeps a value from being read as JSON, by the place that reads it first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_letter_of_a_value_that_is_no_json_says_what_stands_in_the_way() {
    let scene = Scene::new("events-obstacles", 1, 1).await;
    let doc = r#"{"id":"SECRET"}"#;
    let utf16: Vec<u8> = doc.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let cases = [
        (["\u{feff}", doc].concat().into_bytes(), "byte order mark"),
        (utf16, "UTF-16"),
        (
            [&[0, 0, 0, 0, 42][..], doc.as_bytes()].concat(),
            "schema registry",
        ),
        ([doc, doc].concat().into_bytes(), "one document a record"),
        (doc.as_bytes()[..9].to_vec(), "in the middle"),
        (Vec::new(), "is empty"),
        (b"SECRET".to_vec(), "not JSON"),
    ];
    let (values, words): (Vec<_>, Vec<_>) = cases.into_iter().unzip();
    scene
        .produce(
            values
                .into_iter()
                .map(|value| Rec::new(value).to(0))
                .collect(),
        )
        .await;
    let consumer = scene.consumer("rejects").await.dedup("id", "json:/id");
    let host = scene.run(consumer).await;
    let rejected = i64::try_from(words.len()).unwrap();
    scene.wait_counts(done_and_rejected(0, rejected)).await;
    for (letter, words) in scene.letters().await.iter().zip(words) {
        assert!(
            letter.code == "bad-event-id" && letter.message.contains(words),
            "{letter:?}"
        );
        assert!(!letter.message.contains("SECRET"), "{letter:?}");
    }
    assert_eq!(host.log_count("SECRET"), 0);
}
