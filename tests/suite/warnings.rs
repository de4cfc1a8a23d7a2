//! What is allowed and seldom meant is said at the start, and by `check`.

use tidegate_tests::{payments, wait_eq};

use crate::reader::{ACCOUNTS, Reader};
use crate::rows::{Counts, PATIENCE, counts, settled};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn topics_that_outlive_their_event_ids_are_warned_about_at_the_start() {
    let reader = Reader::new("retention", 1).await;
    let (kafka, unique) = (&reader.env.kafka, |base| reader.env.unique(base));
    let (short, long, compacted) = (unique("short"), unique("long"), unique("compacted"));
    kafka
        .create_topic(&short, 1, &[("retention.ms", "86400000")])
        .await;
    kafka
        .create_topic(&long, 1, &[("retention.ms", "2592000000")])
        .await;
    kafka
        .create_topic(&compacted, 1, &[("cleanup.policy", "compact")])
        .await;
    let topics = [short.as_str(), &long, &compacted];
    // The first topic's retention is for ever, by the broker's default.
    let consumer = reader.consumer().topics(&topics);
    let config = reader.env.config().consumer(consumer);
    let checked = reader.command(&["check", "--kafka"], &config).await;
    let host = reader.env.host(config).start().await;
    let ids = "event ids are remembered for 7d (dedup.ttl), but topic";
    for (topic, keeps) in [
        (
            &reader.topic,
            "keeps its records for ever (retention.ms = -1)",
        ),
        (&long, "keeps its records for 30d (retention.ms)"),
        (&compacted, "keeps the latest record of each key for ever"),
    ] {
        let warning = format!("{ids} {topic:?} {keeps}");
        host.wait_log(&warning, PATIENCE).await;
        assert!(checked.stdout.contains(&warning), "{}", checked.stdout);
    }
    let warnings = checked.stdout.lines().filter(|line| line.contains(ids));
    assert!(warnings.clone().all(|line| line.starts_with("warning  ")));
    assert_eq!(warnings.count(), 3, "{}", checked.stdout);
    let lines = host.log();
    let warned = lines.lines().filter(|line| line.contains(ids));
    let warned: Vec<_> = warned.collect();
    assert_eq!(warned.len(), 3, "{warned:?}");
    assert!(warned.iter().all(|line| line.contains("WARN")));
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_does_not_wait_for_a_broker_that_says_nothing() {
    let reader = Reader::new("silent", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(5, ACCOUNTS));
    let proxy = reader.env.kafka_proxy().await;
    // DescribeConfigs.
    let hold = proxy.hold_when(tidegate_tests::Pattern::KafkaApi(32));
    let config = reader.config().bootstrap(&proxy.addr());
    let host = reader.env.host(config).start().await;
    hold.held(PATIENCE).await;
    reader.pay(&paid).await;
    settled(&reader.env.db, Counts::done(5)).await;
    ledger.assert_exact(&paid).await;
    assert_eq!(host.terminate().await, 0);
    hold.release();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_position_as_id_and_no_dedup_are_warned_about_by_check_and_at_the_start() {
    let reader = Reader::new("guards", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(5, ACCOUNTS));
    reader.pay(&[&paid[..], &paid[..2]].concat()).await;
    let off = reader.consumer().set("dedup", "off");
    let position = reader.consumer().dedup("id", "position");
    let warnings = [
        (
            off,
            "the position alone guards: an event that is published again",
        ),
        (position, "a position knows no event: one published again"),
    ];
    for (consumer, warning) in warnings {
        let config = reader.env.config().consumer(consumer);
        let checked = reader.command(&["check"], &config).await;
        let line = checked.stdout.lines().find(|line| line.contains(warning));
        assert!(
            line.is_some_and(|line| line.starts_with("warning")),
            "{}",
            checked.stdout
        );
        let host = reader.env.host(config).start().await;
        host.wait_log(warning, PATIENCE).await;
        wait_eq(PATIENCE, "records done", 7, async || {
            counts(&reader.env.db).await.done
        })
        .await;
        assert_eq!(host.terminate().await, 0);
    }
    // What the warnings say: an event that was published again has run again.
    let twice: i64 = paid.iter().chain(&paid[..2]).map(|p| p.amount_minor).sum();
    assert_eq!(ledger.sum().await, twice);
    settled(&reader.env.db, Counts::done(7)).await;
}
