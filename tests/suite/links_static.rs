//! Static membership: `group.instance.id`. Two hosts with one id, and one that comes back in time.

use tidegate_tests::{Consumer, Host, Ledger, TestEnv, payments, secs, test_env, wait_for};

use crate::rows::{Counts, PATIENCE, recs, settled, wait_owned};

async fn start(env: &TestEnv, id: &str, session: &str, consumers: &[&Consumer]) -> Host {
    let config = env
        .config()
        .librdkafka("group.instance.id", id)
        .librdkafka("session.timeout.ms", session);
    let config = consumers.iter().fold(config, |config, consumer| {
        config.consumer((*consumer).clone())
    });
    env.host(config).start().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_hosts_with_one_id_the_older_ends_and_the_newer_handles_everything_once() {
    let env = test_env("fenced").await;
    let (topic, other) = (env.topic("t", 3).await, env.topic("other", 1).await);
    let ledger = Ledger::create(&env.db, 20).await;
    let shared = env.consumer(&topic, "credit-rust").await;
    let alone = Consumer::new(&env.unique("alone"))
        .topic(&other)
        .handler(tidegate_tests::guest("credit-rust").await);
    let older = start(&env, "one", "10000", &[&shared, &alone]).await;
    let paid = payments(900, 20);
    env.kafka.produce(&topic, recs(&paid[..300])).await;
    env.kafka.produce(&other, recs(&paid[600..])).await;
    settled(&env.db, Counts::done(600)).await;

    let newer = start(&env, "one", "10000", &[&shared]).await;
    assert_eq!(older.wait_exit(secs(60)).await, 1, "{}", older.log());
    let log = older.log();
    let words = "another member uses the same group.instance.id; give each host its own";
    assert!(log.contains(words), "{log}");
    assert!(!log.contains("panicked"), "{log}");
    // The consumer that nobody fenced has given back what it had, committed.
    let group = env.unique("alone");
    assert_eq!(env.kafka.group_offset(&group, &other, 0).await, Some(300));

    env.kafka.produce(&topic, recs(&paid[300..600])).await;
    settled(&env.db, Counts::done(900)).await;
    ledger.assert_exact(&paid).await;
    assert_eq!(newer.terminate().await, 0, "{}", newer.log());
}

/// The owners of the partitions, which change hands with every move.
async fn owners(env: &TestEnv) -> Vec<(String, Option<String>)> {
    let rows = env
        .db
        .query_text("SELECT partition, owner FROM tidegate.progress ORDER BY partition")
        .await;
    rows.into_iter()
        .map(|mut row| (row.remove(0).unwrap_or_default(), row.remove(0)))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_static_member_that_comes_back_in_time_moves_no_partition() {
    let env = test_env("comes-back").await;
    let (topic, ledger) = (env.topic("t", 4).await, Ledger::create(&env.db, 20).await);
    let consumer = env.consumer(&topic, "credit-rust").await;
    let first = start(&env, "first", "30000", &[&consumer]).await;
    wait_owned(&env.db, 4).await;
    let alone = owners(&env).await;
    let second = start(&env, "second", "30000", &[&consumer]).await;
    // Two of the four have moved once the group has settled.
    let moved = wait_for(PATIENCE, "the second host to own half", async || {
        let now = owners(&env).await;
        let same = now.iter().zip(&alone).filter(|(a, b)| a == b).count();
        (same == 2 && now.iter().all(|(_, owner)| owner.is_some())).then_some(now)
    })
    .await;
    let paid = payments(900, 20);
    env.kafka.produce(&topic, recs(&paid[..300])).await;
    settled(&env.db, Counts::done(300)).await;

    let moved: Vec<bool> = moved.iter().zip(&alone).map(|(a, b)| a != b).collect();
    let seconds = async || {
        let all = owners(&env).await.into_iter().zip(&moved);
        let of_second = all.filter(|(_, moved)| **moved);
        of_second.map(|(row, _)| row).collect::<Vec<_>>()
    };
    let before = seconds().await;
    let mut first = first;
    for (kill, handled) in [(false, 600), (true, 900)] {
        if kill {
            first.kill();
        } else {
            assert_eq!(first.terminate().await, 0);
        }
        first = first.restart().await;
        env.kafka
            .produce(&topic, recs(&paid[handled - 300..handled]))
            .await;
        settled(&env.db, Counts::done(handled)).await;
        assert_eq!(
            seconds().await,
            before,
            "the second host's partitions moved"
        );
    }
    ledger.assert_exact(&paid).await;
    assert_eq!(second.terminate().await, 0, "{}", second.log());
}
