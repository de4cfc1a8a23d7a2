//! Where a partition goes on when there is a progress row: N, whatever Kafka's offset and the TTL say.
//!
//! Claims are over at once in these: only the position keeps records from running twice. The submodules hold the rest of
//! the table: rewinds, positions outside the log, new consumers, an old owner's late word.

mod new;
mod race;
mod range;
mod rewind;

use tidegate_tests::{Pattern, payments};

use crate::reader::{ACCOUNTS, Reader, gone};
use crate::rows::{Counts, PATIENCE, settled};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_goes_on_at_the_recorded_position() {
    let reader = Reader::forgetful("restart", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(15, ACCOUNTS));
    reader.pay(&paid[..10]).await;
    let host = reader.start().await;
    settled(&reader.env.db, Counts::done(10)).await;
    assert_eq!(host.terminate().await, 0);
    assert_eq!(reader.group_offset().await, Some(10));
    reader.wait_expired(10).await;

    let host = host.restart().await;
    reader.pay(&paid[10..]).await;
    settled(&reader.env.db, Counts::done(15)).await;
    ledger.assert_exact(&paid).await;
    assert_eq!(host.terminate().await, 0);
    assert_eq!(reader.group_offset().await, Some(15));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_between_the_two_commits_redoes_nothing_and_is_told() {
    let reader = Reader::forgetful("between", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(25, ACCOUNTS));
    let proxy = reader.env.kafka_proxy().await;
    let config = reader
        .config()
        .bootstrap(&proxy.addr())
        .librdkafka("group.instance.id", "a")
        // Heartbeats stand behind the commit that is held.
        .librdkafka("session.timeout.ms", "30000");
    let host = reader.env.host(config).start().await;
    reader.pay(&paid[..10]).await;
    settled(&reader.env.db, Counts::done(10)).await;

    let hold = proxy.hold_when(Pattern::KafkaApi(8));
    reader.pay(&paid[10..20]).await;
    ledger.wait_exact(&paid[..20], PATIENCE).await;
    hold.held(PATIENCE).await;
    host.kill();
    gone(&proxy).await;
    drop(hold);
    assert_eq!(reader.group_offset().await, Some(10), "K");
    let place = reader.place(0).await.unwrap();
    assert_eq!((place.next, place.committed), (20, Some(10)), "N and C");
    reader.wait_expired(20).await;

    let host = host.restart().await;
    let told = "offset 10 is behind the recorded position 20; going on at 20, nothing is redone";
    host.wait_log(told, PATIENCE).await;
    reader.pay(&paid[20..]).await;
    settled(&reader.env.db, Counts::done(25)).await;
    ledger.assert_exact(&paid).await;
    assert_eq!(host.terminate().await, 0);
    assert_eq!(reader.group_offset().await, Some(25));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_that_was_set_ahead_skips_nothing_and_is_warned_about() {
    let reader = Reader::forgetful("ahead", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(25, ACCOUNTS));
    reader.pay(&paid[..10]).await;
    let host = reader.start().await;
    settled(&reader.env.db, Counts::done(10)).await;
    assert_eq!(host.terminate().await, 0);
    reader.pay(&paid[10..20]).await;
    reader.set_group(15).await;

    let host = host.restart().await;
    let told = "offset 15 is ahead of the recorded position 10; going on at 10";
    host.wait_log(told, PATIENCE).await;
    assert!(
        host.log()
            .lines()
            .any(|line| line.contains(told) && line.contains("WARN"))
    );
    settled(&reader.env.db, Counts::done(20)).await;
    ledger.assert_exact(&paid[..20]).await;
    assert_eq!(host.terminate().await, 0);
    assert_eq!(reader.group_offset().await, Some(20));

    let host = host.restart().await;
    reader.pay(&paid[20..]).await;
    settled(&reader.env.db, Counts::done(25)).await;
    ledger.assert_exact(&paid).await;
    assert_eq!(host.log_count("is ahead of"), 0);
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_set_beyond_the_logs_end_skips_nothing_either() {
    let reader = Reader::forgetful("far-ahead", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(20, ACCOUNTS));
    reader.pay(&paid[..10]).await;
    let host = reader.start().await;
    settled(&reader.env.db, Counts::done(10)).await;
    assert_eq!(host.terminate().await, 0);
    reader.set_group(1_000_000).await;

    let host = host.restart().await;
    host.wait_log("is ahead of the recorded position 10", PATIENCE)
        .await;
    reader.pay(&paid[10..]).await;
    ledger.wait_exact(&paid, PATIENCE).await;
    let place = reader.place(0).await.unwrap();
    assert_eq!((place.next, place.done), (20, 20));
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expired_group_goes_on_at_the_recorded_position() {
    let reader = Reader::forgetful("expired", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(15, ACCOUNTS));
    reader.pay(&paid[..10]).await;
    let host = reader.start().await;
    settled(&reader.env.db, Counts::done(10)).await;
    assert_eq!(host.terminate().await, 0);
    reader.env.kafka.delete_group(reader.name()).await;
    assert_eq!(reader.group_offset().await, None);
    reader.wait_expired(10).await;

    let host = host.restart().await;
    let told = "Kafka no longer knows an offset of the group; going on at the recorded position 10";
    host.wait_log(told, PATIENCE).await;
    reader.pay(&paid[10..]).await;
    settled(&reader.env.db, Counts::done(15)).await;
    ledger.assert_exact(&paid).await;
    assert_eq!(host.terminate().await, 0);
    assert_eq!(reader.group_offset().await, Some(15));
}
