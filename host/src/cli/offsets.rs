//! `offsets show`, `offsets adopt` and `offsets set`.

mod adopt;
mod set;
mod show;

use clap::Subcommand;

use super::views::Position;
use super::{CliError, FormatArgs};
use crate::config::Config;
use crate::inbox::ProgressRow;

/// Positions.
#[derive(Debug, Subcommand)]
pub(super) enum OffsetsCommand {
    /// Show where each consumer stands, by Kafka and by PostgreSQL
    Show {
        /// Only this consumer
        #[arg(long)]
        consumer: Option<String>,
        #[command(flatten)]
        format: FormatArgs,
    },
    /// Take over the group's offsets after another log, cluster or group was found
    ///
    /// For each progress row: N becomes the group's committed offset, or the log's beginning where the group has
    /// none inside the log. Group and cluster become the configuration's and the broker's. Nothing is skipped
    /// silently: the inbox decides what is a duplicate.
    Adopt {
        /// The consumer
        consumer: String,
        /// Only this topic
        #[arg(long)]
        topic: Option<String>,
        /// Only this partition
        #[arg(long)]
        partition: Option<i32>,
        #[command(flatten)]
        format: FormatArgs,
    },
    /// Set the position of one partition, forward or back
    ///
    /// The next offset of one partition becomes the one given, which must be inside the log. Forward: the records
    /// between are skipped, and nothing keeps note of them. Back: they come again, and the inbox decides which of
    /// them are new: what it still knows is counted as republished, what it has forgotten (all, with `dedup = "off"`)
    /// runs again. The row is made if there is none. Group and cluster become the configuration's and the broker's, as with `adopt`.
    ///
    /// A running host need not be stopped: a batch that has begun ends first, then the host loses the position and
    /// takes it up again at the new offset by itself, within about ten seconds; where a failure has stopped the
    /// partition, with the next attempt, `retry.max` later at most. Kafka's own offset of the group is not set back:
    /// it moves on when the position has passed it.
    Set {
        #[command(flatten)]
        wanted: set::Wanted,
        #[command(flatten)]
        format: FormatArgs,
    },
}

/// Carries the command out.
pub(super) async fn execute(config: Config, command: OffsetsCommand) -> Result<(), CliError> {
    match command {
        OffsetsCommand::Show { consumer, format } => {
            show::execute(&config, consumer.as_deref(), format.format).await
        }
        OffsetsCommand::Adopt {
            consumer,
            topic,
            partition,
            format,
        } => {
            let wanted = adopt::Wanted {
                consumer,
                topic,
                partition,
            };
            adopt::execute(&config, &wanted, format.format).await
        }
        OffsetsCommand::Set { wanted, format } => {
            set::execute(&config, &wanted, format.format).await
        }
    }
}

/// A row's position, for people.
fn position(row: &ProgressRow) -> Position {
    Position {
        group: row.group.clone(),
        cluster_id: row.cluster_id.clone(),
        next_offset: row.next_offset,
    }
}
