//! A consumer of one topic, as the tests of positions want it: the group's offset, the progress row, the host.

use tidegate_tests::{
    Consumer, Host, HostConfig, Ledger, Output, OwnBroker, Payment, Proxy, TestEnv, test_env,
    wait_eq, wait_for,
};

use crate::rows::{PATIENCE, recs};

/// Accounts of every ledger here.
pub(crate) const ACCOUNTS: i64 = 5;

/// What the progress row of a partition says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// N.
    pub(crate) next: i64,
    /// C.
    pub(crate) committed: Option<i64>,
    pub(crate) done: i64,
    pub(crate) owned: bool,
}

/// A topic and a consumer of it that credits payments; consumer and group have one name.
pub(crate) struct Reader {
    pub(crate) env: TestEnv,
    pub(crate) topic: String,
    consumer: Consumer,
}

impl Reader {
    pub(crate) async fn new(name: &str, partitions: i32) -> Self {
        Self::in_env(test_env(name).await, partitions).await
    }

    /// On a broker of the test's own, one partition.
    pub(crate) async fn on(name: &str, broker: &OwnBroker) -> Self {
        Self::in_env(test_env(name).await.on_broker(broker), 1).await
    }

    async fn in_env(env: TestEnv, partitions: i32) -> Self {
        let topic = env.topic("t", partitions).await;
        let consumer = env.consumer(&topic, "credit-rust").await;
        Reader {
            env,
            topic,
            consumer,
        }
    }

    /// Claims are over at once: the inbox forgives no position that goes back.
    pub(crate) async fn forgetful(name: &str, partitions: i32) -> Self {
        let reader = Reader::new(name, partitions).await;
        reader.with(|c| c.dedup("ttl", "20ms").dedup("min_ttl", "20ms"))
    }

    pub(crate) fn with(mut self, set: impl FnOnce(Consumer) -> Consumer) -> Self {
        self.consumer = set(self.consumer);
        self
    }

