//! `offsets show`: progress rows beside what Kafka says.

use std::collections::{BTreeMap, BTreeSet};

use tidegate_core::control::State;
use tidegate_core::progress::Counts;
use tidegate_core::record::TopicPartition;

use super::super::render::{self, Format};
use super::super::views::{CountsView, OffsetRow};
use super::super::{CliError, chosen, open, output};
use crate::config::{Config, ConsumerConfig};
use crate::inbox::ProgressRow;
use crate::kafka::{GroupOffset, group_offsets, topic_partitions};

/// Prints every partition of the chosen consumers. What Kafka does not answer is left out of the table, said
/// on stderr, and ends in exit code 1.
pub(super) async fn execute(
    config: &Config,
    consumer: Option<&str>,
    format: Format,
) -> Result<(), CliError> {
    let consumers = chosen(config, consumer)?;
    let inbox = open(config).await?;
    let progress = inbox.progress_rows().await?;
    let mut asked = Asked::new(config);
    let mut rows = Vec::new();
    for consumer in consumers {
        let ours = progress
            .iter()
            .filter(|row| row.key.consumer == consumer.name);
        let lines = lines(consumer, ours, asked.partitions(consumer).await);
        let offsets = asked.offsets(&lines).await;
        let state = inbox.control(&consumer.name).await?.state;
        rows.extend(lines.into_iter().map(|line| line.row(&offsets, state)));
    }
    // What Kafka did not say is not "none": where nothing is known, nothing is printed.
    if asked.errors.is_empty() || !rows.is_empty() {
        output::print(&render::list(format, &rows, "no partitions"))?;
    }
    match asked.errors.is_empty() {
        true => Ok(()),
        false => Err(CliError::Failed(
            asked.errors.into_iter().collect::<Vec<_>>().join("; "),
        )),
    }
}

/// What Kafka was asked, and what it would not say.
struct Asked<'c> {
    config: &'c Config,
    errors: BTreeSet<String>,
}

/// Kafka's answers by group and partition.
type Offsets = BTreeMap<(String, TopicPartition), GroupOffset>;

impl<'c> Asked<'c> {
    fn new(config: &'c Config) -> Self {
        Self {
            config,
            errors: BTreeSet::new(),
        }
    }

    async fn partitions(&mut self, consumer: &ConsumerConfig) -> BTreeSet<TopicPartition> {
        let mut all = BTreeSet::new();
        for topic in &consumer.topics {
            match topic_partitions(&self.config.kafka, topic).await {
                Ok(partitions) => all.extend(partitions),
                Err(error) => drop(self.errors.insert(error.to_string())),
            }
        }
        all
    }

    async fn offsets(&mut self, lines: &[Line<'_>]) -> Offsets {
        let mut groups: BTreeMap<&str, Vec<TopicPartition>> = BTreeMap::new();
        for line in lines.iter().filter(|line| line.exists) {
            groups
                .entry(&line.group)
                .or_default()
                .push(line.partition.clone());
        }
        let mut offsets = Offsets::new();
        for (group, partitions) in groups {
            match group_offsets(&self.config.kafka, group, partitions).await {
                Ok(answers) => offsets.extend(
                    answers
                        .into_iter()
                        .map(|answer| ((group.to_owned(), answer.partition.clone()), answer)),
                ),
                Err(error) => drop(self.errors.insert(error.to_string())),
            }
        }
        offsets
    }
}

/// One partition of one consumer.
struct Line<'r> {
    consumer: &'r str,
    group: String,
    partition: TopicPartition,
    /// Whether Kafka has such a partition.
    exists: bool,
    progress: Option<&'r ProgressRow>,
}

/// The partitions that have a row, and those that only Kafka knows yet.
fn lines<'r>(
    consumer: &'r ConsumerConfig,
    rows: impl Iterator<Item = &'r ProgressRow>,
    existing: BTreeSet<TopicPartition>,
) -> Vec<Line<'r>> {
    let rows: BTreeMap<&TopicPartition, &ProgressRow> =
        rows.map(|row| (&row.key.source, row)).collect();
    let known = rows.keys().map(|partition| (*partition).clone());
    let all: BTreeSet<TopicPartition> = known.chain(existing.iter().cloned()).collect();
    let lines = all.into_iter().map(|partition| {
        let progress = rows.get(&partition).copied();
        Line {
            consumer: &consumer.name,
            group: progress.map_or(&consumer.group, |row| &row.group).clone(),
            exists: existing.contains(&partition),
            partition,
            progress,
        }
    });
    lines.collect()
}

impl Line<'_> {
    fn row(self, offsets: &Offsets, state: State) -> OffsetRow {
        let key = (self.group.clone(), self.partition.clone());
        let kafka = offsets.get(&key);
        let (group, partition) = key.clone();
        let next_offset = self.progress.map(|row| row.next_offset);
        let high = kafka.map(|kafka| kafka.high);
        let lag = high
            .zip(next_offset)
            .map(|(high, next)| high.saturating_sub(next).max(0));
        OffsetRow {
            consumer: self.consumer.to_owned(),
            topic: partition.topic.to_string(),
            partition: partition.partition,
            group,
            kafka_committed: kafka.and_then(|kafka| kafka.committed),
            next_offset,
            acknowledged: self.progress.and_then(|row| row.committed),
            low: kafka.map(|kafka| kafka.low),
            high,
            lag,
            state: self.state(state).to_owned(),
            owner: self.progress.and_then(owner),
            failing_offset: self.progress.and_then(|row| Some(row.failing?.0)),
            failing_attempts: self.progress.and_then(|row| Some(row.failing?.1)),
            stopped_for: self.progress.and_then(|row| row.stopped_for.clone()),
            counts: self.progress.map(|row| counts(row.counts)),
        }
    }

    /// The partition's state, where its consumer's says nothing of it.
    fn state(&self, consumer: State) -> &'static str {
        match (consumer, self.progress) {
            (State::Running, Some(row)) if row.stopped_for.is_some() => "stopped",
            (State::Running, Some(row)) if row.failing.is_some() => "retrying",
            (consumer, _) => consumer.as_str(),
        }
    }
}

/// Who owns the position: a host that was killed, or that is no longer seen, is gone.
fn owner(row: &ProgressRow) -> Option<String> {
    row.owner.as_ref()?;
    Some(row.owner_host.clone().unwrap_or_else(|| "gone".to_owned()))
}

fn counts(counts: Counts) -> CountsView {
    let Counts {
        done,
        skipped,
        rejected,
        redelivered,
        republished,
        taken_over,
    } = counts;
    CountsView {
        done,
        skipped,
        rejected,
        redelivered,
        republished,
        taken_over,
    }
}

#[cfg(test)]
mod tests;
