//! Questions to the broker. Their calls block, so they run on blocking threads, never on the poll thread.

use std::time::Duration;

use rdkafka::Offset;
use rdkafka::consumer::Consumer as _;
use rdkafka::error::{KafkaError as Client, RDKafkaErrorCode as Code};
use rdkafka::metadata::Metadata;
use tidegate_core::record::TopicPartition;

use super::context::Member;
use super::{Consumer, KafkaError, names};

/// How long one question may take.
const ANSWER: Duration = Duration::from_secs(10);

impl Consumer {
    /// K: the group's committed offset. None only if the broker said that there is none.
    ///
    /// # Errors
    /// Any that kept the broker's word from us. Not being able to read K is waiting, never "no offset".
    pub async fn committed(&self, tp: &TopicPartition) -> Result<Option<i64>, KafkaError> {
        let what = format!("the committed offset of {tp}");
        let tp = tp.clone();
        self.query(what, move |client| committed(client, &tp)).await
    }

    /// The log's first offset, and the one behind the last committed transaction (or record).
    ///
    /// # Errors
    /// The broker cannot be asked, or does not know the partition.
    pub async fn watermarks(&self, tp: &TopicPartition) -> Result<(i64, i64), KafkaError> {
        let what = format!("the offsets that {tp} holds");
        let tp = tp.clone();
        self.query(what, move |client| {
            client.fetch_watermarks(&tp.topic, tp.partition, ANSWER)
        })
        .await
    }

    /// The numbers of a topic's partitions, ascending.
    ///
    /// # Errors
    /// The broker cannot be asked, or does not know the topic.
    pub async fn partitions(&self, topic: &str) -> Result<Vec<i32>, KafkaError> {
        names::check_topic(topic)?;
        let what = format!("the partitions of topic {topic:?}");
        let topic = topic.to_owned();
        self.query(what, move |client| {
            let metadata = client.fetch_metadata(Some(&topic), ANSWER)?;
            partitions(&metadata, &topic)
        })
        .await
    }

    /// The cluster's id.
    ///
    /// # Errors
    /// The broker cannot be asked.
    pub async fn cluster_id(&self) -> Result<String, KafkaError> {
        self.query("the cluster's id".to_owned(), |client| {
            let unanswered = Client::Global(Code::OperationTimedOut);
            client.client().fetch_cluster_id(ANSWER).ok_or(unanswered)
        })
        .await
    }

    async fn query<T: Send + 'static>(
        &self,
        what: String,
        question: impl FnOnce(&Member) -> Result<T, Client> + Send + 'static,
    ) -> Result<T, KafkaError> {
        let closed = || KafkaError::Closed(self.name.to_string());
        let client = self.client.upgrade().ok_or_else(closed)?;
        let answer = tokio::task::spawn_blocking(move || question(&client)).await;
        match answer.map_err(|_| closed())? {
            Ok(value) => Ok(value),
            Err(error) if is_late(&error) => Err(KafkaError::Timeout {
                what,
                after: ANSWER,
            }),
            Err(error) => Err(KafkaError::refused(what, &error)),
        }
    }
}

fn is_late(error: &Client) -> bool {
    matches!(
        error.rdkafka_error_code(),
        Some(Code::OperationTimedOut | Code::RequestTimedOut)
    )
}

fn committed(client: &Member, tp: &TopicPartition) -> Result<Option<i64>, Client> {
    let list = client.committed_offsets(names::list([tp]), ANSWER)?;
    let element = list.find_partition(&tp.topic, tp.partition);
    let element = element.ok_or(Client::OffsetFetch(Code::UnknownPartition))?;
    element.error()?;
    match element.offset() {
        Offset::Offset(offset) => Ok(Some(offset)),
        Offset::Invalid => Ok(None),
        _ => Err(Client::OffsetFetch(Code::BadMessage)),
    }
}

fn partitions(metadata: &Metadata, topic: &str) -> Result<Vec<i32>, Client> {
    let unknown = Client::MetadataFetch(Code::UnknownTopicOrPartition);
    let topic = metadata.topics().iter().find(|t| t.name() == topic);
    let topic = topic.ok_or(unknown)?;
    if let Some(error) = topic.error() {
        return Err(Client::MetadataFetch(error.into()));
    }
    let mut ids: Vec<i32> = topic.partitions().iter().map(|p| p.id()).collect();
    ids.sort_unstable();
    Ok(ids)
}
