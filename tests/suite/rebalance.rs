//! Hosts of one group: partitions spread, move and come back, and the books stay exact.

use std::time::Instant;

use tidegate_tests::{
    Host, HostConfig, Ledger, TestEnv, payments, secs, test_env, wait_eq, wait_for,
};

use crate::rows::{
    Counts, PATIENCE, counts, letters, recs, settled, slow_recs, wait_next, wait_owned,
};

/// How long the storm lasts: twelve seconds, or twenty with `TIDEGATE_TEST_LONG=1`.
fn storm() -> std::time::Duration {
    match std::env::var("TIDEGATE_TEST_LONG") {
        Ok(long) if long == "1" => secs(20),
        _ => secs(12),
    }
}

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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_of_hosts_that_join_leave_and_die_keeps_the_books_exact() {
    let env = test_env("storm").await;
    let (topic, ledger) = (env.topic("t", 6).await, Ledger::create(&env.db, 40).await);
    let consumer = env
        .consumer(&topic, "credit-rust")
        .await
        .batch("max_records", 20);
    let mut fleet = Fleet::new(&env, env.config().consumer(consumer.set("dedup", "off")));
    let (paid, producer) = (payments(20_000, 40), env.kafka.producer());
    let (mut sent, began) = (0, Instant::now());
    while began.elapsed() < storm() && sent + 100 <= paid.len() {
        producer.send(&topic, recs(&paid[sent..sent + 100])).await;
        sent += 100;
        fleet.change().await;
        let before = counts(&env.db).await.next;
        if before < i64::try_from(sent).unwrap() {
            wait_next(&env.db, before + 1).await;
        }
    }
    fleet.all().await;
    ledger.wait_exact(&paid[..sent], PATIENCE).await;
    settled(&env.db, Counts::done(sent)).await;
    assert_eq!(letters(&env.db).await, 0);
    eprintln!("{sent} records, {} changes", fleet.changes);
    assert!(fleet.changes >= 6, "it was to be a storm");
    fleet.end().await;
}

/// Three places for hosts of one group.
struct Fleet<'a> {
    env: &'a TestEnv,
    config: HostConfig,
    hosts: [Option<Host>; 3],
    changes: usize,
}

impl<'a> Fleet<'a> {
    fn new(env: &'a TestEnv, config: HostConfig) -> Self {
        Fleet {
            env,
            config,
            hosts: [None, None, None],
            changes: 0,
        }
    }

    fn running(&self) -> usize {
        self.hosts.iter().flatten().count()
    }

    /// Starts a host in a place taken at random, or ends the one there, one time in three by SIGKILL. One always runs.
    async fn change(&mut self) {
        let place = fastrand::usize(0..3);
        self.changes += 1;
        match self.hosts[place].take() {
            None => self.start(place).await,
            Some(last) if self.running() == 0 => {
                self.hosts[place] = Some(last);
                self.start((place + 1) % 3).await;
            }
            Some(host) if fastrand::u8(0..3) == 0 => host.kill(),
            Some(host) => leave(&host).await,
        }
    }

    async fn start(&mut self, place: usize) {
        self.hosts[place] = Some(self.env.host(self.config.clone()).start().await);
    }

    async fn all(&mut self) {
        for place in 0..3 {
            if self.hosts[place].is_none() {
                self.start(place).await;
            }
        }
        let topics = "SELECT count(DISTINCT owner) FROM tidegate.progress";
        wait_for(PATIENCE, "every partition to be owned", async || {
            (self.env.db.query_one_i64(topics).await == 6).then_some(())
        })
        .await;
    }

    async fn end(self) {
        for host in self.hosts.into_iter().flatten() {
            assert_eq!(host.terminate().await, 0);
        }
    }
}

/// SIGTERM. A host that has only just started dies of it, before it listens to signals.
async fn leave(host: &Host) {
    let code = host.terminate().await;
    let listened = host.log().contains("stopping");
    assert!(code == 0 || (code == -1 && !listened), "exit code {code}");
}
