//! Kafka: everything that talks to the broker.
//!
//! One OS thread a consumer polls librdkafka and never waits for anybody (`poll`); it copies what arrives
//! into one bounded queue a partition (`queue`) and carries out what the rest of the host asks of it
//! (`consumer`). Rebalances are only signalled: librdkafka waits until [`Consumer::release`] answers.

mod answers;
mod blame;
mod closing;
mod commits;
mod consumer;
mod context;
mod convert;
mod error;
mod failures;
mod groups;
mod inspect;
mod missing;
mod names;
mod noise;
mod nudge;
mod offsets;
mod options;
mod partitions;
mod poll;
mod probe;
mod publisher;
mod pulse;
mod queue;
mod quiet;
mod read_record;
mod rebalance;
mod refusals;
mod retention;
mod sequence;
mod statistics;
mod trouble;

use std::sync::Arc;

use tidegate_core::record::TopicPartition;

use crate::config::{KafkaConfig, QueueLimits};

pub use consumer::Consumer;
pub use error::KafkaError;
pub use groups::{group_members, offsets_at, put_group_offsets};
pub use offsets::{GroupOffset, LogRange, cluster_id, group_offsets, log_ranges, topic_partitions};
pub use options::check_options;
pub use publisher::{Outgoing, Publisher};
pub use queue::{PartitionQueue, QueueEnd};
pub use read_record::{Found, read_record};
pub use refusals::Unpublished;
pub use retention::retention;
pub use statistics::Reach;

/// What a consumer subscribes to.
#[derive(Clone, Debug)]
pub struct Subscription {
    /// The consumer's name, for logs.
    pub consumer: Arc<str>,
    /// The consumer group.
    pub group: String,
    /// The topics' names; no patterns.
    pub topics: Vec<String>,
    /// Bounds of each partition's queue.
    pub queue: QueueLimits,
}

/// What the group tells a member.
#[derive(Clone, Debug)]
pub enum GroupEvent {
    /// These partitions are ours now; nothing is fetched before [`Consumer::start`].
    Assigned(Vec<TopicPartition>),
    /// These partitions are to be handed over. Kafka waits until [`Consumer::release`], and fetches nothing
    /// for this consumer meanwhile.
    Revoked(Vec<TopicPartition>),
    /// These partitions are somebody else's already; commits are pointless. Answer with
    /// [`Consumer::release`] all the same.
    Lost(Vec<TopicPartition>),
    /// The client has stopped for good.
    Failed(KafkaError),
}

/// Starts the consumer's poll thread. [`Consumer::join`] joins the group.
///
/// # Errors
/// A topic name that Kafka does not allow, or options that librdkafka refuses.
pub fn subscribe(
    kafka: &KafkaConfig,
    subscription: Subscription,
) -> Result<(Consumer, tokio::sync::mpsc::Receiver<GroupEvent>), KafkaError> {
    for topic in &subscription.topics {
        names::check_topic(topic)?;
    }
    poll::spawn(kafka, subscription)
}
