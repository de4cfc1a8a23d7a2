//! Positions that the log does not hold: the partition stops in plain words until an operator has decided.

use tidegate_tests::payments;

use crate::reader::{ACCOUNTS, Reader, wait_stopped};
use crate::rows::{Counts, PATIENCE, letters, settled};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_position_below_the_logs_start_stops_until_it_is_adopted() {
    let reader = Reader::new("below", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(20, ACCOUNTS));
    reader.pay(&paid[..10]).await;
    let host = reader.start().await;
    settled(&reader.env.db, Counts::done(10)).await;
    assert_eq!(host.terminate().await, 0);
    reader.pay(&paid[10..]).await;
    reader.env.kafka.delete_records(&reader.topic, 0, 15).await;

    let host = host.restart().await;
    wait_stopped(
        &host,
        "the next offset is 10, but the log begins at 15 (it holds 15 to 20)",
    )
    .await;
    host.wait_log("deleted 5 offsets unread", PATIENCE).await;
    settled(&reader.env.db, Counts::done(10)).await;

    reader.adopt(&reader.config()).await;
    let after = Counts {
        next: 20,
        committed: 20,
        ..Counts::done(15)
    };
    settled(&reader.env.db, after).await;
    ledger
        .assert_exact(&[&paid[..10], &paid[15..]].concat())
        .await;
    assert_eq!(letters(&reader.env.db).await, 0);
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_position_beyond_the_logs_end_stops_until_it_is_adopted() {
    let reader = Reader::new("beyond", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(15, ACCOUNTS));
    reader.pay(&paid[..10]).await;
    let host = reader.start().await;
    settled(&reader.env.db, Counts::done(10)).await;
    assert_eq!(host.terminate().await, 0);
    // The log lost its tail, as an unclean election does it: the row knows five records more than the log.
    reader
        .env
        .db
        .exec("UPDATE tidegate.progress SET next_offset = 15, last_offset = 14")
        .await;

    let host = host.restart().await;
    wait_stopped(
        &host,
        "the next offset is 15, but the log ends at 10 (it holds 0 to 10)",
    )
    .await;
    reader.adopt(&reader.config()).await;
    reader.pay(&paid[10..]).await;
    settled(&reader.env.db, Counts::done(15)).await;
    ledger.assert_exact(&paid).await;
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rewind_to_before_the_logs_start_stops_until_it_is_adopted() {
    let reader = Reader::new("rewind", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(12, ACCOUNTS));
    reader.pay(&paid[..10]).await;
    let host = reader.start().await;
    settled(&reader.env.db, Counts::done(10)).await;
    assert_eq!(host.terminate().await, 0);
    reader.env.kafka.delete_records(&reader.topic, 0, 5).await;
    reader.set_group(2).await;

    let host = host.restart().await;
    wait_stopped(
        &host,
        "the group was rewound to 2, but the log holds 5 to 10",
    )
    .await;
    settled(&reader.env.db, Counts::done(10)).await;
    reader.adopt(&reader.config()).await;
    reader.pay(&paid[10..]).await;
    let after = Counts {
        republished: 5,
        ..Counts::done(12)
    };
    settled(&reader.env.db, after).await;
    ledger.assert_exact(&paid).await;
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_consumers_group_that_is_outside_the_log_stops_until_it_is_set() {
    let reader = Reader::new("outside", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(10, ACCOUNTS));
    reader.pay(&paid).await;
    reader.set_group(50).await;
    let host = reader.start().await;
    wait_stopped(&host, "the group's offset is 50, but the log holds 0 to 10").await;
    assert_eq!(host.terminate().await, 3, "a partition was stopped");
    assert_eq!(reader.group_offset().await, Some(50));
    ledger.assert_exact(&[]).await;

    reader.set_group(4).await;
    let host = host.restart().await;
    reader.wait_place(0, 10, 6).await;
    ledger.assert_exact(&paid[4..]).await;
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_partition_leaves_the_others_alone() {
    let reader = Reader::new("others", 2).await;
    let (ledger, paid) = (reader.ledger().await, payments(30, ACCOUNTS));
    reader.pay(&paid[..10]).await;
    reader.pay_to(1, &paid[10..20]).await;
    let host = reader.start().await;
    reader.wait_place(0, 10, 10).await;
    reader.wait_place(1, 10, 10).await;
    assert_eq!(host.terminate().await, 0);
    reader.pay(&paid[20..21]).await;
    reader.env.kafka.delete_records(&reader.topic, 0, 11).await;

    let host = host.restart().await;
    wait_stopped(&host, "the next offset is 10, but the log begins at 11").await;
    reader.pay_to(1, &paid[21..]).await;
    reader.wait_place(1, 19, 19).await;
    reader.wait_place(0, 10, 10).await;
    ledger
        .assert_exact(&[&paid[..20], &paid[21..]].concat())
        .await;
    assert_eq!(host.terminate().await, 3, "a partition was stopped");
}
