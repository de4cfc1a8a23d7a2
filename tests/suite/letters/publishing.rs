//! The relay: a dead letter topic that is not there, and records with strange timestamps.

use std::time::{SystemTime, UNIX_EPOCH};

use tidegate_tests::{Rec, wait_eq, wait_for};

use crate::scene::{PATIENCE, Scene, done_and_rejected, pay};

const DAY: i64 = 86_400_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_dead_letter_topic_blocks_nothing_and_is_served_once_it_is_there() {
    let scene = Scene::new("letters-missing", 1, 100).await;
    let letters = scene.env.unique("letters-later");
    let consumer = scene.consumer("rejects").await;
    let consumer = consumer.dead_letter("topic", &letters);
    let host = scene.run(consumer).await;
    let trick = |n: i64| if n % 10 == 0 { "reject" } else { "" };
    let records = (1..=50).map(|n| pay(n, &format!("e{n}"), trick(n)));
    scene.produce(records.collect()).await;
    scene.wait_counts(done_and_rejected(45, 5)).await;
    host.wait_log("cannot be published", PATIENCE).await;
    // The relay has failed by now; the partition goes on.
    let more = (51..=100).map(|n| pay(n, &format!("e{n}"), ""));
    scene.produce(more.collect()).await;
    scene.wait_counts(done_and_rejected(95, 5)).await;
    assert_eq!(unpublished(&scene).await, 5);

    scene.env.kafka.create_topic(&letters, 3, &[]).await;
    wait_eq(PATIENCE, "letters left to publish", 0, async || {
        unpublished(&scene).await
    })
    .await;
    let got = scene.env.kafka.consume_all(&letters).await;
    let mut ids: Vec<_> = got
        .iter()
        .map(|got| got.header("event-id").unwrap())
        .collect();
    ids.sort();
    assert_eq!(ids, ["e10", "e20", "e30", "e40", "e50"]);
    assert!(host.is_running());
}

/// A letter carries its publishing time: retention and the broker's limits on timestamps leave it alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_published_letter_has_its_publishing_time_and_the_original_in_a_header() {
    let scene = Scene::new("letters-time", 1, 9).await;
    let letters = scene.env.unique("strict");
    let strict = [
        ("retention.ms", "604800000"),
        ("segment.ms", "1000"),
        ("message.timestamp.type", "CreateTime"),
        ("message.timestamp.before.max.ms", "86400000"),
        ("message.timestamp.after.max.ms", "3600000"),
    ];
    scene.env.kafka.create_topic(&letters, 1, &strict).await;
    let began = now();
    let times = [began - 30 * DAY, -1, began + 365 * DAY, 0];
    let record = |(n, ms): (i64, i64)| pay(n, &format!("e{n}"), "reject").at(ms);
    let records: Vec<Rec> = (1..).zip(times).map(record).collect();
    scene.produce(records).await;
    let read = scene.env.kafka.consume_all(&scene.topic).await;
    let originals: Vec<_> = read.iter().map(|got| got.timestamp).collect();
    assert_eq!(originals[..3], [Some(times[0]), None, Some(times[2])]);

    let consumer = scene.consumer("rejects").await;
    let consumer = consumer.dead_letter("topic", &letters);
    let _host = scene.run(consumer).await;
    scene.wait_counts(done_and_rejected(0, 4)).await;
    let got = wait_for(PATIENCE, "the letters", async || {
        let got = scene.env.kafka.consume_all(&letters).await;
        (got.len() == 4).then_some(got)
    })
    .await;
    for (got, original) in got.iter().zip(originals) {
        let published = got.timestamp.unwrap();
        assert!(
            (began - 1_000..=now() + 1_000).contains(&published),
            "{got:?}"
        );
        let (ms, kind) = match original {
            Some(ms) => (ms.to_string(), "create"),
            None => ("-1".to_owned(), "none"),
        };
        assert_eq!(got.header("tidegate-timestamp"), Some(ms));
        assert_eq!(got.header("tidegate-timestamp-type").as_deref(), Some(kind));
    }
    let sql = "SELECT timestamp_type, timestamp_ms FROM tidegate.dead_letters ORDER BY \"offset\"";
    let rows = scene.env.db.query_text(sql).await;
    assert_eq!(rows[1], [Some("none".to_owned()), None]);
    assert_eq!(rows[0][1], Some(times[0].to_string()));
}

/// Letters of one key keep their order in the dead letter topic.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn letters_are_published_in_the_order_of_their_partition() {
    let scene = Scene::new("letters-order", 1, 1).await;
    let record = |n: i64| {
        let key = ["a", "b", "c"][usize::try_from(n % 3).unwrap()];
        pay(1, &format!("e{n:03}"), "reject").key(key)
    };
    scene.produce((0..120).map(record).collect()).await;
    let consumer = scene.consumer("rejects").await;
    let _host = scene.run(consumer.set("brake", "off")).await;
    scene.wait_counts(done_and_rejected(0, 120)).await;
    let topic = format!("{}.dlt", scene.topic);
    let got = wait_for(PATIENCE, "the letters", async || {
        let got = scene.env.kafka.consume_all(&topic).await;
        (got.len() >= 120).then_some(got)
    })
    .await;
    for key in ["a", "b", "c"] {
        let of_key = got
            .iter()
            .filter(|g| g.key.as_deref() == Some(key.as_bytes()));
        let ids: Vec<_> = of_key.map(|g| g.header("event-id").unwrap()).collect();
        let mut sorted = ids.clone();
        sorted.sort();
        assert_eq!((ids.len(), &ids), (40, &sorted));
    }
}

async fn unpublished(scene: &Scene) -> i64 {
    let sql = "SELECT count(*) FROM tidegate.dead_letters WHERE published_at IS NULL";
    scene.env.db.query_one_i64(sql).await
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}
