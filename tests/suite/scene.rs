//! The scene that most tests of handling play in: one topic with its dead letter topic, one consumer, accounts whose
//! changes are written to a journal.

use std::time::Duration;

use tidegate_tests::{
    At, Consumer, Host, Ledger, Rec, Server, TestEnv, secs, test_env_on, wait_eq,
};

/// How long a scene waits for anything; far beyond what a busy machine needs.
pub(crate) const PATIENCE: Duration = secs(60);

/// A test's world, one topic and one consumer's name.
pub(crate) struct Scene {
    pub(crate) env: TestEnv,
    pub(crate) topic: String,
    pub(crate) consumer: String,
    hosts: Vec<Host>,
}

/// A consumer's counters, summed over its partitions. They commit with the batches they count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) done: i64,
    pub(crate) skipped: i64,
    pub(crate) rejected: i64,
    pub(crate) redelivered: i64,
    pub(crate) republished: i64,
    pub(crate) taken_over: i64,
}

/// A dead letter's cause and state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Letter {
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    pub(crate) code: String,
    pub(crate) sqlstate: Option<String>,
    pub(crate) message: String,
    pub(crate) event_id: Option<String>,
    pub(crate) status: String,
    pub(crate) attempts: i64,
}

impl Scene {
    /// A topic of so many partitions, its dead letter topic, and accounts from 1 with their journal.
    pub(crate) async fn new(name: &str, partitions: i32, accounts: i64) -> Self {
        Self::on(name, partitions, accounts, None).await
    }

    /// The same, with its database on this server.
    pub(crate) async fn on(
        name: &str,
        partitions: i32,
        accounts: i64,
        server: Option<&Server>,
    ) -> Self {
        let env = test_env_on(name, server, None).await;
        let topic = env.topic("t", partitions).await;
        env.kafka
            .create_topic(&format!("{topic}.dlt"), 1, &[])
            .await;
        Ledger::journaled(&env.db, accounts).await;
        let consumer = env.unique("c");
        Self {
            env,
            topic,
            consumer,
            hosts: Vec::new(),
        }
    }

    /// The consumer, with a built guest, that gathers what is there already into one batch.
    pub(crate) async fn consumer(&self, guest: &str) -> Consumer {
        let consumer = self.env.consumer(&self.topic, guest).await;
        consumer.batch("max_wait", "500ms")
    }

    /// Starts a host that runs this consumer alone.
    pub(crate) async fn run(&self, consumer: Consumer) -> Host {
        let config = self.env.config().consumer(consumer);
        self.env.host(config).start().await
    }

    /// The same, with its metrics to be asked for.
    pub(crate) async fn run_watched(&self, consumer: Consumer) -> Host {
        let config = self.env.config().watched().consumer(consumer);
        self.env.host(config).start().await
    }

    /// Lets a host run as long as the scene lasts.
    pub(crate) fn keep(&mut self, host: Host) {
        self.hosts.push(host);
    }

    /// Writes records to the topic.
    pub(crate) async fn produce(&self, records: Vec<Rec>) -> Vec<At> {
        self.env.kafka.produce(&self.topic, records).await
    }

    /// The consumer's counters; zeros before it is known.
    pub(crate) async fn counts(&self) -> Counts {
        self.counts_of(&self.consumer).await
    }

    /// Another consumer's counters.
    pub(crate) async fn counts_of(&self, consumer: &str) -> Counts {
        if !self.is_migrated().await {
            return Counts::default();
        }
        let sums = ["done", "skipped", "rejected"]
            .into_iter()
            .chain(["redelivered", "republished", "taken_over"])
            .map(|name| format!("coalesce(sum({name}), 0)::bigint"))
            .collect::<Vec<_>>()
            .join(", ");
        let sql =
            format!("SELECT {sums} FROM tidegate.progress WHERE consumer_name = '{consumer}'");
        let row = numbers(self.env.db.query_text(&sql).await).remove(0);
        Counts {
            done: row[0],
            skipped: row[1],
            rejected: row[2],
            redelivered: row[3],
            republished: row[4],
            taken_over: row[5],
        }
    }

    /// Waits for exactly these counters.
    pub(crate) async fn wait_counts(&self, expected: Counts) {
        wait_eq(PATIENCE, "the counters", expected, async || {
            self.counts().await
        })
        .await;
    }

    /// The consumer's dead letters by partition and offset.
    pub(crate) async fn letters(&self) -> Vec<Letter> {
        let sql = format!(
            "SELECT partition, \"offset\", code, sqlstate, message, event_id, status, attempts
               FROM tidegate.dead_letters WHERE consumer_name = '{}' ORDER BY topic, partition, \"offset\"",
            self.consumer
        );
        let rows = self.env.db.query_text(&sql).await;
        rows.into_iter().map(Letter::read).collect()
    }

    /// The dead letters' codes by partition and offset.
    pub(crate) async fn codes(&self) -> Vec<String> {
        self.letters().await.into_iter().map(|l| l.code).collect()
    }

    /// The accounts changed so far, in the order in which it happened.
    pub(crate) async fn journal(&self) -> Vec<i64> {
        let rows = self
            .env
            .db
            .query_text("SELECT account_id FROM journal ORDER BY n");
        numbers(rows.await).into_iter().map(|row| row[0]).collect()
    }

    /// An account's balance.
    pub(crate) async fn balance(&self, account: i64) -> i64 {
        let sql = format!("SELECT balance FROM accounts WHERE id = {account}");
        self.env.db.query_one_i64(&sql).await
    }

    /// Lets every claim have expired an hour ago.
    pub(crate) async fn expire_all(&self) {
        let sql = "UPDATE tidegate.processed_events
                      SET processed_at = now() - interval '2 hours', processed_until = now() - interval '1 hour'";
        self.env.db.exec(sql).await;
    }

    async fn is_migrated(&self) -> bool {
        let sql = "SELECT count(*) FROM pg_class WHERE oid = to_regclass('tidegate.dead_letters')";
        self.env.db.query_one_i64(sql).await == 1
    }
}

impl Letter {
    fn read(row: Vec<Option<String>>) -> Self {
        let number = |i: usize| row[i].as_deref().unwrap().parse::<i64>().unwrap();
        let text = |i: usize| row[i].clone().unwrap();
        Self {
            partition: i32::try_from(number(0)).unwrap(),
            offset: number(1),
            code: text(2),
            sqlstate: row[3].clone(),
            message: text(4),
            event_id: row[5].clone(),
            status: text(6),
            attempts: number(7),
        }
    }
}

/// Rows of integers.
pub(crate) fn numbers(rows: Vec<Vec<Option<String>>>) -> Vec<Vec<i64>> {
    let number = |value: Option<String>| value.unwrap().parse().unwrap();
    rows.into_iter()
        .map(|row| row.into_iter().map(number).collect())
        .collect()
}

/// A payment of 1 to `account` whose event id is `id`. `trick` is a further field that a test guest looks for.
pub(crate) fn pay(account: i64, id: &str, trick: &str) -> Rec {
    let value =
        serde_json::json!({ "amount_minor": 1, "account_id": account, "trick": trick }).to_string();
    Rec::new(value).to(0).event_id(id)
}

/// Counters of which only `done` and `rejected` are not zero.
pub(crate) fn done_and_rejected(done: i64, rejected: i64) -> Counts {
    Counts {
        done,
        rejected,
        ..Counts::default()
    }
}
