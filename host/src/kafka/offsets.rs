//! Questions about a group and its topics by somebody who is no member of it: the commands' view of Kafka.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::consumer::{BaseConsumer, Consumer as _, ConsumerContext};
use rdkafka::error::{KafkaError as Client, RDKafkaErrorCode as Code};
use rdkafka::{ClientContext, TopicPartitionList};
use tidegate_core::record::TopicPartition;

use super::answers::{self, ANSWER};
use super::trouble::{self, LastFailure};
use super::{KafkaError, names, options};
use crate::config::KafkaConfig;

/// The group that asks where no group matters. It is never joined.
pub(super) const ASKER: &str = "tidegate-questions";

/// How long is waited for a first answer before the client's errors are looked at.
const GLANCE: Duration = Duration::from_millis(200);

/// How long is listened to what the client has to say in between.
const LISTEN: Duration = Duration::from_millis(50);

/// Where a group and a log stand in a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupOffset {
    /// The partition.
    pub partition: TopicPartition,
    /// K: what the group has committed; none only if the broker said so.
    pub committed: Option<i64>,
    /// The log's first offset.
    pub low: i64,
    /// The offset behind the log's last.
    pub high: i64,
}

/// What a partition's log holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRange {
    /// The partition.
    pub partition: TopicPartition,
    /// The log's first offset.
    pub low: i64,
    /// The offset behind the log's last.
    pub high: i64,
}

/// A client that subscribes to nothing.
pub(super) type Asker = BaseConsumer<Quiet>;

/// Keeps why a broker was lost last; librdkafka's own words are else for whoever looks closer.
#[derive(Default)]
pub(super) struct Quiet(LastFailure);

impl ClientContext for Quiet {
    fn log(&self, _level: RDKafkaLogLevel, facility: &str, message: &str) {
        tracing::debug!(facility, message, "librdkafka");
        self.0.keep(facility, message);
    }

    fn error(&self, error: Client, reason: &str) {
        tracing::debug!(%error, reason, "librdkafka");
    }
}

impl ConsumerContext for Quiet {}

/// The committed offsets of `group` and the logs' ranges, without joining the group.
///
/// # Errors
/// The broker cannot be asked, or does not know a partition.
pub async fn group_offsets(
    kafka: &KafkaConfig,
    group: &str,
    partitions: Vec<TopicPartition>,
) -> Result<Vec<GroupOffset>, KafkaError> {
    if partitions.is_empty() {
        return Ok(Vec::new());
    }
    let what = format!("the offsets of group {group:?}");
    ask(kafka, group, what, move |client| {
        let committed = answers::committed_offsets(client, names::list(&partitions))?;
        let offsets = partitions
            .into_iter()
            .map(|tp| offset(client, &committed, tp));
        offsets.collect()
    })
    .await
}

/// What the logs of all of a topic's partitions hold; none if the broker says that there is no such topic.
///
/// # Errors
/// The broker cannot be asked, or refuses.
pub async fn log_ranges(
    kafka: &KafkaConfig,
    topic: &str,
) -> Result<Option<Vec<LogRange>>, KafkaError> {
    let topic = topic.to_owned();
    let what = format!("where topic {topic:?} ends");
    ask(kafka, ASKER, what, move |client| {
        let numbers = match answers::partitions(client, &topic) {
            Err(Client::MetadataFetch(Code::UnknownTopicOrPartition)) => return Ok(None),
            numbers => numbers?,
        };
        let name: Arc<str> = topic.as_str().into();
        let range = |partition| {
            let (low, high) = client.fetch_watermarks(&topic, partition, ANSWER)?;
            let topic = Arc::clone(&name);
            let partition = TopicPartition { topic, partition };
            Ok(LogRange {
                partition,
                low,
                high,
            })
        };
        numbers
            .into_iter()
            .map(range)
            .collect::<Result<_, _>>()
            .map(Some)
    })
    .await
}

