//! `offsets show` and `offsets adopt`.

mod adopt;
mod show;

use clap::Subcommand;

use super::{CliError, FormatArgs};
use crate::config::Config;

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
    }
}
