//! The broker's answers, read in one way whoever asked: a group's member or a command.

use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, Consumer as _, ConsumerContext};
use rdkafka::error::{KafkaError as Client, RDKafkaErrorCode as Code};
use rdkafka::{Offset, TopicPartitionList};
use tidegate_core::record::TopicPartition;

/// How long one question may take.
pub(super) const ANSWER: Duration = Duration::from_secs(10);

/// K of `tp` in the broker's answer; none only if the broker said that there is none.
pub(super) fn committed(
    answer: &TopicPartitionList,
    tp: &TopicPartition,
) -> Result<Option<i64>, Client> {
    let element = answer.find_partition(&tp.topic, tp.partition);
    let element = element.ok_or(Client::OffsetFetch(Code::UnknownPartition))?;
    element.error()?;
    match element.offset() {
        Offset::Offset(offset) => Ok(Some(offset)),
        Offset::Invalid => Ok(None),
        _ => Err(Client::OffsetFetch(Code::BadMessage)),
    }
}

/// The group's committed offsets of `asked`.
///
/// librdkafka asks again and again where the coordinator is not ready, or where transactions hold the offsets back, and
/// then says that the time is over. So the brokers are asked something else then: where they answer, they are there, and
/// it is the group's coordinator that does not tell.
pub(super) fn committed_offsets<C: ConsumerContext>(
    client: &BaseConsumer<C>,
    asked: TopicPartitionList,
) -> Result<TopicPartitionList, Client> {
    client.committed_offsets(asked, ANSWER).map_err(|error| {
        let late = error.rdkafka_error_code() == Some(Code::OperationTimedOut);
        match late && answers(client) {
            true => Client::OffsetFetch(Code::WaitingForCoordinator),
            false => error,
        }
    })
}

/// Whether a broker answers now.
fn answers<C: ConsumerContext>(client: &BaseConsumer<C>) -> bool {
    client.fetch_metadata(Some(NO_TOPIC), GLANCE).is_ok()
}

/// No topic has this name: whatever is said of it is an answer.
const NO_TOPIC: &str = "tidegate-asks-whether-brokers-answer";
/// How long that may take.
const GLANCE: Duration = Duration::from_secs(2);

/// The numbers of a topic's partitions, ascending.
pub(super) fn partitions<C: ConsumerContext>(
    client: &BaseConsumer<C>,
    topic: &str,
) -> Result<Vec<i32>, Client> {
    let unknown = Client::MetadataFetch(Code::UnknownTopicOrPartition);
    let metadata = client.fetch_metadata(Some(topic), ANSWER)?;
    let found = metadata.topics().iter().find(|t| t.name() == topic);
    let found = found.ok_or(unknown)?;
    if let Some(error) = found.error() {
        return Err(Client::MetadataFetch(error.into()));
    }
    let mut ids: Vec<i32> = found.partitions().iter().map(|p| p.id()).collect();
    ids.sort_unstable();
    Ok(ids)
}

/// The cluster's id.
pub(super) fn cluster_id<C: ConsumerContext>(client: &BaseConsumer<C>) -> Result<String, Client> {
    let unanswered = Client::Global(Code::OperationTimedOut);
    client.client().fetch_cluster_id(ANSWER).ok_or(unanswered)
}
