//! A bounded number of connections serves any number of partitions.

use tidegate_tests::{Ledger, Payment, Rec, TestEnv, payments, test_env, wait_for};

use crate::rows::{Counts, PATIENCE, counts, settled, slow_recs, wait_owned};

const PARTITIONS: i32 = 32;

/// Connections of a host beside those for batches.
const OWN: i64 = 4;

/// A role that may make the host's schema, write accounts, and open ten connections.
async fn limited_role(env: &TestEnv) -> String {
    let role = env.unique("limited");
    let database = env.db.name();
    env.db
        .exec(&format!(
            "CREATE ROLE \"{role}\" LOGIN CONNECTION LIMIT 10;
             GRANT CREATE ON DATABASE \"{database}\" TO \"{role}\";
             GRANT SELECT, UPDATE ON accounts TO \"{role}\""
        ))
        .await;
    role
}

/// The payments dealt out to the partitions, each slow.
fn dealt(paid: &[Payment]) -> Vec<Rec> {
    let records = slow_recs(paid, 10).into_iter().enumerate();
    let place = |(i, rec): (usize, Rec)| rec.to(i32::try_from(i).unwrap() % PARTITIONS);
    records.map(place).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thirty_two_partitions_are_served_by_four_connections_while_letters_are_written() {
    let env = test_env("pool").await;
    let topic = env.topic("t", PARTITIONS).await;
    env.kafka
        .create_topic(&format!("{topic}.dlt"), 3, &[])
        .await;
    let ledger = Ledger::create(&env.db, 40).await;
    let role = limited_role(&env).await;
    let url = env.db.url().replace("postgres@", &format!("{role}@"));
    let config = env
        .config()
        .postgres(&url)
        .set("postgres", "max_connections", 4)
        .consumer(env.consumer(&topic, "slow").await.batch("max_records", 10));
    let mut paid = payments(640, 40);
    for bad in paid.iter_mut().step_by(5) {
        bad.account_id = 1_000;
    }
    let good: Vec<Payment> = paid
        .iter()
        .filter(|p| p.account_id <= 40)
        .cloned()
        .collect();
    assert_eq!(good.len(), 512);
    env.kafka.produce(&topic, dealt(&paid)).await;
    let host = env.host(config).start().await;

    let sessions = format!("SELECT count(*) FROM pg_stat_activity WHERE usename = '{role}'");
    let mut most = 0;
    wait_for(PATIENCE, "every record to be handled", async || {
        most = most.max(env.db.query_one_i64(&sessions).await);
        (counts(&env.db).await.next >= 640).then_some(())
    })
    .await;
    let all = Counts {
        done: 512,
        rejected: 128,
        ..Counts::done(640)
    };
    settled(&env.db, all).await;
    ledger.assert_exact(&good).await;
    letters_published(&env, 128).await;
    assert!(
        (1..=4 + OWN).contains(&most),
        "{most} connections were open at once"
    );
    assert_eq!(host.log_count("too many connections"), 0);
    assert_eq!(host.terminate().await, 0);
}

async fn letters_published(env: &TestEnv, expected: i64) {
    let published = "SELECT count(*) FROM tidegate.dead_letters
                     WHERE code = 'unexpected-row-count' AND published_at IS NOT NULL";
    wait_for(PATIENCE, "every letter to be published", async || {
        (env.db.query_one_i64(published).await == expected).then_some(())
    })
    .await;
    let total = "SELECT count(*) FROM tidegate.dead_letters";
    assert_eq!(env.db.query_one_i64(total).await, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_busy_partition_does_not_keep_the_only_connection_from_the_others() {
    let env = test_env("fair").await;
    let topic = env.topic("t", PARTITIONS).await;
    let ledger = Ledger::create(&env.db, 40).await;
    let consumer = env.consumer(&topic, "slow").await.batch("max_records", 5);
    let config = env
        .config()
        .set("postgres", "max_connections", 1)
        .consumer(consumer);
    let host = env.host(config).start().await;
    wait_owned(&env.db, i64::from(PARTITIONS)).await;
    let paid = payments(631, 40);
    let (busy, others) = paid.split_at(600);
    let mut records: Vec<Rec> = slow_recs(busy, 10).into_iter().map(|r| r.to(0)).collect();
    let single = slow_recs(others, 0).into_iter().zip(1..PARTITIONS);
    records.extend(single.map(|(rec, partition)| rec.to(partition)));
    env.kafka.produce(&topic, records).await;

    let waiting = "SELECT count(*) FROM tidegate.progress WHERE partition > 0 AND next_offset = 0";
    wait_for(PATIENCE, "each other partition's record", async || {
        (env.db.query_one_i64(waiting).await == 0).then_some(())
    })
    .await;
    let busy = "SELECT next_offset FROM tidegate.progress WHERE partition = 0";
    let handled = env.db.query_one_i64(busy).await;
    assert!(
        handled < 600,
        "the others had to wait for the busy one's end"
    );
    ledger.wait_exact(&paid, PATIENCE).await;
    settled(&env.db, Counts::done(631)).await;
    assert_eq!(host.terminate().await, 0);
}
