//! `inbox show EVENT_ID`.

use clap::Subcommand;

use super::{CliError, FormatArgs, chosen};
use crate::config::Config;

/// The inbox.
#[derive(Debug, Subcommand)]
pub(super) enum InboxCommand {
    /// Show what is known of an event, in every consumer and scope
    Show {
        /// The event's id
        event_id: String,
        /// Only this consumer's
        #[arg(long)]
        consumer: Option<String>,
        #[command(flatten)]
        format: FormatArgs,
    },
}

/// Carries the command out.
pub(super) async fn execute(config: Config, command: InboxCommand) -> Result<(), CliError> {
    let InboxCommand::Show {
        event_id,
        consumer,
        format,
    } = command;
    chosen(&config, consumer.as_deref())?;
    let _ = (event_id, format);
    Err(CliError::Failed("not built yet".into()))
}
