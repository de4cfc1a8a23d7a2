//! Kafka's offset never goes back by the host's own hand: one commit at a time in a partition.

use tidegate_tests::{Ledger, Pattern, payments, test_env, wait_for};

use crate::rows::{Counts, PATIENCE, counts, recs, settled, wait_next};

/// Kafka's number of the request OffsetCommit.
const OFFSET_COMMIT: Pattern = Pattern::KafkaApi(8);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_offset_commit_is_in_flight_and_a_crash_over_it_runs_nothing_twice() {
    let env = test_env("one-in-flight").await;
    let (topic, ledger) = (env.topic("t", 1).await, Ledger::create(&env.db, 5).await);
    let proxy = env.kafka_proxy().await;
    let consumer = env.consumer(&topic, "credit-rust").await;
    let (group, consumer) = (consumer.name.clone(), consumer.batch("max_records", 1));
    let consumer = consumer.dedup("ttl", "20ms").dedup("min_ttl", "20ms");
    let config = env
        .config()
        .bootstrap(&proxy.addr())
        .librdkafka("group.instance.id", "a")
        // Heartbeats stand behind the commit that is held.
        .librdkafka("session.timeout.ms", "30000")
        .consumer(consumer);
    let first = proxy.hold_when(OFFSET_COMMIT);
    let host = env.host(config).start().await;
    let paid = payments(20, 5);
    env.kafka.produce(&topic, recs(&paid[..10])).await;
    ledger.wait_exact(&paid[..10], PATIENCE).await;
    wait_next(&env.db, 10).await;
    first.held(PATIENCE).await;
    assert_eq!(env.kafka.group_offset(&group, &topic, 0).await, None);
    assert_eq!(
        counts(&env.db).await.committed,
        0,
        "C holds only what Kafka acknowledged"
    );

    // Had a second commit been under way, it would be let go together with the first.
    let second = proxy.hold_when(OFFSET_COMMIT);
    first.release();
    second.held(PATIENCE).await;
    let stored = env.kafka.group_offset(&group, &topic, 0).await.unwrap();
    assert!(
        stored < 10,
        "Kafka has {stored}: more than one commit was in flight"
    );
    host.kill();
    drop(second);
    let expired = "SELECT count(*) FROM tidegate.processed_events WHERE processed_until < now()";
    wait_for(PATIENCE, "every claim to expire", async || {
        (env.db.query_one_i64(expired).await == 10).then_some(())
    })
    .await;

    let host = host.restart().await;
    env.kafka.produce(&topic, recs(&paid[10..])).await;
    ledger.wait_exact(&paid, PATIENCE).await;
    settled(&env.db, Counts::done(20)).await;
    assert_eq!(env.kafka.group_offset(&group, &topic, 0).await, Some(20));
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_newest_offset_is_committed_once_the_held_one_is_acknowledged() {
    let env = test_env("newest").await;
    let (topic, ledger) = (env.topic("t", 1).await, Ledger::create(&env.db, 5).await);
    let proxy = env.kafka_proxy().await;
    let consumer = env.consumer(&topic, "credit-rust").await;
    let (group, consumer) = (consumer.name.clone(), consumer.batch("max_records", 1));
    let config = env
        .config()
        .bootstrap(&proxy.addr())
        .librdkafka("session.timeout.ms", "30000")
        .consumer(consumer);
    let hold = proxy.hold_when(OFFSET_COMMIT);
    let host = env.host(config).start().await;
    let paid = payments(30, 5);
    env.kafka.produce(&topic, recs(&paid)).await;
    ledger.wait_exact(&paid, PATIENCE).await;
    hold.held(PATIENCE).await;
    hold.release();
    settled(&env.db, Counts::done(30)).await;
    assert_eq!(env.kafka.group_offset(&group, &topic, 0).await, Some(30));
    assert_eq!(host.terminate().await, 0);
}
