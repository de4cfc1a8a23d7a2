//! `offsets set`: puts the position of one partition where the operator wants it.

use clap::Args;
use tidegate_core::failure::Failure;
use tidegate_core::progress::ProgressKey;
use tidegate_core::record::TopicPartition;
use tidegate_core::resume::Start;

use super::super::render::{self, Format};
use super::super::views::SetRow;
use super::super::{CliError, chosen, open, output};
use super::position;
use crate::config::{Config, ConsumerConfig};
use crate::inbox::{Inbox, ProgressRow};
use crate::kafka::{GroupOffset, KafkaError, cluster_id, group_offsets, topic_partitions};

/// Which position to set, and to what.
#[derive(Debug, Args)]
pub(in crate::cli) struct Wanted {
    /// The consumer
    consumer: String,
    /// The topic
    #[arg(long)]
    topic: String,
    /// The partition
    #[arg(long, value_parser = clap::value_parser!(i32).range(0..), allow_negative_numbers = true)]
    partition: i32,
    #[command(flatten)]
    target: Target,
}

/// Where to.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Target {
    /// The next offset to handle, from the log's first to the one after its last
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(0..), allow_negative_numbers = true)]
    to_offset: Option<i64>,
    /// The log's first record
    #[arg(long)]
    earliest: bool,
    /// Behind the log's last record
    #[arg(long)]
    latest: bool,
}

impl Target {
    /// The offset meant in a log of `low` to `high`.
    fn next(&self, low: i64, high: i64) -> i64 {
        match self.to_offset {
            Some(offset) => offset,
            None if self.latest => high,
            None => low,
        }
    }
}

/// Sets the position, and prints the row before and after, read back.
pub(super) async fn execute(
    config: &Config,
    wanted: &Wanted,
    format: Format,
) -> Result<(), CliError> {
    let consumer = reader(config, wanted)?;
    let inbox = open(config).await?;
    let all = topic_partitions(&config.kafka, &wanted.topic)
        .await
        .map_err(failed)?;
    let source = pick(&all, wanted)?;
    let log = log(config, consumer, source).await?;
    let next = wanted.target.next(log.low, log.high);
    inside(next, &log)?;
    let cluster = cluster_id(&config.kafka).await.map_err(failed)?;
    let key = ProgressKey {
        consumer: consumer.name.clone(),
        source: source.clone(),
    };
    let before = row(&inbox, &key).await?;
    if before.is_none() {
        first(&inbox, config, consumer, (&cluster, &all, next, source)).await?;
    }
    inbox
        .adopt(&key, &consumer.group, &cluster, (next, None))
        .await
        .map_err(busy)?;
    let after = row(&inbox, &key).await?;
    let shown: Vec<SetRow> = after
        .iter()
        .map(|after| compare(before.as_ref(), after, &log))
        .collect();
    output::print(&render::list(format, &shown, "nothing set"))
}

fn failed(error: KafkaError) -> CliError {
    CliError::failed(&error)
}

/// The consumer, which must read the topic.
fn reader<'c>(config: &'c Config, wanted: &Wanted) -> Result<&'c ConsumerConfig, CliError> {
    let consumers = chosen(config, Some(&wanted.consumer))?;
    let reads = |consumer: &&ConsumerConfig| consumer.topics.contains(&wanted.topic);
    consumers.into_iter().find(reads).ok_or_else(|| {
        CliError::Usage(format!(
            "consumer {:?} does not read topic {:?}: a position is set for a topic that the configuration lists",
            wanted.consumer, wanted.topic
        ))
    })
}

fn pick<'p>(all: &'p [TopicPartition], wanted: &Wanted) -> Result<&'p TopicPartition, CliError> {
    let found = all.iter().find(|tp| tp.partition == wanted.partition);
    found.ok_or_else(|| {
        CliError::Failed(format!(
            "topic {:?} has no partition {}: it has {} of them, counted from 0",
            wanted.topic,
            wanted.partition,
            all.len()
        ))
    })
}

