//! SIGTERM and revocations: what is under way ends or is rolled back by a deadline, offsets are committed, and the next
//! host goes on at once.

use tidegate_tests::{Consumer, Db, Host, Ledger, Payment, payments, wait_eq};

use crate::reader::{ACCOUNTS, Reader, wait_taken};
use crate::rows::{Counts, PATIENCE, counts, settled, slow_recs, wait_next};

/// Longer than the harness waits for a host's end less the start of one: no test waits it out.
const VERY_SLOW: u64 = 28_000;

/// Waits until a handler sleeps in the database.
async fn wait_asleep(db: &Db, handlers: i64) {
    let asleep = "SELECT count(*) FROM pg_stat_activity
                   WHERE datname = current_database() AND wait_event = 'PgSleep'";
    wait_eq(PATIENCE, "sleeping handlers", handlers, async || {
        db.query_one_i64(asleep).await
    })
    .await;
}

/// The consumer with a handler that sleeps as its records say.
async fn slow(reader: &Reader) -> Consumer {
    let guest = tidegate_tests::guest("slow").await;
    let consumer = reader.consumer().handler(guest);
    consumer.sql("functions", "pg_sleep")
}

async fn start_slow(reader: &Reader, drain: &str) -> Host {
    let consumer = slow(reader).await.set("drain_timeout", drain);
    let config = reader.env.config().consumer(consumer);
    reader.env.host(config).start().await
}

async fn pay_slowly(reader: &Reader, partition: i32, paid: &[Payment], sleep_ms: u64) {
    let recs = slow_recs(paid, sleep_ms).into_iter();
    let recs = recs.map(|rec| rec.to(partition)).collect();
    reader.env.kafka.produce(&reader.topic, recs).await;
}

/// Each partition's N and Kafka's offset.
async fn both(reader: &Reader, partitions: i32) -> Vec<(i64, Option<i64>)> {
    let mut both = Vec::new();
    for partition in 0..partitions {
        let kafka = &reader.env.kafka;
        let k = kafka
            .group_offset(reader.name(), &reader.topic, partition)
            .await;
        both.push((reader.place(partition).await.unwrap().next, k));
    }
    both
}

