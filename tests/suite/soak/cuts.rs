//! Connections cut while an answer is on its way.

use tidegate_tests::{Ledger, Pattern, payments, test_env, wait_for};

use super::{exact, size};
use crate::rows::{Counts, PATIENCE, letters, recs, settled};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_answers_to_commit_double_nothing_although_dedup_is_off() {
    let times = size(15, 50);
    let env = test_env("commit-cut").await;
    let topic = env.topic("t", 1).await;
    let ledger = Ledger::journaled(&env.db, 20).await;
    let proxy = env.pg_proxy().await;
    let consumer = env.consumer(&topic, "credit-rust").await;
    let consumer = consumer.set("dedup", "off").batch("max_records", 10);
    let config = env.config().postgres(&env.db.url_via(&proxy));
    let config = config
        .set("postgres", "prune_interval", "1h")
        .consumer(consumer);
    let host = env.host(config).start().await;
    let paid = payments(10 + times * 30, 20);
    env.kafka.produce(&topic, recs(&paid[..10])).await;
    settled(&env.db, Counts::done(10)).await;

    proxy.cut_on_reply_after(&b"COMMIT\0"[..], times);
    env.kafka.produce(&topic, recs(&paid[10..])).await;
    exact(&env, &ledger, &paid, 0).await;
    assert_eq!(proxy.cuts(), times);
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_answer_to_an_offset_commit_costs_nothing() {
    let env = test_env("offset-cut").await;
    let (topic, ledger) = (env.topic("t", 1).await, Ledger::create(&env.db, 20).await);
    let proxy = env.kafka_proxy().await;
    let consumer = env
        .consumer(&topic, "credit-rust")
        .await
        .set("dedup", "off");
    let (group, consumer) = (consumer.name.clone(), consumer.batch("max_records", 10));
    let config = env.config().bootstrap(&proxy.addr()).consumer(consumer);
    let host = env.host(config).start().await;
    proxy.cut_on_reply_after(Pattern::KafkaApi(8), 3);
    let paid = payments(200, 20);
    for (i, some) in paid.chunks(50).enumerate() {
        env.kafka.produce(&topic, recs(some)).await;
        ledger.wait_exact(&paid[..(i + 1) * 50], PATIENCE).await;
        wait_for(PATIENCE, "another cut", async || {
            (proxy.cuts() > i.min(2)).then_some(())
        })
        .await;
    }
    settled(&env.db, Counts::done(200)).await;
    assert_eq!(proxy.cuts(), 3);
    assert_eq!(env.kafka.group_offset(&group, &topic, 0).await, Some(200));
    assert_eq!(letters(&env.db).await, 0);
    assert_eq!(host.terminate().await, 0);
}