    pub(crate) async fn ledger(&self) -> Ledger<'_> {
        Ledger::create(&self.env.db, ACCOUNTS).await
    }

    /// The consumer's name, and its group's.
    pub(crate) fn name(&self) -> &str {
        &self.consumer.name
    }

    pub(crate) fn consumer(&self) -> Consumer {
        self.consumer.clone()
    }

    pub(crate) fn config(&self) -> HostConfig {
        self.env.config().consumer(self.consumer())
    }

    pub(crate) async fn start(&self) -> Host {
        self.env.host(self.config()).start().await
    }

    /// Writes payments to partition 0, in order.
    pub(crate) async fn pay(&self, payments: &[Payment]) {
        self.pay_to(0, payments).await;
    }

    pub(crate) async fn pay_to(&self, partition: i32, payments: &[Payment]) {
        let recs = recs(payments).into_iter().map(|rec| rec.to(partition));
        self.env.kafka.produce(&self.topic, recs.collect()).await;
    }

    /// Sets the group's offset in partition 0, as an operator does while no host runs.
    pub(crate) async fn set_group(&self, offset: i64) {
        let kafka = &self.env.kafka;
        kafka
            .commit_group_offset(self.name(), &self.topic, 0, offset)
            .await;
        assert_eq!(self.group_offset().await, Some(offset));
    }

    pub(crate) async fn group_offset(&self) -> Option<i64> {
        let kafka = &self.env.kafka;
        kafka.group_offset(self.name(), &self.topic, 0).await
    }

    /// Waits until so many claims are there and all of them are over.
    pub(crate) async fn wait_expired(&self, claims: i64) {
        let live = "SELECT count(*) FROM tidegate.processed_events WHERE processed_until >= now()";
        wait_eq(PATIENCE, "live claims", 0, async || {
            self.env.db.query_one_i64(live).await
        })
        .await;
        let all = "SELECT count(*) FROM tidegate.processed_events";
        assert_eq!(self.env.db.query_one_i64(all).await, claims);
    }

    /// The progress row of a partition, if there is one.
    pub(crate) async fn place(&self, partition: i32) -> Option<Place> {
        let there = "SELECT count(*) FROM pg_tables WHERE schemaname = 'tidegate' AND tablename = 'progress'";
        if self.env.db.query_one_i64(there).await == 0 {
            return None;
        }
        let sql = format!(
            "SELECT next_offset, committed, done, (owner IS NOT NULL)::int
               FROM tidegate.progress WHERE topic = '{}' AND partition = {partition}",
            self.topic
        );
        let rows = self.env.db.query_text(&sql).await;
        let row = rows.first()?;
        let number = |i: usize| row[i].as_ref().map(|text| text.parse::<i64>().unwrap());
        Some(Place {
            next: number(0)?,
            committed: number(1),
            done: number(2)?,
            owned: number(3)? == 1,
        })
    }

    /// Waits until a partition's row stands at `next`, acknowledged by Kafka, after `done` records.
    pub(crate) async fn wait_place(&self, partition: i32, next: i64, done: i64) {
        let what = format!("N = C = {next} and {done} done in partition {partition}");
        let wanted = (next, Some(next), done);
        wait_eq(PATIENCE, &what, Some(wanted), async || {
            let place = self.place(partition).await?;
            Some((place.next, place.committed, place.done))
        })
        .await;
    }

    /// Runs a command, which must go well.
    pub(crate) async fn command(&self, args: &[&str], config: &HostConfig) -> Output {
        let output = self.env.cli(args, config).await;
        assert_eq!(output.code, 0, "{}{}", output.stdout, output.stderr);
        output
    }

    /// Holds the consumer back, runs a command that must go well, and lets the consumer go on.
    pub(crate) async fn held_back(&self, args: &[&str], config: &HostConfig) -> Output {
        let name = self.name();
        self.command(&["consumer", "pause", name], config).await;
        let output = self.command(args, config).await;
        self.command(&["consumer", "resume", name], config).await;
        output
    }

    /// `offsets adopt` on the consumer held back, which must go well.
    pub(crate) async fn adopt(&self, config: &HostConfig) -> Output {
        let args = ["offsets", "adopt", self.name()];
        self.held_back(&args, config).await
    }

    /// The arguments of `offsets set` for a partition.
    pub(crate) fn set_args<'a>(&'a self, partition: &'a str, to: &[&'a str]) -> Vec<&'a str> {
        let (name, topic) = (self.name(), self.topic.as_str());
        let place = [
            "offsets",
            "set",
            name,
            "--topic",
            topic,
            "--partition",
            partition,
        ];
        [&place[..], to].concat()
    }

    /// `offsets set` on partition 0 of the consumer held back, which must go well.
    pub(crate) async fn set(&self, to: &[&str]) -> Output {
        self.held_back(&self.set_args("0", to), &self.config())
            .await
    }

    /// The row of partition 0 and Kafka's offset: N, C, K.
    pub(crate) async fn positions(&self) -> (i64, Option<i64>, Option<i64>) {
        let place = self.place(0).await.unwrap();
        (place.next, place.committed, self.group_offset().await)
    }
}

/// The sum of the amounts, each payment counted as often as it stands there.
pub(crate) fn sum(payments: &[Payment]) -> i64 {
    payments.iter().map(|payment| payment.amount_minor).sum()
}

/// Waits until the host says that it goes no further in a partition, and why.
pub(crate) async fn wait_stopped(host: &Host, why: &str) {
    host.wait_log("partition stopped", PATIENCE).await;
    host.wait_log(why, PATIENCE).await;
}

/// Waits until the host has taken so many positions.
pub(crate) async fn wait_taken(host: &Host, positions: usize) {
    let what = format!("the host to take {positions} positions");
    wait_for(PATIENCE, &what, async || {
        assert!(host.is_running(), "the host ended by itself");
        (host.log_count("position taken") >= positions).then_some(())
    })
    .await;
}

/// Waits until a killed host's connections are gone from a proxy, with all that they held.
pub(crate) async fn gone(proxy: &Proxy) {
    wait_eq(PATIENCE, "open connections", 0, async || {
        proxy.connections()
    })
    .await;
}
