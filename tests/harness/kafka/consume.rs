//! Reading a topic whole, as a bystander: no group, no commit.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::{BorrowedMessage, Headers, Message};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};

use super::{Got, Kafka, REQUEST, blocking, config};

impl Kafka {
    /// Every committed record of a topic, partition by partition in offset order; none if there is no such topic.
    pub async fn consume_all(&self, topic: &str) -> Vec<Got> {
        let partitions = self.partitions(topic).await;
        if partitions == 0 {
            return Vec::new();
        }
        let consumer: BaseConsumer = config(&self.bootstrap)
            .set("group.id", "bystander")
            .set("enable.auto.commit", "false")
            .set("enable.partition.eof", "true")
            .set("isolation.level", "read_committed")
            .set("fetch.wait.max.ms", "50")
            .set("fetch.message.max.bytes", "8388608")
            .create()
            .unwrap_or_else(|e| panic!("cannot make a consumer: {e}"));
        let topic = topic.to_owned();
        blocking(move || read_to_end(&consumer, &topic, partitions)).await
    }
}

fn read_to_end(consumer: &BaseConsumer, topic: &str, partitions: usize) -> Vec<Got> {
    let mut list = TopicPartitionList::new();
    for partition in (0..).take(partitions) {
        let added = list.add_partition_offset(topic, partition, Offset::Beginning);
        added.unwrap_or_else(|e| panic!("read {topic}[{partition}]: {e}"));
    }
    let assigned = consumer.assign(&list);
    assigned.unwrap_or_else(|e| panic!("read {topic}: {e}"));
    let (mut all, mut ended) = (Vec::new(), HashSet::new());
    let mut quiet_since = Instant::now();
    while ended.len() < partitions {
        match consumer.poll(Duration::from_millis(200)) {
            Some(Ok(message)) => {
                all.push(got(&message));
                quiet_since = Instant::now();
            }
            Some(Err(KafkaError::PartitionEOF(partition))) => {
                ended.insert(partition);
            }
            Some(Err(e)) => panic!("read {topic}: {e}"),
            None => assert!(
                quiet_since.elapsed() < REQUEST,
                "read {topic}: no end in {REQUEST:?}"
            ),
        }
    }
    all.sort_by_key(|got| (got.partition, got.offset));
    all
}

fn got(message: &BorrowedMessage<'_>) -> Got {
    let headers = message.headers().into_iter().flat_map(|h| h.iter());
    Got {
        partition: message.partition(),
        offset: message.offset(),
        timestamp: message.timestamp().to_millis(),
        key: message.key().map(<[u8]>::to_vec),
        value: message.payload().map(<[u8]>::to_vec),
        headers: headers
            .map(|h| (h.key.to_owned(), h.value.map(<[u8]>::to_vec)))
            .collect(),
    }
}
