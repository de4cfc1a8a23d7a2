//! Questions to the broker. Their calls block, so they run on blocking threads, never on the poll thread.

use std::time::Duration;

use rdkafka::consumer::Consumer as _;
use rdkafka::error::{KafkaError as Client, RDKafkaErrorCode as Code};
use rdkafka::{Offset, TopicPartitionList};
use tidegate_core::record::TopicPartition;

use super::answers::{self, ANSWER};
use super::context::Member;
use super::{Consumer, KafkaError, names};

/// How long the broker may take to tell where partitions end: somebody asks again soon.
const ENDS: Duration = Duration::from_secs(3);

impl Consumer {
    /// K: the group's committed offset. None only if the broker said that there is none.
    ///
    /// # Errors
    /// Any that kept the broker's word from us. Not being able to read K is waiting, never "no offset".
    pub async fn committed(&self, tp: &TopicPartition) -> Result<Option<i64>, KafkaError> {
        let what = format!("the committed offset of {tp}");
        let tp = tp.clone();
        self.query(what, move |client| {
            let answer = answers::committed_offsets(client, names::list([&tp]))?;
            answers::committed(&answer, &tp)
        })
        .await
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
        self.query(what, move |client| answers::partitions(client, &topic))
            .await
    }

    /// The offset behind the last committed transaction (or record) of each of `tps`, as far as the broker told:
    /// one request a leader, answered within 3 s.
    ///
    /// # Errors
    /// The broker cannot be asked.
    pub async fn ends(
        &self,
        tps: Vec<TopicPartition>,
    ) -> Result<Vec<(TopicPartition, i64)>, KafkaError> {
        if tps.is_empty() {
            return Ok(Vec::new());
        }
        let what = "the ends of the partitions".to_owned();
        self.query(what, move |client| {
            let mut list = TopicPartitionList::with_capacity(tps.len());
            for tp in &tps {
                list.add_partition_offset(&tp.topic, tp.partition, Offset::End)?;
            }
            let answer = client.offsets_for_times(list, ENDS)?;
            let end = |tp: TopicPartition| {
                let found = answer.find_partition(&tp.topic, tp.partition)?;
                match (found.error(), found.offset()) {
                    (Ok(()), Offset::Offset(end)) => Some((tp, end)),
                    _ => None,
                }
            };
            Ok(tps.into_iter().filter_map(end).collect())
        })
        .await
    }

    /// The cluster's id.
    ///
    /// # Errors
    /// The broker cannot be asked.
    pub async fn cluster_id(&self) -> Result<String, KafkaError> {
        self.query("the cluster's id".to_owned(), answers::cluster_id)
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

/// Nobody answered: librdkafka's own word. The broker's own time-out is an answer.
fn is_late(error: &Client) -> bool {
    error.rdkafka_error_code() == Some(Code::OperationTimedOut)
}