/// A topic's partitions, ascending.
///
/// # Errors
/// The broker cannot be asked, or does not know the topic.
pub async fn topic_partitions(
    kafka: &KafkaConfig,
    topic: &str,
) -> Result<Vec<TopicPartition>, KafkaError> {
    names::check_topic(topic)?;
    let topic = topic.to_owned();
    let what = format!("the partitions of topic {topic:?}");
    ask(kafka, ASKER, what, move |client| {
        let numbers = answers::partitions(client, &topic)?.into_iter();
        let topic: Arc<str> = topic.into();
        let partitions = numbers.map(|partition| TopicPartition {
            topic: Arc::clone(&topic),
            partition,
        });
        Ok(partitions.collect())
    })
    .await
}

/// The cluster's id.
///
/// # Errors
/// The broker cannot be asked.
pub async fn cluster_id(kafka: &KafkaConfig) -> Result<String, KafkaError> {
    ask(kafka, ASKER, "the cluster's id".into(), answers::cluster_id).await
}

/// Asks on a blocking thread, with a client of its own that subscribes to nothing.
pub(super) async fn ask<T: Send + 'static>(
    kafka: &KafkaConfig,
    group: &str,
    what: String,
    question: impl FnOnce(&Asker) -> Result<T, Client> + Send + 'static,
) -> Result<T, KafkaError> {
    let options: ClientConfig = options::consumer(kafka, group, false);
    let owner = what.clone();
    let asked = what.clone();
    let answer = tokio::task::spawn_blocking(move || {
        let client: Asker = options
            .create_with_context(Quiet::default())
            .map_err(|error| KafkaError::options(owner, &error))?;
        reach(&client, &asked)?;
        question(&client).map_err(|error| unanswered(&client, asked, &error))
    });
    answer.await.map_err(|_| KafkaError::Closed(what))?
}

/// Waits for a first answer. A broker that will not have this client says why, and the client would try again and
/// again: that is the answer then.
fn reach(client: &Asker, what: &str) -> Result<(), KafkaError> {
    let until = Instant::now() + ANSWER;
    while client.client().fetch_cluster_id(GLANCE).is_none() {
        while let Some(polled) = client.poll(LISTEN) {
            let Err(error) = polled else {
                continue;
            };
            let code = error.rdkafka_error_code();
            let Some(remedy) = code.and_then(trouble::remedy) else {
                continue;
            };
            let last = client.context().0.text();
            let reason = last.unwrap_or_else(|| super::error::text(&error));
            return Err(KafkaError::Refused {
                what: what.to_owned(),
                reason: format!("{reason}; {remedy}"),
                transient: true,
            });
        }
        if Instant::now() >= until {
            return Err(silence(client, what));
        }
    }
    Ok(())
}

fn unanswered(client: &Asker, what: String, error: &Client) -> KafkaError {
    match error.rdkafka_error_code() {
        Some(code) if is_silence(code) => silence(client, &what),
        _ => KafkaError::refused(what, error),
    }
}

/// No answer, with what was heard last instead.
fn silence(client: &Asker, what: &str) -> KafkaError {
    let what = match client.context().0.text() {
        Some(last) => format!("{what}; last heard: {last}"),
        None => what.to_owned(),
    };
    KafkaError::Timeout {
        what,
        after: ANSWER,
    }
}

/// Whether an error means that no broker answered; librdkafka reports it once its patience ends. A broker's own time-out
/// (error 7) is its answer.
fn is_silence(code: Code) -> bool {
    matches!(
        code,
        Code::OperationTimedOut | Code::BrokerTransportFailure | Code::AllBrokersDown
    )
}

fn offset(
    client: &Asker,
    committed: &TopicPartitionList,
    partition: TopicPartition,
) -> Result<GroupOffset, Client> {
    let committed = answers::committed(committed, &partition)?;
    let (low, high) = client.fetch_watermarks(&partition.topic, partition.partition, ANSWER)?;
    Ok(GroupOffset {
        partition,
        committed,
        low,
        high,
    })
}
