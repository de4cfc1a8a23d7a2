//! Three hosts of one group: partitions move all the time, and one of the hosts sleeps for longer than its session.

use std::time::Instant;

use tidegate_tests::{
    Host, HostConfig, Ledger, Payment, Producer, TestEnv, payments, secs, test_env, wait_for,
};

use super::{exact, random, size, wait_next};
use crate::rows::{PATIENCE, counts, recs};

const PARTITIONS: i32 = 6;
/// Records sent at a time.
const CHUNK: usize = 100;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_of_hosts_that_join_leave_die_and_sleep_keeps_the_books_exact() {
    let env = test_env("storm").await;
    let topic = env.topic("t", PARTITIONS).await;
    let ledger = Ledger::journaled(&env.db, 40).await;
    let consumer = env.consumer(&topic, "credit-rust").await;
    let consumer = consumer.batch("max_records", 20).set("dedup", "off");
    // A sleeper's transaction is ended by the server after nine seconds, about the least that is allowed.
    let config = env
        .config()
        .set("postgres", "idle_in_transaction_timeout", "9s")
        .consumer(consumer);
    let mut fleet = Fleet::new(&env, config, random("storm"));
    let mut load = Load {
        topic,
        producer: env.kafka.producer(),
        paid: payments(100_000, 40),
        sent: 0,
    };
    let (storms, length) = size((1, secs(8)), (5, secs(15)));
    for _ in 0..storms {
        let began = Instant::now();
        while began.elapsed() < length {
            load.send(CHUNK).await;
            fleet.change().await;
            let before = counts(&env.db).await.next;
            if before < i64::try_from(load.sent).unwrap() {
                crate::rows::wait_next(&env.db, before + 1).await;
            }
        }
        fleet.sleep(&mut load).await;
    }
    fleet.all().await;
    exact(&env, &ledger, &load.paid[..load.sent], 0).await;
    eprintln!("storm: {} records, {} changes", load.sent, fleet.changes);
    assert!(fleet.changes >= 4, "it was to be a storm");
    fleet.end().await;
}

struct Load {
    topic: String,
    producer: Producer,
    paid: Vec<Payment>,
    sent: usize,
}

impl Load {
    async fn send(&mut self, records: usize) {
        let some = &self.paid[self.sent..][..records];
        self.producer.send(&self.topic, recs(some)).await;
        self.sent += records;
    }
}

/// Three places for hosts of one group.
struct Fleet<'a> {
    env: &'a TestEnv,
    config: HostConfig,
    random: fastrand::Rng,
    hosts: [Option<Host>; 3],
    changes: usize,
}

impl<'a> Fleet<'a> {
    fn new(env: &'a TestEnv, config: HostConfig, random: fastrand::Rng) -> Self {
        Fleet {
            env,
            config,
            random,
            hosts: [None, None, None],
            changes: 0,
        }
    }

    fn running(&self) -> Vec<&Host> {
        self.hosts.iter().flatten().collect()
    }

    /// Starts a host in a place taken at random, or ends the one there, one time in three by SIGKILL. One always runs.
    async fn change(&mut self) {
        let place = self.random.usize(0..3);
        self.changes += 1;
        match self.hosts[place].take() {
            None => self.start(place).await,
            Some(last) if self.running().is_empty() => {
                self.hosts[place] = Some(last);
                self.start((place + 1) % 3).await;
            }
            Some(host) if self.random.u8(0..3) == 0 => host.kill(),
            Some(host) => leave(&host).await,
        }
    }

    async fn start(&mut self, place: usize) {
        self.hosts[place] = Some(self.env.host(self.config.clone()).start().await);
    }

    /// Starts what does not run, and waits until every partition has an owner and every host a partition.
    async fn all(&mut self) {
        for place in 0..3 {
            if self.hosts[place].is_none() {
                self.start(place).await;
            }
        }
        let owned = "SELECT count(DISTINCT owner) FROM tidegate.progress";
        wait_for(PATIENCE, "every host to own a partition", async || {
            let taken = |host: &&Host| host.log_count("position taken") > 0;
            let owned = self.env.db.query_one_i64(owned).await;
            (owned == i64::from(PARTITIONS) && self.running().iter().all(taken)).then_some(())
        })
        .await;
    }

    /// Stops a host under load until the others have done all of its work, and lets it go on: it has to see that it
    /// is late, and to commit nothing.
    async fn sleep(&mut self, load: &mut Load) {
        self.all().await;
        let sleeper = self.random.usize(0..3);
        load.send(CHUNK).await;
        let host = self.hosts[sleeper].as_ref().unwrap();
        let fenced = host.log_count("fenced: ");
        host.stop_signal();
        load.send(10 * CHUNK).await;
        wait_next(&self.env.db, load.sent, &[]).await;
        host.cont();
        wait_for(PATIENCE, "the late host to say so", async || {
            assert!(host.is_running(), "the late host ended");
            (host.log_count("fenced: ") > fenced).then_some(())
        })
        .await;
        self.changes += 2;
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
