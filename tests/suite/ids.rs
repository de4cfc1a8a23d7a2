//! Which records carry one event.

use tidegate_tests::{Consumer, Rec, wait_eq};

use crate::scene::{Counts, PATIENCE, Scene, done_and_rejected, pay};

const UUID: [&str; 5] = [
    "c0ffee00-aaaa-4bbb-8ccc-0123456789ab",
    "C0FFEE00-AAAA-4BBB-8CCC-0123456789AB",
    "{c0ffee00-aaaa-4bbb-8ccc-0123456789ab}",
    "urn:uuid:c0ffee00-aaaa-4bbb-8ccc-0123456789ab",
    "c0ffee00aaaa4bbb8ccc0123456789ab",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_unequal_id_headers_are_ambiguous_and_equal_ones_are_one() {
    let scene = Scene::new("ids-headers", 1, 3).await;
    let record = |account: i64, first: &str, second: &str| {
        let rec = Rec {
            headers: Vec::new(),
            ..pay(account, "", "")
        };
        rec.header("k", "1")
            .event_id(first)
            .header("k", "2")
            .event_id(second)
    };
    let ambiguous = record(1, "a", "b");
    let headers = ambiguous.headers.clone();
    scene
        .produce(vec![ambiguous, record(2, "a", "a"), record(3, "b", "b")])
        .await;
    let _host = scene.run(scene.consumer("rejects").await).await;
    scene.wait_counts(done_and_rejected(2, 1)).await;
    assert_eq!(scene.journal().await, [2, 3]);
    let letter = scene.letters().await.remove(0);
    assert_eq!(letter.code, "bad-event-id");
    assert!(letter.message.contains("ambiguous"), "{letter:?}");
    let topic = format!("{}.dlt", scene.topic);
    wait_eq(PATIENCE, "the letter's own headers", headers, async || {
        let got = scene.env.kafka.consume_all(&topic).await;
        got.first()
            .map_or(Vec::new(), |got| got.headers[..4].to_vec())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ids_are_compared_byte_for_byte() {
    let scene = Scene::new("ids-bytes", 1, 1).await;
    let spaced = format!("{} ", UUID[0]);
    let more = ["a", "A", "é", "e\u{301}", "a\u{200b}", spaced.as_str()];
    let records = UUID.iter().chain(&more).map(|id| pay(1, id, ""));
    let records: Vec<Rec> = records.collect();
    scene.produce(records.clone()).await;
    let _host = scene.run(scene.consumer("rejects").await).await;
    scene.wait_counts(done_and_rejected(11, 0)).await;
    scene.produce(records).await;
    let expected = Counts {
        republished: 11,
        ..done_and_rejected(11, 0)
    };
    scene.wait_counts(expected).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_spellings_of_a_uuid_are_one_event_where_ids_are_uuids() {
    let scene = Scene::new("ids-uuid", 1, 1).await;
    let odd = [format!("{} ", UUID[0]), "order-7".to_owned()];
    let ids = UUID.iter().copied().chain(odd.iter().map(String::as_str));
    scene.produce(ids.map(|id| pay(1, id, "")).collect()).await;
    let consumer = scene.consumer("rejects").await;
    let _host = scene.run(consumer.dedup("id_format", "uuid")).await;
    let expected = Counts {
        republished: 4,
        ..done_and_rejected(1, 2)
    };
    scene.wait_counts(expected).await;
    assert_eq!(scene.codes().await, ["bad-event-id"; 2]);
    let sql = "SELECT event_id FROM tidegate.processed_events";
    let rows = scene.env.db.query_text(sql).await;
    assert_eq!(rows, [[Some(UUID[0].to_owned())]]);
    // The letters keep the spellings that were sent.
    let sql = "SELECT convert_from(header_values[1], 'UTF8') FROM tidegate.dead_letters ORDER BY \"offset\"";
    let rows = scene.env.db.query_text(sql).await;
    assert_eq!(rows, odd.map(|id| [Some(id)]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_consumer_of_two_topics_handles_an_event_once() {
    let scene = Scene::new("ids-one", 1, 1).await;
    let other = on_two_topics(&scene).await;
    let consumer = scene.consumer("rejects").await.topic(&other);
    let _host = scene.run(consumer).await;
    let expected = Counts {
        republished: 1,
        ..done_and_rejected(1, 0)
    };
    scene.wait_counts(expected).await;
    assert_eq!(scene.balance(1).await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_consumers_handle_an_event_once_each() {
    let scene = Scene::new("ids-two", 1, 1).await;
    let other = on_two_topics(&scene).await;
    let second = scene.env.unique("second");
    let guest = tidegate_tests::guest("rejects").await;
    let second_consumer = Consumer::new(&second).topic(&other).handler(guest);
    let second_consumer = second_consumer.set("start", "earliest");
    let config = scene.env.config();
    let config = config.consumer(scene.consumer("rejects").await);
    let _host = scene
        .env
        .host(config.consumer(second_consumer))
        .start()
        .await;
    scene.wait_counts(done_and_rejected(1, 0)).await;
    wait_eq(
        PATIENCE,
        "the second's",
        done_and_rejected(1, 0),
        async || scene.counts_of(&second).await,
    )
    .await;
    assert_eq!(scene.balance(1).await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_the_topic_as_scope_an_event_is_handled_once_a_topic() {
    let scene = Scene::new("ids-scope", 1, 1).await;
    let other = on_two_topics(&scene).await;
    let consumer = scene.consumer("rejects").await.topic(&other);
    let _host = scene.run(consumer.dedup("scope", "topic")).await;
    scene.wait_counts(done_and_rejected(2, 0)).await;
    scene.produce(vec![pay(1, "e1", "")]).await;
    let expected = Counts {
        republished: 1,
        ..done_and_rejected(2, 0)
    };
    scene.wait_counts(expected).await;
    assert_eq!(scene.balance(1).await, 2);
    let sql = "SELECT scope FROM tidegate.processed_events";
    let mut scopes: Vec<_> = scene.env.db.query_text(sql).await.concat();
    scopes.sort();
    let mut topics = vec![Some(scene.topic.clone()), Some(other)];
    topics.sort();
    assert_eq!(scopes, topics);
}

/// One event on the scene's topic and on another, whose name is answered.
async fn on_two_topics(scene: &Scene) -> String {
    let other = scene.env.topic("other", 1).await;
    scene.produce(vec![pay(1, "e1", "")]).await;
    scene
        .env
        .kafka
        .produce(&other, vec![pay(1, "e1", "")])
        .await;
    other
}

/// A connector's snapshot that runs twice is a republish, a later version of a key is not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_id_of_several_parts_tells_the_versions_of_a_key_apart() {
    let scene = Scene::new("ids-parts", 1, 1).await;
    scene.produce(snapshot()).await;
    let consumer = scene.consumer("rejects").await;
    let consumer = consumer.dedup("id", tidegate_tests::Raw(r#"["key", "json:/version"]"#));
    let _host = scene.run(consumer).await;
    scene.wait_counts(done_and_rejected(3, 0)).await;
    scene.produce(snapshot()).await;
    let expected = Counts {
        republished: 3,
        ..done_and_rejected(3, 0)
    };
    scene.wait_counts(expected).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_key_alone_as_id_drops_later_versions_and_check_warns_of_it() {
    let scene = Scene::new("ids-key", 1, 1).await;
    scene.produce(snapshot()).await;
    let consumer = scene.consumer("rejects").await.dedup("id", "key");
    let config = scene.env.config().consumer(consumer.clone());
    let said = scene.env.cli(&["check"], &config).await;
    assert_eq!(said.code, 0, "{said:?}");
    for words in ["warning", "key alone", "later updates", "compacted"] {
        assert!(said.stdout.contains(words), "{words}: {said:?}");
    }
    let _host = scene.run(consumer).await;
    let expected = Counts {
        republished: 2,
        ..done_and_rejected(1, 0)
    };
    scene.wait_counts(expected).await;
}

/// A position knows no event: the same event at another offset is handled again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_position_as_id_handles_every_record_and_check_warns_of_it() {
    let scene = Scene::new("ids-position", 1, 1).await;
    scene.produce([snapshot(), snapshot()].concat()).await;
    let consumer = scene.consumer("rejects").await.dedup("id", "position");
    let config = scene.env.config().consumer(consumer.clone());
    let said = scene.env.cli(&["check"], &config).await;
    assert!(
        said.code == 0 && said.stdout.contains("warning"),
        "{said:?}"
    );
    let _host = scene.run(consumer).await;
    scene.wait_counts(done_and_rejected(6, 0)).await;
}

/// Three versions of one key.
fn snapshot() -> Vec<Rec> {
    let version = |n: i64| {
        let value = format!(r#"{{"amount_minor":1,"account_id":1,"version":{n}}}"#);
        Rec::new(value).to(0).key("row-7")
    };
    (1..=3).map(version).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn trace_headers_of_any_kind_harm_nothing_and_are_passed_on() {
    let scene = Scene::new("ids-trace", 1, 1).await;
    let zeros = format!("00-{}-{}-00", "0".repeat(32), "0".repeat(16));
    let version_ff = format!("ff-{}-{}-01", "a".repeat(32), "b".repeat(16));
    let upper = format!("00-{}-{}-01", "A".repeat(32), "B".repeat(16));
    let long = "x".repeat(64 << 10);
    let values: Vec<Vec<u8>> = [zeros, version_ff, upper, long]
        .into_iter()
        .map(String::into_bytes)
        .chain([vec![0xff; 8]])
        .collect();
    let record = |word: &str, n: usize, value: &Vec<u8>| {
        pay(1, &format!("{word}-{n}"), word).header("traceparent", value.clone())
    };
    let good = values.iter().enumerate().map(|(n, v)| record("", n, v));
    let bad = values
        .iter()
        .enumerate()
        .map(|(n, v)| record("reject", n, v));
    scene.produce(good.chain(bad).collect()).await;
    let _host = scene.run(scene.consumer("rejects").await).await;
    scene.wait_counts(done_and_rejected(5, 5)).await;
    let topic = format!("{}.dlt", scene.topic);
    wait_eq(PATIENCE, "the letters' trace headers", values, async || {
        let got = scene.env.kafka.consume_all(&topic).await;
        let trace = |got: &tidegate_tests::Got| {
            let header = got.headers.iter().find(|(name, _)| name == "traceparent");
            header.and_then(|(_, value)| value.clone())
        };
        got.iter().filter_map(trace).collect()
    })
    .await;
}
