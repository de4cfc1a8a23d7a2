//! `inbox show EVENT_ID`.

use clap::Subcommand;

use super::views::ClaimRow;
use super::{CliError, FormatArgs, chosen, open, output, render};
use crate::config::Config;
use crate::inbox::InboxRow;

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
    let wanted = |row: &InboxRow| {
        consumer
            .as_ref()
            .is_none_or(|name| *name == row.key.consumer)
    };
    let found = open(&config).await?.find(&event_id).await?;
    let rows: Vec<ClaimRow> = found.into_iter().filter(wanted).map(claim).collect();
    let nothing = format!("nothing is known of event {event_id:?}");
    output::print(&render::list(format.format, &rows, &nothing))
}

fn claim(row: InboxRow) -> ClaimRow {
    ClaimRow {
        consumer: row.key.consumer,
        scope: row.scope,
        event_id: row.event_id,
        processed_at: row.processed_at,
        processed_until: row.processed_until,
        expired: row.expired,
        topic: row.key.source.topic.to_string(),
        partition: row.key.source.partition,
        offset: row.offset,
        outcome: row.outcome,
        replaced: row.replaced,
        module_digest: row.module_digest,
    }
}
