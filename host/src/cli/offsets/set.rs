//! `offsets set`: puts positions where the operator wants them.

use clap::Args;
use tidegate_core::failure::Failure;
use tidegate_core::letter;
use tidegate_core::record::TopicPartition;
use tidegate_core::resume::Start;

use super::super::render::Format;
use super::super::{CliError, chosen, open};
use super::change::{Change, Changes, Outcome, moved};
use super::standing::{failed, teller};
use super::target::Target;
use crate::config::{Config, ConsumerConfig};
use crate::inbox::{Gap, Inbox, NewPosition, ProgressRow};
use crate::kafka::{cluster_id, group_offsets, offsets_at, topic_partitions};

/// How often positions are read again that a batch under way, the last one, has moved on.
const TRIES: usize = 5;

/// Which positions to set, and to what.
#[derive(Debug, Args)]
pub(in crate::cli) struct Wanted {
    /// The consumer
    consumer: String,
    /// The topic
    #[arg(long)]
    topic: String,
    /// Only this partition; else every partition of the topic
    #[arg(long, value_parser = clap::value_parser!(i32).range(0..), allow_negative_numbers = true)]
    partition: Option<i32>,
    #[command(flatten)]
    target: Target,
}

/// Sets the positions, and prints rows and Kafka's offsets before and after, read back.
pub(super) async fn execute(
    config: &Config,
    wanted: &Wanted,
    format: Format,
) -> Result<(), CliError> {
    let consumer = reader(config, wanted)?;
    let inbox = open(config).await?;
    let teller = teller(&inbox, config, consumer).await?;
    let all = topic_partitions(&config.kafka, &wanted.topic)
        .await
        .map_err(failed)?;
    let sources = pick(&all, wanted)?;
    let cluster = cluster_id(&config.kafka).await.map_err(failed)?;
    let mut outcome = Outcome::default();
    for _ in 0..TRIES {
        let changes = changes(config, consumer, wanted, (&inbox, &cluster, &sources)).await?;
        if let [
            Change {
                before: None, log, ..
            },
        ] = &changes[..]
        {
            let at = (cluster.as_str(), &log.partition);
            first(&inbox, (config, consumer), &all, at).await?;
        }
        let changes = Changes {
            topic: &wanted.topic,
            cluster: &cluster,
            changes,
        };
        let add = outcome.add(&inbox, (config, consumer), teller, changes);
        if add.await? {
            return outcome.print(format);
        }
        // What is skipped must be what was meant: from another position it would be something else.
        if wanted.target.is_relative() {
            break;
        }
    }
    Err(moved(&wanted.topic))
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

fn pick(all: &[TopicPartition], wanted: &Wanted) -> Result<Vec<TopicPartition>, CliError> {
    let Some(partition) = wanted.partition else {
        return Ok(all.to_vec());
    };
    let found = all.iter().find(|tp| tp.partition == partition);
    let none = || {
        CliError::Failed(format!(
            "topic {:?} has no partition {partition}: it has {} of them, counted from 0",
            wanted.topic,
            all.len()
        ))
    };
    Ok(vec![found.ok_or_else(none)?.clone()])
}

/// What is to become of each partition. One that cannot be set where it is wanted refuses them all.
async fn changes(
    config: &Config,
    consumer: &ConsumerConfig,
    wanted: &Wanted,
    (inbox, cluster, sources): (&Inbox, &str, &[TopicPartition]),
) -> Result<Vec<Change>, CliError> {
    let logs = group_offsets(&config.kafka, &consumer.group, sources.to_vec())
        .await
        .map_err(failed)?;
    let moments = match wanted.target.moment() {
        None => vec![None; logs.len()],
        Some(ms) => offsets_at(&config.kafka, sources, ms)
            .await
            .map_err(failed)?,
    };
    let rows = inbox.progress_rows().await?;
    let change = |(log, at): (crate::kafka::GroupOffset, Option<i64>)| {
        let ours = |row: &&ProgressRow| {
            row.key.consumer == consumer.name && row.key.source == log.partition
        };
        let before = rows.iter().find(ours).cloned();
        let found = wanted.target.find(&log, before.as_ref(), at)?;
        let new = NewPosition {
            partition: log.partition.partition,
            expected: before.as_ref().map(|row| (row.next_offset, row.log_epoch)),
            next: found.next,
            committed: None,
            gap: before
                .as_ref()
                .and_then(|row| gap(row, cluster, found.next)),
        };
        Ok(Change {
            new,
            before,
            log,
            note: found.note,
        })
    };
    logs.into_iter().zip(moments).map(change).collect()
}

/// What lies between the position and a later one. Offsets of another cluster's log say nothing of this one's.
fn gap(row: &ProgressRow, cluster: &str, next: i64) -> Option<Gap> {
    let (first, source) = (row.next_offset, &row.key.source);
    (next > first && row.cluster_id == cluster).then(|| Gap {
        id: letter::skipped_id(&row.key.consumer, (cluster, row.log_epoch), source, first),
        first,
        message: letter::skipped(source, first, next, &asker()),
    })
}

/// The user and machine that ask, such as `ann@db1`: whoever reads the letter later may want to know.
fn asker() -> String {
    let of = |name| std::env::var(name).ok().filter(|user| !user.is_empty());
    let user = ["SUDO_USER", "USER", "LOGNAME"].into_iter().find_map(of);
    let machine = nix::unistd::gethostname().unwrap_or_default();
    let user = user.as_deref().unwrap_or("an unknown user");
    format!("{user}@{}", machine.to_string_lossy())
}

/// A first row must not take `start = "latest"` away from the topic's other partitions: a host would take those that
/// have neither a row nor a group's offset for partitions that appeared later, and read them from their beginning.
/// They get their rows before.
async fn first(
    inbox: &Inbox,
    (config, consumer): (&Config, &ConsumerConfig),
    all: &[TopicPartition],
    (cluster, source): (&str, &TopicPartition),
) -> Result<(), CliError> {
    let names = (consumer.name.as_str(), &*source.topic);
    if consumer.start != Start::Latest || !inbox.registered(names.0, names.1).await?.is_empty() {
        return Ok(());
    }
    let others = all.iter().filter(|tp| *tp != source).cloned().collect();
    let others = group_offsets(&config.kafka, &consumer.group, others)
        .await
        .map_err(failed)?;
    let mut places = Vec::new();
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
pub(super) fn busy(failure: Failure) -> CliError {
    match &failure {
        Failure::Sql { sqlstate, .. } if sqlstate == "55P03" => CliError::Failed(
            "a host's batch holds the position longer than postgres.lock_timeout: nothing was changed; try again".to_owned(),
        ),
        _ => failure.into(),
    }
}