async fn log(
    config: &Config,
    consumer: &ConsumerConfig,
    source: &TopicPartition,
) -> Result<GroupOffset, CliError> {
    let answers = group_offsets(&config.kafka, &consumer.group, vec![source.clone()])
        .await
        .map_err(failed)?;
    let answer = answers.into_iter().next();
    answer.ok_or_else(|| CliError::Failed(format!("Kafka told nothing about {source}; try again")))
}

/// Refuses an offset where the log is not: a host would stop there.
fn inside(next: i64, log: &GroupOffset) -> Result<(), CliError> {
    let (low, high) = (log.low, log.high);
    if (low..=high).contains(&next) {
        return Ok(());
    }
    Err(CliError::Failed(format!(
        "offset {next} is not in the log of {}, which holds {low} to {high}: nothing was changed; give an offset from {low} to {high}, `--earliest` or `--latest`",
        log.partition
    )))
}

async fn row(inbox: &Inbox, key: &ProgressKey) -> Result<Option<ProgressRow>, CliError> {
    let rows = inbox.progress_rows().await?;
    Ok(rows.into_iter().find(|row| row.key == *key))
}

/// A first row must not take `start = "latest"` away from the topic's other partitions: a host would take those that
/// have neither a row nor a group's offset for partitions that appeared later, and read them from their beginning.
/// They get their rows in the same transaction.
async fn first(
    inbox: &Inbox,
    config: &Config,
    consumer: &ConsumerConfig,
    (cluster, all, next, source): (&str, &[TopicPartition], i64, &TopicPartition),
) -> Result<(), CliError> {
    let names = (consumer.name.as_str(), &*source.topic);
    if consumer.start != Start::Latest || !inbox.registered(names.0, names.1).await?.is_empty() {
        return Ok(());
    }
    let others = all.iter().filter(|tp| *tp != source).cloned().collect();
    let others = group_offsets(&config.kafka, &consumer.group, others)
        .await
        .map_err(failed)?;
    let mut places = vec![(source.partition, next, None)];
    for log in others.iter().filter(|log| log.committed.is_none()) {
        tracing::info!(partition = %log.partition, at = log.high, "a first position, as `start = \"latest\"` has it");
        places.push((log.partition.partition, log.high, None));
    }
    inbox
        .register(names, &consumer.group, cluster, &places)
        .await?;
    Ok(())
}

/// A row that stayed locked is in a batch of a host.
fn busy(failure: Failure) -> CliError {
    match &failure {
        Failure::Sql { sqlstate, .. } if sqlstate == "55P03" => CliError::Failed(
            "a host's batch holds the position longer than postgres.lock_timeout: nothing was changed; try again".to_owned(),
        ),
        _ => failure.into(),
    }
}

fn compare(before: Option<&ProgressRow>, after: &ProgressRow, log: &GroupOffset) -> SetRow {
    SetRow {
        consumer: after.key.consumer.clone(),
        topic: after.key.source.topic.to_string(),
        partition: after.key.source.partition,
        low: log.low,
        high: log.high,
        before: before.map(position),
        after: position(after),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_log_and_its_end_can_be_set_and_nothing_else() {
        let log = GroupOffset {
            partition: TopicPartition {
                topic: "payments".into(),
                partition: 0,
            },
            committed: Some(99),
            low: 10,
            high: 20,
        };
        for next in [10, 15, 20] {
            assert!(inside(next, &log).is_ok(), "{next}");
        }
        for next in [0, 9, 21] {
            let refused =
                inside(next, &log).map_err(|error| (error.exit_code(), error.to_string()));
            assert!(
                matches!(&refused, Err((1, text)) if text.contains("10 to 20")),
                "{refused:?}"
            );
        }
    }

    #[test]
    fn earliest_and_latest_are_the_logs_ends() {
        let target = |to_offset, earliest, latest| Target {
            to_offset,
            earliest,
            latest,
        };
        assert_eq!(target(Some(12), false, false).next(10, 20), 12);
        assert_eq!(target(None, true, false).next(10, 20), 10);
        assert_eq!(target(None, false, true).next(10, 20), 20);
    }
}
