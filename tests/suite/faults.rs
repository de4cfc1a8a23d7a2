//! The database, the broker or both out of reach: the host waits, and goes on by itself.

use std::time::Instant;

use tidegate_tests::{
    Host, KafkaProxy, Ledger, Payment, Proxy, TestEnv, payments, secs, test_env, wait_for,
};

use crate::rows::{Counts, PATIENCE, counts, letters, recs, settled};
use crate::soak::size;

/// How long an outage lasts: six seconds, or twenty in a soak.
fn outage() -> std::time::Duration {
    size(secs(6), secs(20))
}

/// A host behind a proxy on either side, with everything that the tests look at.
struct Rig {
    env: TestEnv,
    topic: String,
    database: Proxy,
    broker: KafkaProxy,
    host: Host,
}

impl Rig {
    /// Starts the host with some of its servers refusing.
    async fn start(name: &str, database: bool, broker: bool) -> Rig {
        let env = test_env(name).await;
        let topic = env.topic("t", 3).await;
        let proxies = (env.pg_proxy().await, env.kafka_proxy().await);
        // The table is the test's own: it stands before the host does.
        Ledger::create(&env.db, 10).await;
        let config = env
            .config()
            .postgres(&env.db.url_via(&proxies.0))
            .bootstrap(&proxies.1.addr())
            .set("postgres", "connect_timeout", "1s")
            .consumer(env.consumer(&topic, "credit-rust").await);
        if !database {
            proxies.0.refuse();
        }
        if !broker {
            proxies.1.refuse();
        }
        let host = env.host(config).start().await;
        Rig {
            env,
            topic,
            database: proxies.0,
            broker: proxies.1,
            host,
        }
    }

    async fn pay(&self, payments: &[Payment]) {
        self.env.kafka.produce(&self.topic, recs(payments)).await;
    }

    /// Keeps the proxies given as they are for this long; the host has to live through it.
    async fn endure(&self, time: std::time::Duration) {
        let began = Instant::now();
        wait_for(time * 2, "the outage to be over", async || {
            assert!(self.host.is_running(), "the host ended in an outage");
            (began.elapsed() >= time).then_some(())
        })
        .await;
    }

    /// Every payment has its effect once, nothing became a letter, and the host is the one that was started.
    async fn resumed(&self, payments: &[Payment]) {
        settled(&self.env.db, Counts::done(payments.len())).await;
        let books = "SELECT sum(balance) FROM accounts";
        let sum: i64 = payments.iter().map(|p| p.amount_minor).sum();
        assert_eq!(self.env.db.query_one_i64(books).await, sum);
        assert_eq!(letters(&self.env.db).await, 0);
        assert_eq!(self.host.terminate().await, 0);
    }
}

/// Pays some, takes what is named away, first by refusing and then by silence, pays more, and gives it back.
async fn outlives(name: &str, database: bool, broker: bool) {
    let rig = Rig::start(name, true, true).await;
    let paid = payments(300, 10);
    rig.pay(&paid[..100]).await;
    settled(&rig.env.db, Counts::done(100)).await;
    let fail = |how: fn(&Proxy)| {
        if database {
            how(&rig.database);
        }
        if broker {
            how(&rig.broker);
        }
    };
    fail(Proxy::refuse);
    rig.pay(&paid[100..200]).await;
    rig.endure(outage() / 2).await;
    fail(Proxy::blackhole);
    rig.pay(&paid[200..]).await;
    rig.endure(outage() / 2).await;
    assert_eq!(
        counts(&rig.env.db).await.done,
        100,
        "the outage was to be one"
    );
    fail(Proxy::pass);
    rig.resumed(&paid).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_out_of_reach_is_waited_for() {
    outlives("no-database", true, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_out_of_reach_is_waited_for() {
    outlives("no-broker", false, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_out_of_reach_are_waited_for() {
    outlives("no-servers", true, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_lost_in_mid_load_is_waited_for() {
    let rig = Rig::start("mid-load", true, true).await;
    let paid = payments(6_000, 10);
    rig.pay(&paid).await;
    for cut in 1..=5 {
        crate::rows::wait_next(&rig.env.db, cut * 500).await;
        rig.database.cut();
    }
    rig.resumed(&paid).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_starts_before_its_database_waits_for_it() {
    let rig = Rig::start("database-later", false, true).await;
    wait_for(PATIENCE, "a second try at the database", async || {
        assert!(rig.host.is_running(), "the host ended");
        (rig.database.accepted() >= 2).then_some(())
    })
    .await;
    let paid = payments(50, 10);
    rig.pay(&paid).await;
    rig.database.pass();
    rig.resumed(&paid).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_starts_before_its_broker_waits_for_it() {
    let rig = Rig::start("broker-later", true, false).await;
    wait_for(PATIENCE, "a second try at the broker", async || {
        assert!(rig.host.is_running(), "the host ended");
        (rig.broker.accepted() >= 2).then_some(())
    })
    .await;
    let paid = payments(50, 10);
    rig.pay(&paid).await;
    rig.broker.pass();
    rig.resumed(&paid).await;
}
