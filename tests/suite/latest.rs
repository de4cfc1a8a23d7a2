//! `start = "latest"` counts once, when a consumer first meets a topic: nothing written after that is lost.

use tidegate_tests::{Ledger, Pattern, Payment, payments, secs, test_env, wait_eq, wait_for};

use crate::reader::{ACCOUNTS, Reader, wait_taken};
use crate::rows::{Counts, PATIENCE, counts, settled};

async fn latest(name: &str, partitions: i32) -> Reader {
    let reader = Reader::new(name, partitions).await;
    reader.with(|c| c.set("start", "latest"))
}

/// Writes the payments in turn to `partitions` partitions.
async fn spread(reader: &Reader, partitions: i32, paid: &[Payment]) {
    let size = paid.len() / usize::try_from(partitions).unwrap();
    for (partition, part) in (0..partitions).zip(paid.chunks(size)) {
        reader.pay_to(partition, part).await;
    }
}

async fn wait_registered(reader: &Reader, rows: usize) {
    wait_for(PATIENCE, "every partition's row", async || {
        for partition in 0..i32::try_from(rows).unwrap() {
            reader.place(partition).await?;
        }
        Some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_starts_a_second_later_loses_nothing_written_in_between() {
    let reader = latest("two-hosts", 4).await;
    let (ledger, paid) = (reader.ledger().await, payments(120, ACCOUNTS));
    spread(&reader, 4, &paid[..40]).await;
    let first = reader.start().await;
    wait_registered(&reader, 4).await;
    spread(&reader, 4, &paid[40..80]).await;
    let second = reader.start().await;
    wait_taken(&second, 2).await;
    spread(&reader, 4, &paid[80..]).await;

    let all = Counts {
        next: 120,
        committed: 120,
        ..Counts::done(80)
    };
    settled(&reader.env.db, all).await;
    ledger.assert_exact(&paid[40..]).await;
    assert_eq!(first.terminate().await, 0);
    assert_eq!(second.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_killed_after_the_registration_leaves_nothing_to_the_policy() {
    let reader = latest("killed", 4).await;
    let (ledger, paid) = (reader.ledger().await, payments(80, ACCOUNTS));
    spread(&reader, 4, &paid[..40]).await;
    let first = reader.start().await;
    wait_registered(&reader, 4).await;
    first.kill();
    spread(&reader, 4, &paid[40..]).await;
    let second = reader.start().await;
    let all = Counts {
        next: 80,
        committed: 80,
        ..Counts::done(40)
    };
    settled(&reader.env.db, all).await;
    ledger.assert_exact(&paid[40..]).await;
    assert_eq!(second.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partition_that_is_added_later_starts_at_its_beginning() {
    let reader = latest("added", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(30, ACCOUNTS));
    reader.pay(&paid[..10]).await;
    let config = reader
        .config()
        .librdkafka("topic.metadata.refresh.interval.ms", "500");
    let host = reader.env.host(config).start().await;
    wait_registered(&reader, 1).await;

    reader.env.kafka.add_partitions(&reader.topic, 3).await;
    reader.pay_to(1, &paid[10..20]).await;
    reader.wait_place(1, 10, 10).await;
    reader.wait_place(2, 0, 0).await;
    reader.pay_to(2, &paid[20..]).await;
    reader.wait_place(2, 10, 10).await;
    ledger.assert_exact(&paid[10..]).await;
    assert_eq!(counts(&reader.env.db).await.done, 20);
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partition_that_was_added_while_no_host_ran_starts_at_its_beginning() {
    let reader = latest("offline", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(20, ACCOUNTS));
    reader.pay(&paid[..10]).await;
    let host = reader.start().await;
    wait_registered(&reader, 1).await;
    assert_eq!(host.terminate().await, 0);
    reader.env.kafka.add_partitions(&reader.topic, 2).await;
    reader.pay_to(1, &paid[10..]).await;
    let host = host.restart().await;
    reader.wait_place(1, 10, 10).await;
    ledger.assert_exact(&paid[10..]).await;
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_is_open_at_the_registration_is_not_skipped() {
    let reader = latest("open", 1).await;
    let (ledger, paid) = (reader.ledger().await, payments(20, ACCOUNTS));
    reader.pay(&paid[..10]).await;
    let recs = crate::rows::recs(&paid[10..]);
    let open = reader.env.kafka.begin(&reader.topic, recs).await;
    let host = reader.start().await;
    wait_eq(secs(30), "the stored position", Some(10), async || {
        Some(reader.place(0).await?.next)
    })
    .await;
    open.commit().await;
    ledger.wait_exact(&paid[10..], PATIENCE).await;
    assert_eq!(reader.place(0).await.unwrap().next, 20);
    assert_eq!(host.terminate().await, 0);
}

/// What a host that is ready has promised.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_written_after_the_host_says_that_it_is_ready_is_skipped() {
    let reader = latest("ready", 4).await;
    let (ledger, paid) = (reader.ledger().await, payments(52, ACCOUNTS));
    spread(&reader, 4, &paid[..40]).await;
    let host = reader.env.host(reader.config().watched()).start().await;
    host.wait_status("/readyz", 200).await;
    spread(&reader, 4, &paid[40..]).await;
    let all = Counts {
        next: 52,
        committed: 52,
        ..Counts::done(12)
    };
    settled(&reader.env.db, all).await;
    ledger.assert_exact(&paid[40..]).await;
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_topics_end_is_written_down_before_a_handler_is_looked_at() {
    let reader = latest("first-of-all", 3).await;
    let paid = payments(30, ACCOUNTS);
    spread(&reader, 3, &paid).await;
    let file = reader.env.dir().join("none.wasm");
    std::fs::write(&file, "no module").unwrap();
    let config = reader
        .env
        .config()
        .consumer(reader.consumer().handler(file));
    let host = reader.env.host(config).start().await;
    assert_eq!(host.wait_exit(PATIENCE).await, 2);
    for partition in 0..3 {
        assert_eq!(reader.place(partition).await.unwrap().next, 10);
    }
}

/// The end that counts is the one that was seen first, however long the group's offset cannot be read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_offset_that_cannot_be_read_moves_no_end() {
    let reader = latest("unread", 4).await;
    let (ledger, paid) = (reader.ledger().await, payments(52, ACCOUNTS));
    spread(&reader, 4, &paid[..40]).await;
    let proxy = reader.env.kafka_proxy().await;
    proxy.cut_on_reply_after(Pattern::KafkaApi(9), usize::MAX);
    let config = reader.config().watched().bootstrap(&proxy.addr());
    let host = reader.env.host(config).start().await;
    wait_for(PATIENCE, "the question for the offset", async || {
        (proxy.seen() > 0).then_some(())
    })
    .await;
    spread(&reader, 4, &paid[40..]).await;
    wait_for(PATIENCE, "the reason", async || {
        let answer = host.ask("/readyz").await;
        assert_eq!(answer.status, 503, "{answer:?}");
        answer.body.contains("not-registered").then_some(())
    })
    .await;
    proxy.cut_on_reply_after(Pattern::KafkaApi(9), 0);
    let all = Counts {
        next: 52,
        committed: 52,
        ..Counts::done(12)
    };
    settled(&reader.env.db, all).await;
    ledger.assert_exact(&paid[40..]).await;
    host.wait_status("/readyz", 200).await;
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_that_is_made_later_is_read_from_its_beginning_also_after_a_kill() {
    let env = test_env("made-later").await;
    let topic = env.unique("t");
    let ledger = Ledger::create(&env.db, ACCOUNTS).await;
    let consumer = env.consumer(&topic, "credit-rust").await;
    let config = env
        .config()
        .watched()
        .consumer(consumer.set("start", "latest"));
    let config = config.librdkafka("topic.metadata.refresh.interval.ms", "500");
    let host = env.host(config).start().await;
    host.wait_status("/readyz", 200).await;
    host.kill();
    env.kafka.create_topic(&topic, 3, &[]).await;
    let paid = payments(30, ACCOUNTS);
    for (partition, part) in (0..3).zip(paid.chunks(10)) {
        let recs = crate::rows::recs(part).into_iter();
        let recs = recs.map(|rec| rec.to(partition)).collect();
        env.kafka.produce(&topic, recs).await;
    }
    let host = host.restart().await;
    settled(&env.db, Counts::done(30)).await;
    ledger.assert_exact(&paid).await;
    assert_eq!(host.terminate().await, 0);
}
