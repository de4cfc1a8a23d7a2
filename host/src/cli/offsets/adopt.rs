//! `offsets adopt`: gives progress rows to the configuration's group and the broker's cluster.

use std::collections::BTreeSet;

use tidegate_core::record::TopicPartition;

use super::super::render::{self, Format};
use super::super::views::AdoptedRow;
use super::super::{CliError, chosen, open, output};
use super::position;
use crate::config::{Config, ConsumerConfig};
use crate::inbox::{Inbox, ProgressRow};
use crate::kafka::{GroupOffset, cluster_id, group_offsets, topic_partitions};

/// Which rows to adopt.
pub(super) struct Wanted {
    pub(super) consumer: String,
    pub(super) topic: Option<String>,
    pub(super) partition: Option<i32>,
}

impl Wanted {
    fn covers(&self, row: &ProgressRow) -> bool {
        let source = &row.key.source;
        row.key.consumer == self.consumer
            && self
                .topic
                .as_deref()
                .is_none_or(|topic| topic == &*source.topic)
            && self
                .partition
                .is_none_or(|partition| partition == source.partition)
    }

    fn refused(&self) -> CliError {
        let topic = self.topic.as_deref().unwrap_or("any topic");
        let partition = self.partition.map_or(String::new(), |n| format!("[{n}]"));
        CliError::Failed(format!(
            "consumer {:?} has no position in {topic}{partition} yet, so there is none to adopt: `tidegate run` takes the group's offset by itself; `tidegate offsets show` lists the positions",
            self.consumer
        ))
    }
}

/// Adopts, and prints each row before and after, read back.
pub(super) async fn execute(
    config: &Config,
    wanted: &Wanted,
    format: Format,
) -> Result<(), CliError> {
    let consumers = chosen(config, Some(&wanted.consumer))?;
    let inbox = open(config).await?;
    let before = rows(&inbox, wanted).await?;
    if before.is_empty() {
        return Err(wanted.refused());
    }
    let cluster = cluster_id(&config.kafka)
        .await
        .map_err(|e| CliError::failed(&e))?;
    let mut adopted = Vec::new();
    for consumer in consumers {
        for answer in offsets(config, consumer, &before).await? {
            if let Some(row) = before.iter().find(|row| row.key.source == answer.partition) {
                let place = place(&answer);
                let position = (place.next, place.committed);
                inbox
                    .adopt(&row.key, &consumer.group, &cluster, position)
                    .await?;
                adopted.push((row, place.from));
            }
        }
    }
    let after = rows(&inbox, wanted).await?;
    let shown: Vec<AdoptedRow> = adopted
        .iter()
        .filter_map(|(row, from)| compare(row, &after, from))
        .collect();
    output::print(&render::list(format, &shown, "nothing adopted"))
}

async fn rows(inbox: &Inbox, wanted: &Wanted) -> Result<Vec<ProgressRow>, CliError> {
    let rows = inbox.progress_rows().await?;
    Ok(rows.into_iter().filter(|row| wanted.covers(row)).collect())
}

/// Kafka's word on the rows' partitions. A partition that does not exist any more keeps its row.
async fn offsets(
    config: &Config,
    consumer: &ConsumerConfig,
    rows: &[ProgressRow],
) -> Result<Vec<GroupOffset>, CliError> {
    let failed = |error: crate::kafka::KafkaError| CliError::failed(&error);
    let topics: BTreeSet<_> = rows.iter().map(|row| &row.key.source.topic).collect();
    let mut existing = BTreeSet::new();
    for topic in topics {
        existing.extend(
            topic_partitions(&config.kafka, topic)
                .await
                .map_err(failed)?,
        );
    }
    let (there, gone): (Vec<TopicPartition>, Vec<TopicPartition>) = rows
        .iter()
        .map(|row| row.key.source.clone())
        .partition(|partition| existing.contains(partition));
    for partition in gone {
        tracing::warn!(%partition, "Kafka has no such partition any more; its row is left as it is");
    }
    group_offsets(&config.kafka, &consumer.group, there)
        .await
        .map_err(failed)
}

/// A position to adopt.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    next: i64,
    committed: Option<i64>,
    from: &'static str,
}

/// The group's offset where the log has it; else the log's beginning, so that nothing is skipped.
fn place(answer: &GroupOffset) -> Place {
    match answer.committed {
        Some(offset) if (answer.low..=answer.high).contains(&offset) => Place {
            next: offset,
            committed: Some(offset),
            from: "group offset",
        },
        _ => Place {
            next: answer.low,
            committed: None,
            from: "beginning of the log",
        },
    }
}

fn compare(before: &ProgressRow, after: &[ProgressRow], from: &str) -> Option<AdoptedRow> {
    let after = after.iter().find(|row| row.key == before.key)?;
    Some(AdoptedRow {
        consumer: before.key.consumer.clone(),
        topic: before.key.source.topic.to_string(),
        partition: before.key.source.partition,
        from: from.to_owned(),
        before: position(before),
        after: position(after),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_ever_skipped() {
        let answer = |committed| GroupOffset {
            partition: TopicPartition {
                topic: "payments".into(),
                partition: 0,
            },
            committed,
            low: 10,
            high: 20,
        };
        for (committed, next) in [
            (Some(10), 10),
            (Some(15), 15),
            (Some(20), 20),
            (Some(9), 10),
            (Some(21), 10),
            (None, 10),
        ] {
            assert_eq!(place(&answer(committed)).next, next, "{committed:?}");
        }
        assert_eq!(place(&answer(Some(21))).committed, None);
    }
}
