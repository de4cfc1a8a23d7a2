//! A record or an event that comes again has no further effect, and is counted as what it is.

use tidegate_tests::{Ledger, TestEnv, payments, secs, test_env};

use crate::rows::{
    AccountLock, Counts, PATIENCE, batches, counts, recs, settled, slow_recs, wait_blocked,
    wait_next, wait_owned,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_records_delivered_twice_have_their_effect_once() {
    let env = test_env("twice").await;
    let (topic, ledger) = (env.topic("t", 1).await, Ledger::create(&env.db, 5).await);
    let consumer = env.consumer(&topic, "credit-rust").await;
    let group = consumer.name.clone();
    let host = env.host(env.config().consumer(consumer)).start().await;
    let paid = payments(10, 5);
    env.kafka.produce(&topic, recs(&paid)).await;
    ledger.wait_exact(&paid, PATIENCE).await;
    settled(&env.db, Counts::done(10)).await;
    assert_eq!(host.terminate().await, 0);

    env.kafka.commit_group_offset(&group, &topic, 0, 0).await;
    let host = host.restart().await;
    let again = Counts {
        redelivered: 10,
        ..Counts::done(10)
    };
    settled(&env.db, again).await;
    ledger.assert_exact(&paid).await;
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_event_at_two_offsets_of_one_batch_has_its_effect_once() {
    republished_in_one_partition("one-batch", 4, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_event_at_two_offsets_in_two_batches_has_its_effect_once() {
    republished_in_one_partition("two-batches", 1, 4).await;
}

/// Four records of three events, cut into batches of `max_records`.
async fn republished_in_one_partition(name: &str, max_records: usize, expected_batches: i64) {
    let env = test_env(name).await;
    let (topic, ledger) = (env.topic("t", 1).await, Ledger::create(&env.db, 5).await);
    let mut paid = payments(3, 5);
    paid.push(paid[0].clone());
    env.kafka.produce(&topic, recs(&paid)).await;
    let consumer = env.consumer(&topic, "credit-rust").await;
    let consumer = consumer
        .batch("max_records", max_records)
        .batch("max_wait", "10s");
    let host = env.host(env.config().consumer(consumer)).start().await;
    ledger.wait_exact(&paid, PATIENCE).await;
    let once = Counts {
        done: 3,
        republished: 1,
        ..Counts::done(4)
    };
    settled(&env.db, once).await;
    assert_eq!(batches(&env.db).await, expected_batches);
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_event_in_two_partitions_of_one_host_at_once_has_its_effect_once() {
    let env = test_env("two-partitions").await;
    let topic = env.topic("t", 2).await;
    let config = env
        .config()
        .consumer(env.consumer(&topic, "credit-rust").await);
    let host = env.host(config).start().await;
    wait_owned(&env.db, 2).await;
    republished_at_once(&env, &topic).await;
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_event_in_two_partitions_of_two_hosts_at_once_has_its_effect_once() {
    let env = test_env("two-hosts").await;
    let topic = env.topic("t", 2).await;
    let config = env
        .config()
        .consumer(env.consumer(&topic, "credit-rust").await);
    let first = env.host(config.clone()).start().await;
    wait_owned(&env.db, 2).await;
    let second = env.host(config).start().await;
    second.wait_log("position taken", PATIENCE).await;
    republished_at_once(&env, &topic).await;
    for host in [first, second] {
        assert_eq!(host.terminate().await, 0);
    }
}

/// One event in both partitions, the second claimed while the first is not committed: both wait until the lock goes.
async fn republished_at_once(env: &TestEnv, topic: &str) {
    let ledger = Ledger::create(&env.db, 1).await;
    let paid = payments(1, 1);
    let lock = AccountLock::take(&env.db, 1).await;
    let both = vec![paid[0].rec().to(0), paid[0].rec().to(1)];
    env.kafka.produce(topic, both).await;
    wait_blocked(&env.db, 2).await;
    lock.release().await;
    let once = Counts {
        done: 1,
        republished: 1,
        ..Counts::done(2)
    };
    settled(&env.db, once).await;
    ledger.assert_exact(&paid).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigterm_under_load_leaves_every_position_committed_and_the_next_start_redelivers_nothing()
{
    let env = test_env("sigterm").await;
    let (topic, ledger) = (env.topic("t", 2).await, Ledger::create(&env.db, 50).await);
    let consumer = env.consumer(&topic, "slow").await.batch("max_records", 10);
    let group = consumer.name.clone();
    let paid = payments(400, 50);
    env.kafka.produce(&topic, slow_recs(&paid, 5)).await;
    let host = env.host(env.config().consumer(consumer)).start().await;
    wait_next(&env.db, 40).await;
    assert_eq!(host.terminate().await, 0);
    let handled = committed_everywhere(&env, &group, &topic).await;
    assert!(
        handled < 400,
        "the host was to be stopped before its work was over"
    );

    let host = host.restart().await;
    ledger.wait_exact(&paid, PATIENCE).await;
    settled(&env.db, Counts::done(400)).await;
    assert_eq!(host.terminate().await, 0);
    assert_eq!(committed_everywhere(&env, &group, &topic).await, 400);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigterm_of_an_idle_host_ends_it_at_once() {
    let env = test_env("idle").await;
    let (topic, ledger) = (env.topic("t", 2).await, Ledger::create(&env.db, 5).await);
    let consumer = env.consumer(&topic, "credit-rust").await;
    let host = env.host(env.config().consumer(consumer)).start().await;
    let paid = payments(10, 5);
    env.kafka.produce(&topic, recs(&paid)).await;
    ledger.wait_exact(&paid, PATIENCE).await;
    settled(&env.db, Counts::done(10)).await;
    let asked = std::time::Instant::now();
    assert_eq!(host.terminate().await, 0);
    assert!(
        asked.elapsed() < secs(5),
        "it took {:?} to leave",
        asked.elapsed()
    );
}

/// Asserts Kafka's offset = N = C in every partition; the sum of them.
async fn committed_everywhere(env: &TestEnv, group: &str, topic: &str) -> i64 {
    let rows = "SELECT partition, next_offset, committed FROM tidegate.progress ORDER BY partition";
    for row in env.db.query_text(rows).await {
        let cell = |i: usize| row[i].as_ref().map(|text| text.parse::<i64>().unwrap());
        let partition = i32::try_from(cell(0).unwrap()).unwrap();
        let kafka = env.kafka.group_offset(group, topic, partition).await;
        assert_eq!(
            (cell(1), cell(2)),
            (kafka, kafka),
            "N and C of partition {partition} against Kafka's offset"
        );
    }
    counts(&env.db).await.next
}
