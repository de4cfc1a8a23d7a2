//! Topic names, and librdkafka's lists of partitions.

use std::sync::Arc;

use rdkafka::{Offset, TopicPartitionList};
use tidegate_core::record::TopicPartition;

use super::KafkaError;
use crate::config::bad_topic;

/// Refuses what is no topic name. librdkafka takes a name with `^` for a pattern, and its bindings
/// panic on a NUL.
pub(super) fn check_topic(name: &str) -> Result<(), KafkaError> {
    match bad_topic(name) {
        None => Ok(()),
        Some(_) => Err(KafkaError::TopicName {
            name: name.to_owned(),
        }),
    }
}

/// `tps` as librdkafka wants them, without offsets.
pub(super) fn list<'a>(tps: impl IntoIterator<Item = &'a TopicPartition>) -> TopicPartitionList {
    let mut list = TopicPartitionList::new();
    for tp in tps {
        list.add_partition(&tp.topic, tp.partition);
    }
    list
}

/// One partition at an offset.
pub(super) fn at(tp: &TopicPartition, offset: i64) -> Result<TopicPartitionList, KafkaError> {
    let bad = || KafkaError::BadOffset {
        partition: tp.clone(),
        offset,
    };
    if offset < 0 {
        return Err(bad());
    }
    let mut list = TopicPartitionList::new();
    list.add_partition_offset(&tp.topic, tp.partition, Offset::Offset(offset))
        .map_err(|_| bad())?;
    Ok(list)
}

/// The partitions in `list`.
pub(super) fn partitions(list: &TopicPartitionList) -> Vec<TopicPartition> {
    let elements = list.elements();
    elements
        .iter()
        .map(|e| TopicPartition {
            topic: Arc::from(e.topic()),
            partition: e.partition(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::check_topic;

    #[test]
    fn patterns_and_nuls_are_no_topic_names() {
        for bad in [
            "",
            "^orders",
            "a\0b",
            "a b",
            ".",
            "..",
            "ä",
            &"x".repeat(250),
        ] {
            assert!(check_topic(bad).is_err(), "{bad:?}");
        }
        for good in ["orders", "payments.received.dlt", "A_b-9", &"x".repeat(249)] {
            assert!(check_topic(good).is_ok(), "{good:?}");
        }
    }
}
