//! The host killed again and again, at random, under load.

use tidegate_tests::{Ledger, payments, test_env, wait_for};

use crate::rows::{Counts, PATIENCE, counts, letters, recs, settled};

const RECORDS: usize = 20_000;
const KILLS: usize = 20;

/// Seed of the run: another one every time, or `TIDEGATE_TEST_SEED` to see a failure again.
fn seed() -> u64 {
    let given = std::env::var("TIDEGATE_TEST_SEED").ok();
    given.map_or_else(|| fastrand::u64(..), |text| text.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_kills_over_twenty_thousand_records_lose_nothing_and_double_nothing() {
    let seed = seed();
    eprintln!("TIDEGATE_TEST_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let env = test_env("kills").await;
    let (topic, ledger) = (env.topic("t", 4).await, Ledger::create(&env.db, 100).await);
    let paid = payments(RECORDS, 100);
    env.kafka.produce(&topic, recs(&paid)).await;
    let consumer = env
        .consumer(&topic, "credit-rust")
        .await
        .batch("max_records", 40);
    let config = env.config().librdkafka("group.instance.id", "a");
    let mut host = env.host(config.consumer(consumer)).start().await;
    let total = i64::try_from(RECORDS).unwrap();
    for kill in 1..=KILLS {
        let further = counts(&env.db).await.next + random.i64(1..=700);
        let what = format!("kill {kill} at {further} records");
        wait_for(PATIENCE, &what, async || {
            assert!(host.is_running(), "the host ended by itself");
            (counts(&env.db).await.next >= further).then_some(())
        })
        .await;
        host.kill();
        let at = counts(&env.db).await.next;
        assert!(
            at < total,
            "the load was over before kill {kill}: nothing was interrupted"
        );
        host = host.restart().await;
    }
    ledger.wait_exact(&paid, PATIENCE).await;
    settled(&env.db, Counts::done(RECORDS)).await;
    assert_eq!(letters(&env.db).await, 0);
    let claims = env
        .db
        .query_one_i64("SELECT count(*) FROM tidegate.processed_events WHERE outcome = 'done'");
    assert_eq!(claims.await, total);
    assert_eq!(host.terminate().await, 0);
}
