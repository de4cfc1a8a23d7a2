//! A host that is refused beside the right one: it takes nothing, counts no death, slows nobody down.

use tidegate_tests::{Host, OwnBroker, payments, test_env, wait_eq, wait_for};

use crate::reader::{ACCOUNTS, Reader, wait_stopped};
use crate::rows::{Counts, PATIENCE, settled};

/// Partitions of the right host.
const PARTITIONS: i32 = 4;
/// Records before the other host is there: one a partition.
const FIRST: usize = 4;
/// Records that come in while it is there.
const RECORDS: usize = 800;

/// The right host at work, and who holds its positions.
struct Right {
    reader: Reader,
    host: Host,
    tokens: Vec<Vec<Option<String>>>,
}

impl Right {
    async fn new(name: &str) -> Self {
        let reader = Reader::new(name, PARTITIONS).await;
        let reader = reader.with(|c| c.batch("max_records", 5));
        reader.ledger().await;
        let paid = payments(FIRST, ACCOUNTS);
        for (partition, one) in (0..PARTITIONS).zip(paid.chunks(1)) {
            reader.pay_to(partition, one).await;
        }
        let host = reader.start().await;
        for partition in 0..PARTITIONS {
            reader.wait_place(partition, 1, 1).await;
        }
        let tokens = tokens(&reader).await;
        Self {
            reader,
            host,
            tokens,
        }
    }

    /// Records come in until `there` says that the other host has been refused often enough; then all are handled and
    /// nothing shows that it was there.
    async fn goes_on_undisturbed(self, there: impl AsyncFn() -> bool) {
        let paid = payments(FIRST + RECORDS, ACCOUNTS);
        let (while_it_is_there, behind) = paid[FIRST..].split_at(RECORDS - 40);
        for (at, some) in while_it_is_there.chunks(20).enumerate() {
            let partition = i32::try_from(at).unwrap() % PARTITIONS;
            self.reader.pay_to(partition, some).await;
        }
        wait_for(PATIENCE, "the other host to be refused", async || {
            there().await.then_some(())
        })
        .await;
        self.reader.pay(behind).await;
        settled(&self.reader.env.db, Counts::done(FIRST + RECORDS)).await;
        assert_eq!(tokens(&self.reader).await, self.tokens, "nobody took them");
        let db = &self.reader.env.db;
        let deaths = "SELECT sum(unclean_ends + cardinality(marked_deaths)) FROM tidegate.progress";
        assert_eq!(db.query_one_i64(deaths).await, 0);
        let hosts = "SELECT count(*) FROM tidegate.hosts";
        wait_eq(PATIENCE, "hosts", 1, async || db.query_one_i64(hosts).await).await;
        for word in ["fenced", "hosts have died", "taken anew"] {
            assert_eq!(self.host.log_count(word), 0, "{word}");
        }
        assert_eq!(self.host.terminate().await, 0);
    }
}

async fn tokens(reader: &Reader) -> Vec<Vec<Option<String>>> {
    let sql = "SELECT partition, owner, owner_host, \"group\", cluster_id FROM tidegate.progress ORDER BY 1";
    reader.env.db.query_text(sql).await
}

/// The host has been refused in each partition, and in some has asked again.
fn refused(host: &Host) -> bool {
    assert!(host.is_running());
    host.log_count("partition stopped") > usize::try_from(PARTITIONS).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_of_another_group_beside_the_right_one_disturbs_nothing() {
    let right = Right::new("group").await;
    let env = &right.reader.env;
    let group = env.unique("staging");
    let config = env.config().consumer(right.reader.consumer().group(&group));
    let other = env.host(config).start().await;
    wait_stopped(&other, &format!("the consumer runs as group `{group}`")).await;
    right.goes_on_undisturbed(async || refused(&other)).await;
    assert_eq!(other.terminate().await, 3, "its partitions are stopped");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_on_another_cluster_beside_the_right_one_disturbs_nothing() {
    let right = Right::new("two-clusters").await;
    let broker = OwnBroker::of_another_cluster("another-cluster").await;
    let there = test_env("there").await.on_broker(&broker);
    let topic = &right.reader.topic;
    there.kafka.create_topic(topic, PARTITIONS, &[]).await;
    let config = there.config().postgres(&right.reader.env.db.url());
    let config = config.consumer(right.reader.consumer());
    let other = there.host(config).start().await;
    wait_stopped(&other, "the recorded position belongs to cluster").await;
    right.goes_on_undisturbed(async || refused(&other)).await;
    assert_eq!(other.terminate().await, 3, "its partitions are stopped");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_does_not_know_the_schema_disturbs_nothing() {
    let right = Right::new("schema").await;
    let env = &right.reader.env;
    let newer = "INSERT INTO tidegate.schema_history (version, name, applied_on, checksum)
                 SELECT 1000, 'future', applied_on, checksum FROM tidegate.schema_history LIMIT 1";
    let older = "DELETE FROM tidegate.schema_history
                  WHERE version >= (SELECT max(version) FROM tidegate.schema_history WHERE version < 1000)";
    for (change, words) in [(newer, "newer"), (older, "migrate")] {
        env.db.exec(change).await;
        let host = env.host(right.reader.config()).args(&["run"]).start().await;
        assert_eq!(host.wait_exit(PATIENCE).await, 2);
        assert!(host.log().contains(words), "{}", host.log());
    }
    right.goes_on_undisturbed(async || true).await;
}
