//! The broker as tests use it: topics, records, groups.

mod consume;
mod corrupt;
mod groups;
mod produce;
mod record;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::admin::{
    AdminClient, AdminOptions, AlterConfig, NewPartitions, NewTopic, ResourceSpecifier,
    TopicReplication,
};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::BaseConsumer;
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};

pub use produce::{OpenTx, Producer};
pub use record::{At, Got, Rec};

use crate::wait::{secs, wait_for};

/// How long one request to the broker may take.
const REQUEST: Duration = Duration::from_secs(20);

/// A test's handle on the broker, straight to it, past every proxy.
pub struct Kafka {
    bootstrap: String,
    admin: Arc<AdminClient<DefaultClientContext>>,
    groups: Mutex<HashMap<String, Arc<BaseConsumer>>>,
}

impl Kafka {
    pub(crate) fn new(bootstrap: &str) -> Self {
        let admin = config(bootstrap).create();
        Kafka {
            bootstrap: bootstrap.to_owned(),
            admin: Arc::new(admin.unwrap_or_else(|e| panic!("cannot make an admin client: {e}"))),
            groups: Mutex::default(),
        }
    }

    /// `127.0.0.1:port` of the broker itself.
    pub fn bootstrap(&self) -> &str {
        &self.bootstrap
    }

    /// Creates a topic of replication factor 1 and waits until every partition has its leader.
    pub async fn create_topic(&self, name: &str, partitions: i32, settings: &[(&str, &str)]) {
        let mut topic = NewTopic::new(name, partitions, TopicReplication::Fixed(1));
        for (key, value) in settings {
            topic = topic.set(key, value);
        }
        let made = self.admin.create_topics([&topic], &options()).await;
        each(&format!("create topic {name}"), made);
        self.wait_partitions(name, partitions).await;
    }

    /// Deletes a topic and waits until the broker no longer knows it.
    pub async fn delete_topic(&self, name: &str) {
        let deleted = self.admin.delete_topics(&[name], &options()).await;
        each(&format!("delete topic {name}"), deleted);
        wait_for(secs(20), &format!("topic {name} to be gone"), async || {
            (self.partitions(name).await == 0).then_some(())
        })
        .await;
    }

    /// Raises a topic's number of partitions to `total`.
    pub async fn add_partitions(&self, name: &str, total: usize) {
        let more = NewPartitions::new(name, total);
        let added = self.admin.create_partitions([&more], &options()).await;
        each(&format!("add partitions to {name}"), added);
        self.wait_partitions(name, i32::try_from(total).unwrap_or(i32::MAX))
            .await;
    }

    /// Sets these settings of a topic; the ones not named go back to their defaults.
    pub async fn alter_topic(&self, name: &str, settings: &[(&str, &str)]) {
        let mut change = AlterConfig::new(ResourceSpecifier::Topic(name));
        for (key, value) in settings {
            change = change.set(key, value);
        }
        match self.admin.alter_configs([&change], &options()).await {
            Ok(results) => assert!(
                results.iter().all(Result::is_ok),
                "alter {name}: {results:?}"
            ),
            Err(e) => panic!("alter topic {name}: {e}"),
        }
    }

    /// Moves the log's start to `before`: every earlier record is gone.
    pub async fn delete_records(&self, name: &str, partition: i32, before: i64) {
        let list = list_of(name, partition, Offset::Offset(before));
        match self.admin.delete_records(&list, &options()).await {
            Ok(done) => {
                let errors: Vec<_> = done.elements().iter().map(|e| e.error()).collect();
                assert!(
                    errors.iter().all(Result::is_ok),
                    "delete records of {name}: {errors:?}"
                );
            }
            Err(e) => panic!("delete records of {name}: {e}"),
        }
    }

    /// The log's start and its end (the next offset to be written).
    pub async fn watermarks(&self, name: &str, partition: i32) -> (i64, i64) {
        let (admin, topic) = (self.admin.clone(), name.to_owned());
        let found = blocking(move || admin.inner().fetch_watermarks(&topic, partition, REQUEST));
        let found = found.await;
        found.unwrap_or_else(|e| panic!("watermarks of {name}[{partition}]: {e}"))
    }

    /// The cluster's id.
    pub async fn cluster_id(&self) -> String {
        let admin = self.admin.clone();
        let id = blocking(move || admin.inner().fetch_cluster_id(REQUEST)).await;
        id.unwrap_or_else(|| panic!("the broker told no cluster id"))
    }

    /// Number of partitions with a leader; 0 if there is no such topic.
    async fn partitions(&self, name: &str) -> usize {
        let (admin, topic) = (self.admin.clone(), name.to_owned());
        let metadata = blocking(move || admin.inner().fetch_metadata(Some(&topic), REQUEST)).await;
        let Ok(metadata) = metadata else { return 0 };
        let topics = metadata.topics().iter().filter(|t| t.error().is_none());
        let partitions = topics.flat_map(|t| t.partitions());
        partitions
            .filter(|p| p.error().is_none() && p.leader() >= 0)
            .count()
    }

    async fn wait_partitions(&self, name: &str, wanted: i32) {
        let what = format!("topic {name} to have {wanted} partitions with leaders");
        wait_for(secs(20), &what, async || {
            (usize::try_from(wanted) == Ok(self.partitions(name).await)).then_some(())
        })
        .await;
    }
}

fn config(bootstrap: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    config
        .set("bootstrap.servers", bootstrap)
        .set("message.max.bytes", "8388608")
        .set("log_level", "2");
    config
}

fn options() -> AdminOptions {
    AdminOptions::new()
        .request_timeout(Some(REQUEST))
        .operation_timeout(Some(REQUEST))
}

fn list_of(topic: &str, partition: i32, offset: Offset) -> TopicPartitionList {
    let mut list = TopicPartitionList::new();
    let added = list.add_partition_offset(topic, partition, offset);
    added.unwrap_or_else(|e| panic!("{topic}[{partition}] at {offset:?}: {e}"));
    list
}

/// Panics unless the request and each of its parts went well.
fn each<E: std::fmt::Debug>(
    what: &str,
    results: Result<Vec<Result<String, E>>, rdkafka::error::KafkaError>,
) {
    match results {
        Ok(results) => assert!(results.iter().all(Result::is_ok), "{what}: {results:?}"),
        Err(e) => panic!("{what}: {e}"),
    }
}

/// librdkafka's calls block: they run beside the test's runtime threads.
async fn blocking<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(call).await {
        Ok(value) => value,
        Err(e) => panic!("a blocking call of the harness failed: {e}"),
    }
}