/// The rest is handled by a quick host, once: nothing comes again.
async fn the_rest(reader: &Reader, ledger: &Ledger<'_>, paid: &[Payment]) {
    let host = reader.start().await;
    settled(&reader.env.db, Counts::done(paid.len())).await;
    ledger.assert_exact(paid).await;
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_load_kafka_is_left_with_every_position_and_nothing_comes_again() {
    const RECORDS: usize = 100_000;
    let reader = Reader::new("load", 4).await;
    let ledger = Ledger::create(&reader.env.db, 1_000).await;
    let paid = payments(RECORDS, 1_000);
    for (partition, part) in (0..).zip(paid.chunks(RECORDS / 4)) {
        reader.pay_to(partition, part).await;
    }
    let host = reader.start().await;
    // A partition that was never taken has no offset to leave behind.
    wait_taken(&host, 4).await;
    wait_next(&reader.env.db, 2_000).await;
    assert_eq!(host.terminate().await, 0);
    let handled = counts(&reader.env.db).await;
    let all = i64::try_from(RECORDS).unwrap();
    assert!(
        (2_000..all).contains(&handled.next),
        "it was to stop under load"
    );
    assert_eq!(handled.next, handled.committed, "C is N");
    for (n, k) in both(&reader, 4).await {
        assert_eq!(k, Some(n), "Kafka's offset is the row's");
    }
    assert_eq!(host.log_count("partition given back"), 4);

    let host = host.restart().await;
    settled(&reader.env.db, Counts::done(RECORDS)).await;
    ledger.assert_exact(&paid).await;
    let batches = reader
        .env
        .db
        .query_one_i64("SELECT sum(redelivered + republished + taken_over) FROM tidegate.progress");
    assert_eq!(batches.await, 0, "no claim was met twice");
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_host_does_not_wait_for_its_time_outs() {
    let reader = Reader::new("idle", 2).await;
    let reader = reader.with(|c| c.set("drain_timeout", "200s"));
    let (ledger, paid) = (reader.ledger().await, payments(5, ACCOUNTS));
    reader.pay(&paid).await;
    let config = reader.config().set("host", "shutdown_timeout", "10m");
    let host = reader.env.host(config).start().await;
    settled(&reader.env.db, Counts::done(5)).await;
    ledger.assert_exact(&paid).await;
    assert_eq!(host.terminate().await, 0);
    assert_eq!(reader.env.kafka.group_members(reader.name()).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_that_ends_in_time_is_committed_and_no_other_begins() {
    let reader = Reader::new("in-time", 1).await;
    let reader = reader.with(|c| c.batch("max_records", 1));
    let (ledger, paid) = (reader.ledger().await, payments(5, ACCOUNTS));
    pay_slowly(&reader, 0, &paid, 2_000).await;
    let host = start_slow(&reader, "60s").await;
    wait_asleep(&reader.env.db, 1).await;
    assert_eq!(host.terminate().await, 0);
    let [(n, k)] = both(&reader, 1).await[..] else {
        panic!("one partition")
    };
    assert!((1..5).contains(&n), "{n}");
    assert_eq!(k, Some(n));
    let handled = usize::try_from(n).unwrap();
    ledger.assert_exact(&paid[..handled]).await;
    the_rest(&reader, &ledger, &paid).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_that_outlasts_the_deadline_is_rolled_back_and_the_exit_is_clean() {
    let reader = Reader::new("outlasts", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(3, ACCOUNTS));
    pay_slowly(&reader, 0, &paid, VERY_SLOW).await;
    let host = start_slow(&reader, "300ms").await;
    wait_asleep(&reader.env.db, 1).await;
    assert_eq!(host.terminate().await, 0);
    ledger.assert_exact(&[]).await;
    assert_eq!(reader.place(0).await.unwrap().next, 0);
    the_rest(&reader, &ledger, &paid).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_signal_ends_at_once_and_loses_nothing() {
    let reader = Reader::new("twice", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(3, ACCOUNTS));
    pay_slowly(&reader, 0, &paid, VERY_SLOW).await;
    let consumer = slow(&reader).await.set("drain_timeout", "200s");
    let config = reader.env.config().set("host", "shutdown_timeout", "10m");
    let host = reader.env.host(config.consumer(consumer)).start().await;
    wait_asleep(&reader.env.db, 1).await;
    host.interrupt();
    host.wait_log("a second signal ends at once", PATIENCE)
        .await;
    assert_eq!(host.terminate().await, 130);
    ledger.assert_exact(&[]).await;
    the_rest(&reader, &ledger, &paid).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_waits_goes_on_at_once_however_long_sessions_are() {
    let reader = Reader::new("waits", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(4, ACCOUNTS));
    pay_slowly(&reader, 0, &paid[..2], VERY_SLOW).await;
    let long = |consumer| {
        let config = reader.env.config().consumer(consumer);
        // Longer than any test waits: only a member that leaves makes room.
        config.librdkafka("session.timeout.ms", "280000")
    };
    let consumer = slow(&reader).await.set("drain_timeout", "300ms");
    let leaver = reader.env.host(long(consumer)).start().await;
    wait_asleep(&reader.env.db, 1).await;
    let heir = reader.env.host(long(reader.consumer())).start().await;
    wait_eq(PATIENCE, "members", 2, async || {
        reader.env.kafka.group_members(reader.name()).await
    })
    .await;
    assert_eq!(leaver.terminate().await, 0);
    reader.pay(&paid[2..]).await;
    settled(&reader.env.db, Counts::done(4)).await;
    ledger.assert_exact(&paid).await;
    assert_eq!(heir.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revoked_partition_whose_record_outlasts_the_deadline_goes_to_the_newcomer() {
    let reader = Reader::new("revoked", 2).await;
    let (ledger, paid) = (reader.ledger().await, payments(4, ACCOUNTS));
    pay_slowly(&reader, 0, &paid[..1], VERY_SLOW).await;
    pay_slowly(&reader, 1, &paid[1..2], VERY_SLOW).await;
    let first = start_slow(&reader, "300ms").await;
    wait_asleep(&reader.env.db, 2).await;
    let second = reader.start().await;
    wait_taken(&second, 1).await;
    wait_next(&reader.env.db, 1).await;
    assert!(first.is_running());
    assert_eq!(first.terminate().await, 0);
    reader.pay(&paid[2..]).await;
    settled(&reader.env.db, Counts::done(4)).await;
    ledger.assert_exact(&paid).await;
    assert_eq!(second.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_says_nothing_any_more_does_not_keep_the_host() {
    let reader = Reader::new("frozen", 2).await;
    let reader = reader.with(|c| c.set("drain_timeout", "2s"));
    let (ledger, paid) = (reader.ledger().await, payments(20, ACCOUNTS));
    let proxy = reader.env.kafka_proxy().await;
    let config = reader
        .config()
        .bootstrap(&proxy.addr())
        .set("host", "shutdown_timeout", "10s");
    reader.pay(&paid[..10]).await;
    let host = reader.env.host(config).start().await;
    settled(&reader.env.db, Counts::done(10)).await;
    proxy.blackhole();
    // Nothing is lost by it: PostgreSQL knows the position. So this is a clean end.
    assert_eq!(host.terminate().await, 0);

    reader.pay(&paid[10..]).await;
    the_rest(&reader, &ledger, &paid).await;
}
