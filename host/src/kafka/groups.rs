//! What a command asks of a group that it never joins: who is in it, and to put its offsets somewhere.

use std::time::Duration;

use rdkafka::consumer::{CommitMode, Consumer as _};
use rdkafka::error::{KafkaError as Client, RDKafkaErrorCode as Code};
use rdkafka::{Offset, TopicPartitionList};
use tidegate_core::record::TopicPartition;
use tokio::time::timeout;

use super::answers::ANSWER;
use super::offsets::{ASKER, Asker, ask};
use super::{KafkaError, names};
use crate::config::KafkaConfig;

/// How long putting a group's offsets may take: the client looks for the coordinator without an end of its own.
const PUT: Duration = Duration::from_secs(30);

/// The members of a group, each as its client's name and address; none where the broker does not know the group.
///
/// # Errors
/// The broker cannot be asked, or refuses.
pub async fn group_members(kafka: &KafkaConfig, group: &str) -> Result<Vec<String>, KafkaError> {
    let name = group.to_owned();
    let what = format!("the members of group {group:?}");
    ask(kafka, ASKER, what, move |client| {
        let list = client.fetch_group_list(Some(&name), ANSWER)?;
        let members = list.groups().iter().flat_map(|group| group.members());
        let text = |m: &rdkafka::groups::GroupMemberInfo| {
            format!("{} ({})", m.client_id(), m.client_host())
        };
        Ok(members.map(text).collect())
    })
    .await
}

/// Commits offsets in the name of a group that has no member, forward or back.
///
/// # Errors
/// The broker cannot be asked, or refuses: it does while the group has members.
pub async fn put_group_offsets(
    kafka: &KafkaConfig,
    group: &str,
    offsets: &[(TopicPartition, i64)],
) -> Result<(), KafkaError> {
    if offsets.is_empty() {
        return Ok(());
    }
    let offsets = offsets.to_vec();
    let what = format!("putting the offsets of group {group:?}");
    let put = ask(kafka, group, what.clone(), move |client: &Asker| {
        let mut list = TopicPartitionList::with_capacity(offsets.len());
        for (tp, offset) in &offsets {
            list.add_partition_offset(&tp.topic, tp.partition, Offset::Offset(*offset))?;
        }
        client.commit(&list, CommitMode::Sync)
    });
    let late = |_| KafkaError::Timeout { what, after: PUT };
    timeout(PUT, put).await.map_err(late)?
}

/// For each partition the offset of the first record whose timestamp is `ms` (since 1970) or later; none where the log
/// holds no such record.
///
/// # Errors
/// The broker cannot be asked, or does not know a partition.
pub async fn offsets_at(
    kafka: &KafkaConfig,
    partitions: &[TopicPartition],
    ms: i64,
) -> Result<Vec<Option<i64>>, KafkaError> {
    let partitions = partitions.to_vec();
    let what = format!("the offsets at {ms} ms");
    ask(kafka, ASKER, what, move |client| {
        let mut wanted = names::list(&partitions);
        wanted.set_all_offsets(Offset::Offset(ms))?;
        let found = client.offsets_for_times(wanted, ANSWER)?;
        partitions.iter().map(|tp| found_in(&found, tp)).collect()
    })
    .await
}

fn found_in(found: &TopicPartitionList, tp: &TopicPartition) -> Result<Option<i64>, Client> {
    let element = found.find_partition(&tp.topic, tp.partition);
    let element = element.ok_or(Client::OffsetFetch(Code::UnknownPartition))?;
    element.error()?;
    match element.offset() {
        Offset::Offset(offset) => Ok(Some(offset)),
        Offset::End => Ok(None),
        _ => Err(Client::OffsetFetch(Code::BadMessage)),
    }
}
