//! Publishing dead letters against odds: few partitions, records too large, a broker or a host lost in the middle.

use std::collections::BTreeSet;

use tidegate_tests::{Got, Pattern, Rec, wait_eq, wait_for};

use crate::scene::{PATIENCE, Scene, done_and_rejected, pay};

/// A broker's own default, which the suite's broker has raised.
const USUAL: [(&str, &str); 1] = [("max.message.bytes", "1048588")];

/// A limit that every record here fits in.
const RAISED: [(&str, &str); 1] = [("max.message.bytes", "8388608")];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_letter_topic_with_fewer_partitions_takes_the_letters_of_all() {
    let scene = Scene::new("dlt-one", 3, 9).await;
    let record = |n: i32| {
        let rec = pay(1, &format!("e{n}"), "reject").to(n % 3);
        if n % 2 == 0 {
            rec.key(format!("k{n}"))
        } else {
            rec
        }
    };
    scene.produce((0..30).map(record).collect()).await;
    let _host = scene.run(scene.consumer("rejects").await).await;
    scene.wait_counts(done_and_rejected(0, 30)).await;
    let got = letters(&scene, &dlt(&scene), 30).await;
    assert!(got.iter().all(|got| got.partition == 0));
    let from: BTreeSet<_> = got.iter().map(|g| g.header("tidegate-partition")).collect();
    assert_eq!(from.len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_record_is_published_byte_for_byte_where_the_limits_are_raised() {
    let scene = Scene::new("dlt-large", 1, 9).await;
    scene.env.kafka.alter_topic(&scene.topic, &RAISED).await;
    scene.env.kafka.alter_topic(&dlt(&scene), &RAISED).await;
    let record = large();
    scene.produce(vec![record.clone()]).await;
    let _host = scene.run(scene.consumer("rejects").await).await;
    scene.wait_counts(done_and_rejected(0, 1)).await;
    same(&letters(&scene, &dlt(&scene), 1).await[0], &record);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_that_the_topic_does_not_take_is_kept_and_marked_until_it_is_let_go() {
    let scene = Scene::new("dlt-too-large", 1, 9).await;
    scene.env.kafka.alter_topic(&scene.topic, &RAISED).await;
    scene.env.kafka.alter_topic(&dlt(&scene), &USUAL).await;
    let record = large();
    let records = vec![record.clone(), pay(2, "small", "reject").key("k")];
    scene.produce(records).await;
    let config = scene.env.config().consumer(scene.consumer("rejects").await);
    let host = scene.env.host(config.clone()).start().await;
    scene.wait_counts(done_and_rejected(0, 2)).await;
    // What follows a letter that is not taken is not held up, same key or not.
    let got = letters(&scene, &dlt(&scene), 1).await;
    assert_eq!(got[0].header("event-id").as_deref(), Some("small"));
    host.wait_log("does not take these letters", PATIENCE).await;
    wait_eq(PATIENCE, "letters marked", 1, async || marked(&scene).await).await;
    let list = ["dlt", "list", "--unpublishable", "--format", "json"];
    let list = scene.env.cli(&list, &config).await;
    let list: serde_json::Value = serde_json::from_str(&list.stdout).unwrap();
    assert_eq!(list.as_array().unwrap().len(), 1, "{list}");
    let reason = list[0]["unpublishable"].as_str().unwrap();
    assert!(reason.to_lowercase().contains("size"), "{reason}");
    assert_eq!(list[0]["state"], "open");
    let table = scene.env.cli(&["dlt", "list"], &config).await;
    assert!(table.stdout.contains("unpublishable"), "{table:?}");
    // A new host leaves it alone too: the mark is in the row.
    let host = host.restart().await;
    scene.produce(vec![pay(3, "later", "reject")]).await;
    letters(&scene, &dlt(&scene), 2).await;
    assert_eq!(host.log_count("does not take these letters"), 0);

    scene.env.kafka.alter_topic(&dlt(&scene), &RAISED).await;
    let said = scene.env.cli(&["dlt", "publish"], &config).await;
    assert!(
        said.code == 0 && said.stdout.starts_with("1 dead letters"),
        "{said:?}"
    );
    let got = letters(&scene, &dlt(&scene), 3).await;
    let large = got
        .iter()
        .find(|got| got.header("event-id").as_deref() == Some("large"));
    same(large.unwrap(), &record);
    assert_eq!(marked(&scene).await, 0);
    let again = scene.env.cli(&["dlt", "publish"], &config).await;
    assert!(
        again.code == 0 && again.stdout.contains("nothing to publish"),
        "{again:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_lost_in_mid_publish_costs_no_letter() {
    let scene = Scene::new("dlt-broker", 1, 9).await;
    let proxy = scene.env.kafka_proxy().await;
    let record = |n: i32| pay(1, &format!("e{n}"), "reject").key(format!("k{}", n % 5));
    scene.produce((0..120).map(record).collect()).await;
    proxy.cut_on_reply_after(Pattern::KafkaApi(0), 5);
    let config = scene.env.config().bootstrap(&proxy.addr());
    let config = config.consumer(scene.consumer("rejects").await.set("brake", "off"));
    let _host = scene.env.host(config).start().await;
    scene.wait_counts(done_and_rejected(0, 120)).await;
    published(&scene, 120).await;
    assert_eq!(proxy.cuts(), 5);
    each_at_least_once(&scene, 120).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_killed_between_publishing_and_marking_publishes_again_under_the_same_ids() {
    let scene = Scene::new("dlt-killed", 1, 9).await;
    let proxy = scene.env.pg_proxy().await;
    let hold = proxy.hold_when("SET published_at = now()");
    let record = |n: i32| pay(1, &format!("e{n}"), "reject");
    scene.produce((0..20).map(record).collect()).await;
    let config = scene.env.config().postgres(&scene.env.db.url_via(&proxy));
    let config = config.consumer(scene.consumer("rejects").await);
    let host = scene.env.host(config).start().await;
    hold.held(PATIENCE).await;
    host.kill();
    let before = scene.env.kafka.consume_all(&dlt(&scene)).await.len();
    assert!(before > 0);
    drop(hold);
    let _host = host.restart().await;
    published(&scene, 20).await;
    let all = each_at_least_once(&scene, 20).await;
    assert_eq!(all, 20 + before, "the marks were lost, so each comes again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spring_and_connect_find_their_headers_byte_for_byte() {
    for (profile, own) in [("spring", "kafka_dlt-"), ("connect", "__connect.errors.")] {
        let scene = Scene::new(&format!("dlt-{profile}"), 1, 9).await;
        let record = pay(1, "e1", "reject").at(1_700_000_000_123);
        let record = record
            .header("kafka_dlt-original-offset", "forged")
            .header("__connect.errors.offset", "forged");
        scene.produce(vec![pay(2, "e0", ""), record]).await;
        let consumer = scene
            .consumer("rejects")
            .await
            .dead_letter("headers", profile);
        let _host = scene.run(consumer).await;
        scene.wait_counts(done_and_rejected(1, 1)).await;
        let got = letters(&scene, &dlt(&scene), 1).await.remove(0);
        let made: Vec<_> = got
            .headers
            .iter()
            .filter(|h| h.0.starts_with(own))
            .collect();
        let made: Vec<_> = made
            .iter()
            .map(|(name, value)| (name.trim_start_matches(own), value.as_deref().unwrap()))
            .collect();
        let topic = scene.topic.as_bytes();
        let module = tidegate_tests::digest(&tidegate_tests::guest_bytes("rejects").await);
        let name = scene.consumer.as_bytes();
        let expected: Vec<(&str, &[u8])> = match profile {
            "spring" => vec![
                ("original-topic", topic),
                ("original-partition", &[0; 4]),
                ("original-offset", &[0, 0, 0, 0, 0, 0, 0, 1]),
                (
                    "original-timestamp",
                    &[0, 0, 1, 0x8b, 0xcf, 0xe5, 0x68, 0x7b],
                ),
                ("original-timestamp-type", b"CreateTime"),
                ("original-consumer-group", name),
                ("exception-fqcn", b"rejected"),
                ("exception-message", b"told to reject"),
                ("exception-stacktrace", b"told to reject"),
            ],
            _ => vec![
                ("topic", topic),
                ("partition", b"0"),
                ("offset", b"1"),
                ("connector.name", name),
                ("task.id", b"0"),
                ("stage", b"TASK_PUT"),
                ("class.name", module.as_bytes()),
                ("exception.class.name", b"rejected"),
                ("exception.message", b"told to reject"),
                ("exception.stacktrace", b"told to reject"),
            ],
        };
        assert_eq!(made, expected);
        // The stable id rides along; the names of the other profile are somebody else's.
        let ids = "SELECT id FROM tidegate.dead_letters";
        let id = scene.env.db.query_text(ids).await.remove(0).remove(0);
        assert_eq!(got.header("tidegate-dead-letter-id"), id);
        let forged = |h: &&(String, Option<Vec<u8>>)| h.1.as_deref() == Some(b"forged");
        assert_eq!(got.headers.iter().filter(forged).count(), 1, "{got:?}");
    }
}

fn dlt(scene: &Scene) -> String {
    format!("{}.dlt", scene.topic)
}

/// A value of 1 MiB, a header of 900 KiB, no key.
fn large() -> Rec {
    let value = serde_json::json!({ "trick": "reject", "fill": "v".repeat(1 << 20) }).to_string();
    let header: Vec<u8> = (0..900 << 10).map(|n: u32| n.to_le_bytes()[0]).collect();
    Rec::new(value).to(0).event_id("large").header("h", header)
}

fn same(got: &Got, record: &Rec) {
    assert!(got.key == record.key && got.value == record.value);
    assert!(got.headers[..record.headers.len()] == record.headers);
}

/// Waits for so many records of a topic.
async fn letters(scene: &Scene, topic: &str, n: usize) -> Vec<Got> {
    wait_for(PATIENCE, "the letters to be published", async || {
        let got = scene.env.kafka.consume_all(topic).await;
        (got.len() >= n).then_some(got)
    })
    .await
}

async fn marked(scene: &Scene) -> i64 {
    let sql = "SELECT count(*) FROM tidegate.dead_letters WHERE unpublishable IS NOT NULL AND published_at IS NULL";
    scene.env.db.query_one_i64(sql).await
}

async fn published(scene: &Scene, n: i64) {
    let sql = "SELECT count(*) FROM tidegate.dead_letters WHERE published_at IS NOT NULL";
    wait_eq(PATIENCE, "letters marked published", n, async || {
        scene.env.db.query_one_i64(sql).await
    })
    .await;
}

/// Every row's id is in the topic, and nothing else; how many records there are.
async fn each_at_least_once(scene: &Scene, n: usize) -> usize {
    let rows = scene
        .env
        .db
        .query_text("SELECT id FROM tidegate.dead_letters")
        .await;
    let rows: BTreeSet<_> = rows
        .into_iter()
        .map(|mut row| row.remove(0).unwrap())
        .collect();
    let got = scene.env.kafka.consume_all(&dlt(scene)).await;
    let ids = got
        .iter()
        .map(|got| got.header("tidegate-dead-letter-id").unwrap());
    assert_eq!((rows.len(), ids.collect::<BTreeSet<_>>()), (n, rows));
    got.len()
}
