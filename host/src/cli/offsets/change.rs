//! Carries changes of positions out: the rows, then Kafka's offsets, then both read back and printed.

use tidegate_core::record::TopicPartition;

use super::super::render::{self, Format};
use super::super::views::PositionRow;
use super::super::{CliError, output};
use super::position;
use super::set::busy;
use super::standing::{Teller, failed, tell};
use crate::config::{Config, ConsumerConfig};
use crate::inbox::{Inbox, NewPosition, ProgressRow};
use crate::kafka::{GroupOffset, group_offsets};

/// One partition's change.
pub(super) struct Change {
    /// What the row becomes.
    pub(super) new: NewPosition,
    /// The row before.
    pub(super) before: Option<ProgressRow>,
    /// The log, and the group's offset before.
    pub(super) log: GroupOffset,
    /// What the operator should know.
    pub(super) note: Option<String>,
}

/// Changes of a topic's positions.
pub(super) struct Changes<'a> {
    pub(super) topic: &'a str,
    pub(super) cluster: &'a str,
    pub(super) changes: Vec<Change>,
}

/// What came of changes.
#[derive(Default)]
pub(super) struct Outcome {
    rows: Vec<PositionRow>,
    /// Why Kafka was not told of some position.
    untold: Option<CliError>,
}

impl Outcome {
    /// Prints what was changed, even where Kafka could not be told of it.
    pub(super) fn print(self, format: Format) -> Result<(), CliError> {
        output::print(&render::list(format, &self.rows, "nothing changed"))?;
        self.untold.map_or(Ok(()), Err)
    }

    /// Carries the changes of one topic out; `false`: a position moved meanwhile, and nothing was changed.
    pub(super) async fn add(
        &mut self,
        inbox: &Inbox,
        (config, consumer): (&Config, &ConsumerConfig),
        teller: Teller,
        wanted: Changes<'_>,
    ) -> Result<bool, CliError> {
        let names = (consumer.name.as_str(), wanted.topic);
        let new: Vec<NewPosition> = wanted.changes.iter().map(|c| c.new.clone()).collect();
        let put = inbox
            .put_positions(names, (&consumer.group, wanted.cluster), &new)
            .await
            .map_err(busy)?;
        if !put {
            return Ok(false);
        }
        let untold = wanted.changes.iter().filter(|c| c.new.committed.is_none());
        let untold: Vec<(TopicPartition, i64)> = untold
            .map(|c| (c.log.partition.clone(), c.new.next))
            .collect();
        let told = tell(teller, inbox, (config, consumer), &untold).await;
        self.untold = self.untold.take().or(told.err());
        let rows = read_back(inbox, (config, consumer), wanted.changes).await?;
        self.rows.extend(rows);
        Ok(true)
    }
}

/// A batch that was under way has ended.
pub(super) fn moved(topic: &str) -> CliError {
    CliError::Failed(format!(
        "a position of {topic} moved meanwhile: nothing was changed there; try again"
    ))
}

async fn read_back(
    inbox: &Inbox,
    (config, consumer): (&Config, &ConsumerConfig),
    changes: Vec<Change>,
) -> Result<Vec<PositionRow>, CliError> {
    let sources = changes.iter().map(|c| c.log.partition.clone()).collect();
    let logs = group_offsets(&config.kafka, &consumer.group, sources)
        .await
        .map_err(failed)?;
    let rows = inbox.progress_rows().await?;
    let shown = changes.into_iter().filter_map(|change| {
        let source = &change.log.partition;
        let ours =
            |row: &&ProgressRow| row.key.consumer == consumer.name && row.key.source == *source;
        let after = rows.iter().find(ours)?;
        let kafka = logs.iter().find(|log| log.partition == *source);
        Some(PositionRow {
            consumer: consumer.name.clone(),
            topic: source.topic.to_string(),
            partition: source.partition,
            low: change.log.low,
            high: change.log.high,
            before: change.before.as_ref().map(position),
            after: position(after),
            kafka_before: change.log.committed,
            kafka_after: kafka.and_then(|log| log.committed),
            note: note(&change),
        })
    });
    Ok(shown.collect())
}

/// What the operator should know: what was said of the position, and the letter of a gap.
fn note(change: &Change) -> Option<String> {
    let gap = change.new.gap.as_ref().map(|gap| {
        format!(
            "skipped {} to {}: dead letter {}",
            gap.first,
            change.new.next - 1,
            gap.id
        )
    });
    match (change.note.clone(), gap) {
        (Some(note), Some(gap)) => Some(format!("{note}; {gap}")),
        (note, gap) => note.or(gap),
    }
}
