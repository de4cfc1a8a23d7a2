//! `offsets adopt`: gives progress rows to the configuration's group and the broker's cluster.

use std::collections::{BTreeMap, BTreeSet};

use tidegate_core::record::TopicPartition;

use super::super::render::Format;
use super::super::{CliError, chosen, open};
use super::change::{Change, Changes, Outcome, moved};
use super::standing::{failed, teller};
use crate::config::{Config, ConsumerConfig};
use crate::inbox::{Inbox, NewPosition, ProgressRow};
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

/// Adopts, topic by topic, and prints rows and Kafka's offsets before and after, read back.
pub(super) async fn execute(
    config: &Config,
    wanted: &Wanted,
    format: Format,
) -> Result<(), CliError> {
    let consumers = chosen(config, Some(&wanted.consumer))?;
    let inbox = open(config).await?;
    let rows = rows(&inbox, wanted).await?;
    if rows.is_empty() {
        return Err(wanted.refused());
    }
    let cluster = cluster_id(&config.kafka).await.map_err(failed)?;
    let mut outcome = Outcome::default();
    for consumer in consumers {
        let teller = teller(&inbox, config, consumer).await?;
        let mut topics: BTreeMap<String, Vec<Change>> = BTreeMap::new();
        for log in offsets(config, consumer, &rows).await? {
            if let Some(row) = rows.iter().find(|row| row.key.source == log.partition) {
                let of_topic = topics.entry(log.partition.topic.to_string()).or_default();
                of_topic.push(change(row, log));
            }
        }
        for (topic, changes) in topics {
            let changes = Changes {
                topic: &topic,
                cluster: &cluster,
                changes,
            };
            let added = outcome
                .add(&inbox, (config, consumer), teller, changes)
                .await?;
            if !added {
                return Err(moved(&topic));
            }
        }
    }
    outcome.print(format)
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

fn change(row: &ProgressRow, log: GroupOffset) -> Change {
    let place = place(&log);
    Change {
        new: NewPosition {
            partition: log.partition.partition,
            expected: Some((row.next_offset, row.log_epoch)),
            next: place.next,
            committed: place.committed,
            gap: None,
        },
        before: Some(row.clone()),
        log,
        note: Some(place.from.to_owned()),
    }
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
