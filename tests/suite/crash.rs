//! The host killed by SIGKILL at chosen points: nothing is missing afterwards and nothing is doubled.
//!
//! Most run with `dedup = "off"` or a TTL that is over at the restart, so that only the position can save them.

use tidegate_tests::{
    Consumer, HostConfig, Ledger, Pattern, TestEnv, payments, test_env, wait_for,
};

use crate::reader::gone;
use crate::rows::{
    AccountLock, Counts, PATIENCE, batches, counts, recs, settled, wait_blocked, wait_next,
};

/// The end of the query that commits a batch. "READ COMMITTED" is not taken for it.
const COMMIT: &[u8] = b"COMMIT\0";

/// A static member comes back at once after a kill, without waiting for its old session to end.
fn member(config: HostConfig) -> HostConfig {
    config.librdkafka("group.instance.id", "a")
}

async fn consumer(env: &TestEnv, topic: &str) -> Consumer {
    env.consumer(topic, "credit-rust").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_after_the_database_commit_and_before_the_offset_commit() {
    let env = test_env("after-commit").await;
    let (topic, ledger) = (env.topic("t", 1).await, Ledger::create(&env.db, 5).await);
    let proxy = env.kafka_proxy().await;
    let consumer = consumer(&env, &topic).await;
    let (group, hold) = (consumer.name.clone(), proxy.hold_when(Pattern::KafkaApi(8)));
    let consumer = consumer.dedup("ttl", "20ms").dedup("min_ttl", "20ms");
    let config = member(env.config()).bootstrap(&proxy.addr());
    let host = env.host(config.consumer(consumer)).start().await;
    let paid = payments(30, 5);
    env.kafka.produce(&topic, recs(&paid[..20])).await;
    ledger.wait_exact(&paid[..20], PATIENCE).await;
    hold.held(PATIENCE).await;
    host.kill();
    assert_eq!(env.kafka.group_offset(&group, &topic, 0).await, None);
    let expired = "SELECT count(*) FROM tidegate.processed_events WHERE processed_until < now()";
    wait_for(PATIENCE, "every claim to expire", async || {
        (env.db.query_one_i64(expired).await == 20).then_some(())
    })
    .await;

    drop(hold);
    let _host = host.restart().await;
    env.kafka.produce(&topic, recs(&paid[20..])).await;
    ledger.wait_exact(&paid, PATIENCE).await;
    settled(&env.db, Counts::done(30)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_before_the_database_commit() {
    let env = test_env("before-commit").await;
    let (topic, ledger) = (env.topic("t", 1).await, Ledger::create(&env.db, 5).await);
    let proxy = env.pg_proxy().await;
    let consumer = consumer(&env, &topic).await.set("dedup", "off");
    let config = member(env.config()).postgres(&env.db.url_via(&proxy));
    let config = config.set("postgres", "prune_interval", "1h");
    let host = env.host(config.consumer(consumer)).start().await;
    let paid = payments(30, 5);
    env.kafka.produce(&topic, recs(&paid[..10])).await;
    // Once the offset is written down as well, the next COMMIT is a batch's.
    settled(&env.db, Counts::done(10)).await;

    let hold = proxy.hold_when(COMMIT);
    env.kafka.produce(&topic, recs(&paid[10..])).await;
    hold.held(PATIENCE).await;
    host.kill();
    // What is held must go with its connection, not to the server.
    gone(&proxy).await;
    drop(hold);
    assert_eq!(counts(&env.db).await, Counts::done(10));
    ledger.assert_exact(&paid[..10]).await;
    let _host = host.restart().await;
    ledger.wait_exact(&paid, PATIENCE).await;
    settled(&env.db, Counts::done(30)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_in_the_middle_of_a_batch() {
    let env = test_env("mid-batch").await;
    let (topic, ledger) = (env.topic("t", 1).await, Ledger::create(&env.db, 20).await);
    let consumer = consumer(&env, &topic).await.set("dedup", "off");
    let consumer = consumer.batch("max_records", 20).batch("max_wait", "10s");
    let mut paid = payments(40, 19);
    // Its account is credited by nobody else, half way through the batch.
    paid[10].account_id = 20;
    let lock = AccountLock::take(&env.db, 20).await;
    env.kafka.produce(&topic, recs(&paid)).await;
    let host = env
        .host(member(env.config()).consumer(consumer))
        .start()
        .await;
    wait_blocked(&env.db, 1).await;
    host.kill();
    assert_eq!(counts(&env.db).await, Counts::default());
    ledger.assert_exact(&[]).await;

    lock.release().await;
    let _host = host.restart().await;
    ledger.wait_exact(&paid, PATIENCE).await;
    settled(&env.db, Counts::done(40)).await;
    assert_eq!(
        batches(&env.db).await,
        2,
        "what was begun before the kill counts for nothing"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_between_two_batches_with_the_rest_already_fetched() {
    let env = test_env("fetched").await;
    let (topic, ledger) = (env.topic("t", 1).await, Ledger::create(&env.db, 20).await);
    let consumer = consumer(&env, &topic).await.set("dedup", "off");
    let consumer = consumer.batch("max_records", 10).batch("max_wait", "10s");
    let mut paid = payments(100, 19);
    paid[50].account_id = 20;
    let lock = AccountLock::take(&env.db, 20).await;
    env.kafka.produce(&topic, recs(&paid)).await;
    let host = env
        .host(member(env.config()).consumer(consumer))
        .start()
        .await;
    wait_next(&env.db, 50).await;
    wait_blocked(&env.db, 1).await;
    host.kill();
    lock.release().await;
    ledger.wait_exact(&paid[..50], PATIENCE).await;
    let _host = host.restart().await;
    ledger.wait_exact(&paid, PATIENCE).await;
    settled(&env.db, Counts::done(100)).await;
}
