//! `offsets show`, `offsets adopt` and `offsets set`.

mod adopt;
mod change;
mod set;
mod show;
mod standing;
mod target;

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
    /// silently: the inbox decides what is a duplicate. As with `set`, the consumer must be held back or stopped.
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
    /// Set the positions of a topic, or of one partition of it, forward or back
    ///
    /// The next offset becomes the one given, which must be inside the log, and Kafka's offset of the group follows, even
    /// back. Forward: the records between are skipped, and a dead letter with code `skipped` keeps note of the range and
    /// of who asked. Back: they come again, and the inbox decides which of them are new: what it still knows is counted
    /// as republished, what it has forgotten (all, with `dedup = "off"`) runs again. The row is made if there is none.
    /// Group and cluster become the configuration's and the broker's, as with `adopt`.
    ///
    /// Only for a consumer that is held back (`tidegate consumer pause`) or that no host runs. The rows are written
    /// first, all or none. Then the command tells Kafka where the group has no member; else the partition's owner does,
    /// which takes the position up again at the new offset within about ten seconds. A crash in between costs nothing:
    /// the row decides, and whoever takes the position next tells Kafka.
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
