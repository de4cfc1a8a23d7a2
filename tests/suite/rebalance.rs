//! Hosts of one group: partitions spread, move and come back, and the books stay exact.

use tidegate_tests::{Ledger, payments, test_env, wait_eq};

use crate::rows::{
    Counts, PATIENCE, counts, letters, recs, settled, slow_recs, wait_next, wait_owned,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_spread_over_two_hosts_and_go_to_the_one_that_stays() {
    let env = test_env("spread").await;
    let (topic, ledger) = (env.topic("t", 4).await, Ledger::create(&env.db, 40).await);
    let consumer = env.consumer(&topic, "slow").await.batch("max_records", 10);
    let group = consumer.name.clone();
    let config = env.config().consumer(consumer);
    let leaver = env.host(config.clone()).start().await;
    wait_owned(&env.db, 4).await;
    let stayer = env.host(config).start().await;
    wait_eq(PATIENCE, "partitions of the second host", 2, async || {
        stayer.log_count("position taken")
    })
    .await;
    assert_eq!(env.kafka.group_members(&group).await, 2);

    let paid = payments(600, 40);
    env.kafka.produce(&topic, slow_recs(&paid, 10)).await;
    wait_next(&env.db, 100).await;
    assert_eq!(leaver.terminate().await, 0);
    assert_eq!(
        leaver.log_count("partition given back"),
        4,
        "two to the other host when it came, two at the end"
    );
    let handled = counts(&env.db).await.next;
    assert!(handled < 600, "the host was to leave under load");
    ledger.wait_exact(&paid, PATIENCE).await;
    settled(&env.db, Counts::done(600)).await;
    assert_eq!(stayer.log_count("position taken"), 4);
    assert_eq!(letters(&env.db).await, 0);
    assert_eq!(stayer.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partition_that_goes_away_while_it_is_paused_is_consumed_when_it_comes_back() {
    const RECORDS: usize = 120_000;
    let env = test_env("comes_back").await;
    let topic = env.topic("t", 4).await;
    let ledger = Ledger::create(&env.db, 1_000).await;
    let paid = payments(RECORDS, 1_000);
    env.kafka.produce(&topic, recs(&paid)).await;
    let consumer = env.consumer(&topic, "credit-rust").await;
    let config = env.config().consumer(consumer);
    // Its queues are full, and so paused, long before their records are handled.
    let stayer = env.host(config.clone()).start().await;
    wait_next(&env.db, 1_000).await;
    let guest = env.host(config).start().await;
    let came = async || guest.log_count("position taken");
    wait_eq(PATIENCE, "partitions of the second host", 2, came).await;
    assert_eq!(guest.terminate().await, 0);
    ledger.wait_exact(&paid, PATIENCE).await;
    settled(&env.db, Counts::done(RECORDS)).await;
    assert_eq!(stayer.log_count("position taken"), 6);
    assert_eq!(stayer.terminate().await, 0);
}
