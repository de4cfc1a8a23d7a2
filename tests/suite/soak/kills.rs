//! Hosts of one group killed again and again, at random, under load.

use tidegate_tests::{Host, Ledger, payments, test_env, wait_eq};

use super::{exact, is_poison, poisoned, random, size, wait_next};
use crate::rows::{PATIENCE, counts};

/// Records that are sent before each kill.
const CHUNK: usize = 500;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_killed_at_random_lose_nothing_and_double_nothing() {
    let (kills, mut random) = (size(20, 200), random("kills"));
    let env = test_env("kills").await;
    let topic = env.topic("t", 6).await;
    env.kafka
        .create_topic(&format!("{topic}.dlt"), 1, &[])
        .await;
    let ledger = Ledger::journaled(&env.db, 100).await;
    let (paid, producer) = (payments(kills * CHUNK, 100), env.kafka.producer());
    let consumer = env.consumer(&topic, "rejects").await;
    let config = env.config().consumer(consumer.batch("max_records", 40));
    let mut hosts = Vec::new();
    for name in ["a", "b"] {
        // A static member comes back at once after a kill, without waiting for its old session to end.
        let config = config.clone().librdkafka("group.instance.id", name);
        let config = config.librdkafka("session.timeout.ms", "15000");
        hosts.push(env.host(config).start().await);
    }
    // A static member that dies between the two halves of a cooperative rebalance comes back to its part in it, and the
    // other half never happens: partitions stay without an owner. So no kill meets a rebalance here.
    let taken = async || hosts[1].log_count("position taken");
    wait_eq(PATIENCE, "partitions of the second host", 3, taken).await;
    let mut interrupted = 0;
    for (kill, chunk) in paid.chunks(CHUNK).enumerate() {
        let before = kill * CHUNK;
        producer.send(&topic, poisoned(chunk, before)).await;
        let further = before + random.usize(1..CHUNK * 3 / 4);
        let alive: Vec<&Host> = hosts.iter().collect();
        wait_next(&env.db, further, &alive).await;
        let victim = random.usize(0..hosts.len());
        hosts[victim].kill();
        let at = counts(&env.db).await.next;
        interrupted += usize::from(at < i64::try_from(before + CHUNK).unwrap());
        hosts[victim] = hosts[victim].restart().await;
    }
    let rejected = (0..paid.len()).filter(|i| is_poison(*i)).count();
    exact(&env, &ledger, &paid, rejected).await;
    eprintln!("kills: {kills}, {interrupted} of them with records left");
    assert!(interrupted * 4 >= kills * 3, "the kills were to interrupt");
    for host in hosts {
        assert_eq!(host.terminate().await, 0);
    }
}
