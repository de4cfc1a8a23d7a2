//! What becomes of the log while a host runs: deleted and made anew, cut off at its start; and of the group.

use tidegate_tests::{payments, wait_eq};

use crate::reader::{ACCOUNTS, Reader, wait_stopped};
use crate::rows::{Counts, PATIENCE, recs, settled};

/// N and records done of a topic's first partition.
async fn place(reader: &Reader, topic: &str) -> (i64, i64) {
    let sql = |what: &str| {
        format!(
            "SELECT coalesce(max({what}), -1) FROM tidegate.progress WHERE topic = '{topic}' AND partition = 0"
        )
    };
    let db = &reader.env.db;
    (
        db.query_one_i64(&sql("next_offset")).await,
        db.query_one_i64(&sql("done")).await,
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_that_is_deleted_is_named_others_go_on_and_a_new_one_of_its_name_is_another_log() {
    let reader = Reader::new("deleted", 1).await;
    let other = reader.env.topic("other", 1).await;
    let reader = reader.with(|c| c.topic(&other));
    let (ledger, paid) = (reader.ledger().await, payments(60, ACCOUNTS));
    let (kafka, topic) = (&reader.env.kafka, reader.topic.as_str());
    reader.pay(&paid[..20]).await;
    let config = reader
        .config()
        .librdkafka("topic.metadata.refresh.interval.ms", "300");
    let host = reader.env.host(config).start().await;
    reader.wait_place(0, 20, 20).await;

    kafka.delete_topic(topic).await;
    host.wait_log(
        &format!("topic \"{topic}\" does not exist (any more)"),
        PATIENCE,
    )
    .await;
    kafka.produce(&other, recs(&paid[20..30])).await;
    wait_eq(
        PATIENCE,
        "the other topic's records",
        (10, 10),
        async || place(&reader, &other).await,
    )
    .await;
    assert_eq!(place(&reader, topic).await, (20, 20), "its row stays");

    kafka.create_topic(topic, 1, &[]).await;
    reader.pay(&paid[30..]).await;
    wait_stopped(&host, "the log is not the one that was consumed").await;
    host.wait_log(&format!("topic \"{topic}\" exists again"), PATIENCE)
        .await;
    assert_eq!(
        place(&reader, topic).await,
        (20, 20),
        "nothing is taken for granted"
    );
    reader.adopt(&reader.config()).await;
    wait_eq(PATIENCE, "the new log's records", (30, 50), async || {
        place(&reader, topic).await
    })
    .await;
    ledger.wait_exact(&paid, PATIENCE).await;
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retention_that_overtakes_a_running_host_stops_the_partition_with_the_range() {
    let reader = Reader::new("overtaken", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(20, ACCOUNTS));
    let proxy = reader.env.kafka_proxy().await;
    let config = reader
        .config()
        .bootstrap(&proxy.addr())
        .librdkafka("session.timeout.ms", "60000")
        .librdkafka("reconnect.backoff.max.ms", "500");
    reader.pay(&paid[..10]).await;
    let host = reader.env.host(config).start().await;
    settled(&reader.env.db, Counts::done(10)).await;
    proxy.refuse();
    reader.pay(&paid[10..]).await;
    reader.env.kafka.delete_records(&reader.topic, 0, 15).await;
    proxy.pass();

    host.wait_log(
        "offset 10 is out of range: the log holds 15 to 20",
        PATIENCE,
    )
    .await;
    wait_stopped(
        &host,
        "the next offset is 10, but the log begins at 15 (it holds 15 to 20)",
    )
    .await;
    settled(&reader.env.db, Counts::done(10)).await;
    ledger.assert_exact(&paid[..10]).await;
    assert_eq!(host.terminate().await, 3, "a partition was stopped");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_cannot_be_deleted_under_its_members_and_one_that_is_deleted_is_told_of() {
    let reader = Reader::forgetful("group", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(20, ACCOUNTS));
    reader.pay(&paid[..10]).await;
    let host = reader.start().await;
    settled(&reader.env.db, Counts::done(10)).await;
    reader.wait_expired(10).await;
    let refused = reader.env.kafka.try_delete_group(reader.name()).await;
    assert!(!refused, "the broker keeps a group that has members");

    // Its host asleep, the group is empty, and goes.
    host.stop_signal();
    reader.env.kafka.delete_group(reader.name()).await;
    assert_eq!(reader.group_offset().await, None);
    host.cont();
    let told = "Kafka no longer knows an offset of the group; going on at the recorded position 10";
    host.wait_log(told, PATIENCE).await;
    reader.pay(&paid[10..]).await;
    settled(&reader.env.db, Counts::done(20)).await;
    ledger.assert_exact(&paid).await;
    assert_eq!(host.terminate().await, 0);
    assert_eq!(reader.group_offset().await, Some(20));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_added_under_a_running_host_are_consumed_from_their_beginning() {
    let reader = Reader::new("added", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(30, ACCOUNTS));
    reader.pay(&paid[..10]).await;
    let config = reader
        .config()
        .librdkafka("topic.metadata.refresh.interval.ms", "500");
    let host = reader.env.host(config).start().await;
    reader.wait_place(0, 10, 10).await;
    reader.env.kafka.add_partitions(&reader.topic, 3).await;
    reader.pay_to(1, &paid[10..20]).await;
    reader.pay_to(2, &paid[20..]).await;
    reader.wait_place(1, 10, 10).await;
    reader.wait_place(2, 10, 10).await;
    ledger.assert_exact(&paid).await;
    assert_eq!(host.terminate().await, 0);
}
