//! Only the owner commits: whoever was overtaken commits nothing, says so, and may come back.
//!
//! All run with `dedup = "off"`: the inbox must not be what saves them.

use tidegate_tests::{Consumer, Host, HostConfig, Ledger, TestEnv, payments, test_env, wait_for};

use crate::rows::{AccountLock, Counts, PATIENCE, recs, settled, wait_blocked, wait_owned};

async fn unguarded(env: &TestEnv, topic: &str) -> Consumer {
    let consumer = env.consumer(topic, "credit-rust").await;
    consumer.set("dedup", "off").batch("max_records", 10)
}

/// A stopped host's transaction is ended by the server after nine seconds, about the least that is allowed.
fn impatient(config: HostConfig) -> HostConfig {
    config
        .set("postgres", "idle_in_transaction_timeout", "9s")
        .set("postgres", "prune_interval", "1h")
}

async fn all_end_well(hosts: &[&Host]) {
    for host in hosts {
        assert_eq!(host.terminate().await, 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_slept_in_mid_batch_while_another_took_over_commits_nothing() {
    let env = test_env("sleeper").await;
    let (topic, ledger) = (env.topic("t", 1).await, Ledger::create(&env.db, 11).await);
    let config = impatient(env.config()).consumer(unguarded(&env, &topic).await);
    let sleeper = env.host(config.clone()).start().await;
    let mut paid = payments(40, 10);
    paid[15].account_id = 11;
    env.kafka.produce(&topic, recs(&paid[..10])).await;
    settled(&env.db, Counts::done(10)).await;
    let lock = AccountLock::take(&env.db, 11).await;
    env.kafka.produce(&topic, recs(&paid[10..30])).await;
    wait_blocked(&env.db, 1).await;
    sleeper.stop_signal();
    // The sleeper's transaction now only lacks the sleeper.
    lock.release().await;

    let heir = env.host(config).start().await;
    settled(&env.db, Counts::done(30)).await;
    sleeper.cont();
    sleeper.wait_log("fenced", PATIENCE).await;
    env.kafka.produce(&topic, recs(&paid[30..])).await;
    ledger.wait_exact(&paid, PATIENCE).await;
    settled(&env.db, Counts::done(40)).await;
    all_end_well(&[&sleeper, &heir]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_slept_over_its_commit_while_another_took_over_commits_nothing() {
    let env = test_env("on-the-wire").await;
    let (topic, ledger) = (env.topic("t", 1).await, Ledger::create(&env.db, 10).await);
    let proxy = env.pg_proxy().await;
    let config = impatient(env.config()).consumer(unguarded(&env, &topic).await);
    let behind = config.clone().postgres(&env.db.url_via(&proxy));
    let sleeper = env.host(behind).start().await;
    let paid = payments(40, 10);
    env.kafka.produce(&topic, recs(&paid[..10])).await;
    settled(&env.db, Counts::done(10)).await;
    let hold = proxy.hold_when(&b"COMMIT\0"[..]);
    env.kafka.produce(&topic, recs(&paid[10..30])).await;
    hold.held(PATIENCE).await;
    sleeper.stop_signal();

    let heir = env.host(config).start().await;
    settled(&env.db, Counts::done(30)).await;
    hold.release();
    sleeper.cont();
    sleeper.wait_log("fenced", PATIENCE).await;
    env.kafka.produce(&topic, recs(&paid[30..])).await;
    ledger.wait_exact(&paid, PATIENCE).await;
    settled(&env.db, Counts::done(40)).await;
    all_end_well(&[&sleeper, &heir]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_slept_between_batches_leaves_them_to_the_other() {
    let env = test_env("idle-sleeper").await;
    let (topic, ledger) = (env.topic("t", 1).await, Ledger::create(&env.db, 10).await);
    let config = impatient(env.config()).consumer(unguarded(&env, &topic).await);
    let sleeper = env.host(config.clone()).start().await;
    let paid = payments(60, 10);
    env.kafka.produce(&topic, recs(&paid[..20])).await;
    settled(&env.db, Counts::done(20)).await;
    sleeper.stop_signal();
    let heir = env.host(config).start().await;
    env.kafka.produce(&topic, recs(&paid[20..40])).await;
    settled(&env.db, Counts::done(40)).await;
    sleeper.cont();
    env.kafka.produce(&topic, recs(&paid[40..])).await;
    ledger.wait_exact(&paid, PATIENCE).await;
    settled(&env.db, Counts::done(60)).await;
    all_end_well(&[&sleeper, &heir]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_is_fenced_while_kafka_still_gives_it_the_partition_takes_up_work_again() {
    let env = test_env("comes-back").await;
    let (topic, ledger) = (env.topic("t", 1).await, Ledger::create(&env.db, 10).await);
    let config = impatient(env.config()).consumer(unguarded(&env, &topic).await);
    let host = env.host(config).start().await;
    let paid = payments(60, 10);
    for round in 1..=3 {
        let so_far = &paid[..round * 20];
        env.kafka
            .produce(&topic, recs(&so_far[(round - 1) * 20..]))
            .await;
        ledger.wait_exact(so_far, PATIENCE).await;
        settled(&env.db, Counts::done(so_far.len())).await;
        if round < 3 {
            fence(&env).await;
        }
    }
    assert!(
        host.log_count("fenced") >= 2,
        "the host was to say each time that it was fenced"
    );
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_is_fenced_under_load_takes_up_work_again() {
    let env = test_env("under-load").await;
    let (topic, ledger) = (env.topic("t", 3).await, Ledger::create(&env.db, 10).await);
    let config = impatient(env.config()).consumer(unguarded(&env, &topic).await);
    let host = env.host(config).start().await;
    let paid = payments(3_000, 10);
    env.kafka.produce(&topic, recs(&paid)).await;
    for fences in 1..=4 {
        crate::rows::wait_next(&env.db, fences * 300).await;
        fence(&env).await;
    }
    ledger.wait_exact(&paid, PATIENCE).await;
    settled(&env.db, Counts::done(3_000)).await;
    assert!(host.log_count("fenced") >= 1);
    assert_eq!(host.terminate().await, 0);
}

/// Takes every partition's token away, as an owner would whom Kafka knows nothing of.
async fn fence(env: &TestEnv) {
    wait_owned(
        &env.db,
        env.db
            .query_one_i64("SELECT count(*) FROM tidegate.progress")
            .await,
    )
    .await;
    // A batch in flight holds the row: the token goes behind it.
    wait_for(PATIENCE, "the tokens to be taken", async || {
        let take = "UPDATE tidegate.progress SET owner = gen_random_uuid()";
        env.db.try_exec(take).await.ok()
    })
    .await;
}
