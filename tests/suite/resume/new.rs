//! Where a partition goes on when there is no progress row: the group's offset, else `start`; stored either way.

use tidegate_tests::{Pattern, payments, wait_eq};

use crate::reader::{ACCOUNTS, Reader, wait_taken};
use crate::rows::{Counts, PATIENCE, settled};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_existing_group_is_adopted_where_it_stands() {
    let reader = Reader::new("adopted", 2).await;
    let (ledger, paid) = (reader.ledger().await, payments(13, ACCOUNTS));
    reader.pay(&paid[..10]).await;
    reader.pay_to(1, &paid[10..]).await;
    reader.set_group(4).await;
    let (kafka, group) = (&reader.env.kafka, reader.name());
    kafka.commit_group_offset(group, &reader.topic, 1, 3).await;

    let host = reader.start().await;
    reader.wait_place(0, 10, 6).await;
    reader.wait_place(1, 3, 0).await;
    ledger.assert_exact(&paid[4..10]).await;
    host.wait_log("going on at the group's offset 4", PATIENCE)
        .await;
    assert_eq!(host.terminate().await, 0);
    assert_eq!(reader.group_offset().await, Some(10));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_consumer_starts_at_the_earliest_record() {
    let reader = Reader::new("earliest", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(10, ACCOUNTS));
    reader.pay(&paid).await;
    reader.env.kafka.delete_records(&reader.topic, 0, 3).await;
    let host = reader.start().await;
    reader.wait_place(0, 10, 7).await;
    ledger.assert_exact(&paid[3..]).await;
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_consumer_that_starts_at_the_latest_record_stores_where_that_was() {
    let reader = Reader::new("latest", 1).await;
    let reader = reader.with(|c| c.set("start", "latest"));
    let (ledger, paid) = (reader.ledger().await, payments(20, ACCOUNTS));
    reader.pay(&paid[..10]).await;
    let host = reader.start().await;
    wait_eq(PATIENCE, "the stored position", Some(10), async || {
        Some(reader.place(0).await?.next)
    })
    .await;
    // A member that dies while it joins keeps its group for long.
    wait_taken(&host, 1).await;
    // Whatever became of it, the policy has counted: what comes now is not skipped.
    host.kill();
    reader.env.kafka.delete_group(reader.name()).await;
    reader.pay(&paid[10..]).await;
    let host = host.restart().await;
    reader.wait_place(0, 20, 10).await;
    ledger.assert_exact(&paid[10..]).await;
    assert_eq!(host.terminate().await, 0);
    assert_eq!(reader.group_offset().await, Some(20));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_log_is_registered_at_its_beginning_and_told_to_kafka() {
    let reader = Reader::new("empty", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(5, ACCOUNTS));
    let host = reader.start().await;
    reader.wait_place(0, 0, 0).await;
    assert_eq!(reader.group_offset().await, Some(0));
    reader.pay(&paid).await;
    settled(&reader.env.db, Counts::done(5)).await;
    ledger.assert_exact(&paid).await;
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_offset_that_cannot_be_read_is_waited_for_and_never_taken_for_none() {
    let reader = Reader::new("unread", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(10, ACCOUNTS));
    reader.pay(&paid).await;
    reader.set_group(4).await;
    let proxy = reader.env.kafka_proxy().await;
    // OffsetFetch: the broker's word on K is lost on its way, three times.
    proxy.cut_on_reply_after(Pattern::KafkaApi(9), 3);
    let config = reader.config().bootstrap(&proxy.addr());
    let host = reader.env.host(config).start().await;
    reader.wait_place(0, 10, 6).await;
    ledger.assert_exact(&paid[4..]).await;
    assert_eq!(proxy.cuts(), 3);
    assert_eq!(host.terminate().await, 0);
}
