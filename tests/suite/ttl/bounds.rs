//! TTLs out of bounds, and those that cannot be read: never a neighbour's trouble.

use tidegate_tests::Rec;

use super::ttl_of;
use crate::scene::{Scene, done_and_rejected, pay};

/// The field's list, and what becomes of each where bounds are taken: a TTL in seconds, or a letter.
const FIELD: [(&str, &[u8], Option<i64>); 14] = [
    ("negative", b"-1", Some(10)),
    ("zero", b"0", Some(10)),
    ("exponent", b"1e30", None),
    ("nines", b"99999999999999999999", Some(7_200)),
    ("p", b"P", None),
    ("month", b"P1M", None),
    ("year", b"P1Y", None),
    ("fraction", b"PT0.0001S", Some(10)),
    ("huge", b"P99999999999999999999D", Some(7_200)),
    ("negative-iso", b"-PT1H", Some(10)),
    ("empty", b"", None),
    ("bytes", b"\xff\xff", None),
    ("words", b"one hour", None),
    ("nul", b"60\0", None),
];

/// Whole and within 10 s to 2 h: fine either way.
const WITHIN: [(&str, &[u8], i64); 3] = [
    ("shortest", b"10", 10),
    ("middle", b"PT1H", 3_600),
    ("longest", b"PT2H", 7_200),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn odd_ttls_are_clamped_or_rejected_one_by_one() {
    let scene = run("ttl-clamp", "clamp").await;
    let rejected = FIELD.iter().filter(|(_, _, ttl)| ttl.is_none()).count();
    let rejected = i64::try_from(rejected).unwrap() + 1;
    scene
        .wait_counts(done_and_rejected(all_records() - rejected, rejected))
        .await;
    for (id, _, ttl) in FIELD {
        assert_eq!(ttl_of(&scene, id).await, ttl, "{id}");
    }
    finish(&scene, rejected).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn odd_ttls_are_all_rejected_where_bounds_reject() {
    let scene = run("ttl-reject", "reject").await;
    let rejected = i64::try_from(FIELD.len()).unwrap() + 1;
    scene
        .wait_counts(done_and_rejected(all_records() - rejected, rejected))
        .await;
    for (id, ..) in FIELD {
        assert_eq!(ttl_of(&scene, id).await, None, "{id}");
    }
    finish(&scene, rejected).await;
}

/// One batch: good records around each odd one.
async fn run(name: &str, out_of_range: &str) -> Scene {
    let scene = Scene::new(name, 1, 1).await;
    let ttl = |id: &str, ttl: &[u8]| pay(1, id, "").header("event-ttl", ttl.to_vec());
    let mut records: Vec<Rec> = Vec::new();
    for (id, value, _) in FIELD {
        records.push(pay(1, &format!("before-{id}"), ""));
        records.push(ttl(id, value));
    }
    records.extend(WITHIN.map(|(id, value, _)| ttl(id, value)));
    records.push(ttl("ambiguous", b"60").header("event-ttl", "61"));
    records.push(pay(1, "null", "").null_header("event-ttl"));
    scene.produce(records).await;
    let consumer = scene.consumer("rejects").await;
    let consumer = consumer
        .dedup("ttl", "1h")
        .dedup("ttl_from", "header:event-ttl")
        .dedup("min_ttl", "10s")
        .dedup("max_ttl", "2h")
        .dedup("ttl_out_of_range", out_of_range);
    let host = scene.run(consumer).await;
    host.wait_log("position taken", crate::scene::PATIENCE)
        .await;
    let mut scene = scene;
    scene.keep(host);
    scene
}

fn all_records() -> i64 {
    i64::try_from(2 * FIELD.len() + WITHIN.len() + 2).unwrap()
}

async fn finish(scene: &Scene, rejected: i64) {
    for (id, _, ttl) in WITHIN {
        assert_eq!(ttl_of(scene, id).await, Some(ttl), "{id}");
    }
    // Null is "none": the consumer's TTL. Empty, in the list above, is a letter.
    assert_eq!(ttl_of(scene, "null").await, Some(3_600));
    let codes = scene.codes().await;
    assert_eq!(codes, vec!["bad-ttl"; usize::try_from(rejected).unwrap()]);
    let letters = scene.letters().await;
    let texts: Vec<_> = letters.iter().map(|l| l.message.as_str()).collect();
    assert!(texts.iter().all(|text| text.contains("TTL")), "{texts:?}");
    assert_eq!(scene.balance(1).await, all_records() - rejected);
}
