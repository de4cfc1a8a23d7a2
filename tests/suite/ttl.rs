//! TTL: within it an event is a duplicate, after it new again, by design.

mod bounds;
mod race;

use tidegate_tests::{Rec, wait_eq};

use crate::scene::{Counts, PATIENCE, Scene, done_and_rejected, pay};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_is_handled_first_skipped_within_its_ttl_and_handled_again_after_it() {
    let scene = Scene::new("ttl", 1, 2).await;
    let long = || pay(1, "long", "").header("event-ttl", "3600");
    let short = || pay(2, "short", "").header("event-ttl", "1");
    scene.produce(vec![long(), short()]).await;
    let consumer = scene.consumer("rejects").await;
    let consumer = consumer
        .dedup("ttl_from", "header:event-ttl")
        .dedup("grace", "1h")
        .batch("max_wait", "0ms");
    let _host = scene.run(consumer).await;
    scene.wait_counts(done_and_rejected(2, 0)).await;

    scene.produce(vec![long()]).await;
    let within = Counts {
        republished: 1,
        ..done_and_rejected(2, 0)
    };
    scene.wait_counts(within).await;
    wait_eq(PATIENCE, "expired claims", 1, async || {
        let sql = "SELECT count(*) FROM tidegate.processed_events WHERE processed_until <= now()";
        scene.env.db.query_one_i64(sql).await
    })
    .await;

    scene.produce(vec![long(), short(), short()]).await;
    let after = Counts {
        done: 3,
        republished: 3,
        taken_over: 1,
        ..Counts::default()
    };
    scene.wait_counts(after).await;
    assert_eq!(scene.journal().await, [1, 2, 2]);
    let sql = "SELECT replaced, \"offset\" FROM tidegate.processed_events WHERE event_id = 'short'";
    let rows = scene.env.db.query_text(sql).await;
    assert_eq!(rows, [[Some("done".to_owned()), Some("4".to_owned())]]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_header_sets_the_ttl_of_its_record() {
    let cases = [
        ("3600", 3_600),
        ("PT2H", 7_200),
        ("P1D", 86_400),
        ("P2W", 14 * 86_400),
        ("P1DT1H1M1S", 86_400 + 3_661),
    ];
    let mut records: Vec<Rec> = Vec::new();
    for (id, _) in cases {
        records.push(pay(1, id, "").header("event-ttl", id));
    }
    records.push(pay(1, "none", ""));
    let twice = pay(1, "twice", "").header("event-ttl", "60");
    records.push(twice.header("event-ttl", "60"));
    let mut expected = cases.map(|(id, ttl)| (id, ttl)).to_vec();
    expected.extend([("none", 5 * 3_600), ("twice", 60)]);
    assert_ttls("ttl-header", "header:event-ttl", records, &expected).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_payload_sets_the_ttl_of_its_record() {
    let record = |id: &str, ttl: &str| {
        let value = format!(r#"{{"amount_minor":1,"account_id":1,"meta":{{"ttl":{ttl}}}}}"#);
        Rec::new(value).to(0).event_id(id)
    };
    let records = vec![
        record("number", "90"),
        record("text", "\"120\""),
        record("iso", "\"PT4H\""),
        record("null", "null"),
        pay(1, "none", ""),
    ];
    let expected = [
        ("number", 90),
        ("text", 120),
        ("iso", 14_400),
        ("null", 5 * 3_600),
        ("none", 5 * 3_600),
    ];
    assert_ttls("ttl-payload", "json:/meta/ttl", records, &expected).await;
}

/// Every record is done, and its claim lasts exactly so many seconds.
async fn assert_ttls(name: &str, from: &str, records: Vec<Rec>, expected: &[(&str, i64)]) {
    let scene = Scene::new(name, 1, 1).await;
    let done = i64::try_from(records.len()).unwrap();
    scene.produce(records).await;
    let consumer = scene.consumer("rejects").await;
    let consumer = consumer.dedup("ttl_from", from).dedup("ttl", "5h");
    let _host = scene.run(consumer).await;
    scene.wait_counts(done_and_rejected(done, 0)).await;
    for (id, ttl) in expected {
        assert_eq!(ttl_of(&scene, id).await, Some(*ttl), "{id}");
    }
}

/// How long the claim on `id` lasts, in whole seconds.
async fn ttl_of(scene: &Scene, id: &str) -> Option<i64> {
    let sql = format!(
        "SELECT extract(epoch FROM processed_until - processed_at)::bigint
           FROM tidegate.processed_events WHERE event_id = '{id}'"
    );
    scene.env.db.query_i64(&sql).await
}
