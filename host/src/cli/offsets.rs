//! `offsets show` and `offsets adopt`.

use clap::Subcommand;

use super::{CliError, FormatArgs, chosen};
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
    /// Take the group's offsets for another log or another group; the inbox decides what is a duplicate
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
            chosen(&config, consumer.as_deref())?;
            let _ = format;
        }
        OffsetsCommand::Adopt {
            consumer,
            topic,
            partition,
            format,
        } => {
            chosen(&config, Some(&consumer))?;
            let _ = (topic, partition, format);
        }
    }
    Err(CliError::Failed("not built yet".into()))
}
