//! Servers that end and come back under load: the hosts live through it, and go on as soon as the server does.

use std::time::{Duration, Instant};

use tidegate_tests::{
    Host, Ledger, OwnBroker, Payment, Producer, Server, ServerSpec, TestEnv, millis, payments,
    test_env, test_env_on,
};

use super::{endure, exact, is_poison, poisoned, random, size, wait_next};

/// Records sent before each end of a server.
const CHUNK: usize = 1_000;

/// Two hosts of one group under load.
struct Load {
    env: TestEnv,
    topic: String,
    producer: Producer,
    paid: Vec<Payment>,
    sent: usize,
    hosts: Vec<Host>,
    random: fastrand::Rng,
    /// The longest wait for progress after a server was back.
    slowest: Duration,
}

impl Load {
    async fn start(env: TestEnv, what: &str, times: usize) -> Self {
        let topic = env.topic("t", 4).await;
        let letters = format!("{topic}.dlt");
        env.kafka.create_topic(&letters, 1, &[]).await;
        Ledger::journaled(&env.db, 100).await;
        let consumer = env.consumer(&topic, "rejects").await;
        let config = env
            .config()
            .set("postgres", "connect_timeout", "1s")
            .consumer(consumer.batch("max_records", 20));
        let mut hosts = Vec::new();
        for _ in 0..2 {
            hosts.push(env.host(config.clone()).start().await);
        }
        Load {
            producer: env.kafka.producer(),
            paid: payments(2 * times * CHUNK, 100),
            random: random(what),
            env,
            topic,
            sent: 0,
            hosts,
            slowest: Duration::ZERO,
        }
    }

    fn hosts(&self) -> Vec<&Host> {
        self.hosts.iter().collect()
    }

    /// Sends a chunk and answers when a part of it, chosen at random, is done.
    async fn in_mid_load(&mut self) {
        let further = self.sent + self.random.usize(1..CHUNK / 2);
        self.send().await;
        wait_next(&self.env.db, further, &self.hosts()).await;
    }

    async fn send(&mut self) {
        let chunk = &self.paid[self.sent..][..CHUNK];
        let records = poisoned(chunk, self.sent);
        self.producer.send(&self.topic, records).await;
        self.sent += CHUNK;
    }

    /// How long the server stays away: up to two seconds.
    async fn endure(&mut self) {
        let time = millis(self.random.u64(0..2_000));
        endure(time, &self.hosts()).await;
    }

    /// The server is back: waits for some records, which are sent now if none is left, and then for the rest.
    async fn back(&mut self) {
        let back = Instant::now();
        let before = crate::rows::counts(&self.env.db).await.next;
        self.send().await;
        let further = usize::try_from(before).unwrap() + 1;
        wait_next(&self.env.db, further, &self.hosts()).await;
        self.slowest = self.slowest.max(back.elapsed());
        wait_next(&self.env.db, self.sent, &self.hosts()).await;
    }

    async fn end(self, what: &str) {
        let ledger = Ledger::of(&self.env.db, 100);
        let rejected = (0..self.sent).filter(|i| is_poison(*i)).count();
        exact(&self.env, &ledger, &self.paid[..self.sent], rejected).await;
        eprintln!(
            "{what}: the first progress came {:?} after the server at the latest",
            self.slowest
        );
        for host in self.hosts {
            assert_eq!(host.terminate().await, 0);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_crashes_and_comes_back_costs_nothing() {
    let times = size(2, 10);
    let spec = ServerSpec {
        name: "crashes".to_owned(),
        ..ServerSpec::default()
    };
    let mut server = Server::start(spec).await;
    let env = test_env_on("db-crashes", Some(&server), None).await;
    let mut load = Load::start(env, "database crashes", times).await;
    for _ in 0..times {
        load.in_mid_load().await;
        server.stop_immediately();
        load.endure().await;
        server.start_again();
        load.env.db.reconnect().await;
        load.back().await;
    }
    load.end("database crashes").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_ends_and_comes_back_costs_nothing() {
    let times = size(2, 10);
    let mut broker = OwnBroker::start("restarts").await;
    let env = test_env("broker-restarts").await.on_broker(&broker);
    let mut load = Load::start(env, "broker restarts", times).await;
    for time in 0..times {
        load.in_mid_load().await;
        if time % 2 == 0 {
            broker.stop();
        } else {
            broker.kill();
        }
        load.endure().await;
        broker.start_again();
        load.back().await;
    }
    load.end("broker restarts").await;
}
