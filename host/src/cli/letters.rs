//! `dlt`: dead letters.

mod discard;
mod export;
mod filter;
mod publish;
mod replay;
mod show;
mod watch;

use std::path::PathBuf;

use clap::Subcommand;

use super::{CliError, FormatArgs};
use crate::config::Config;
use filter::FilterArgs;
use replay::ReplayArgs;

/// Dead letters.
#[derive(Debug, Subcommand)]
pub(super) enum LettersCommand {
    /// List dead letters, newest first
    List {
        #[command(flatten)]
        filter: FilterArgs,
        /// Closed ones too: superseded, resolved and discarded
        #[arg(long)]
        all: bool,
        /// Only those that the dead letter topic does not take
        #[arg(long)]
        unpublishable: bool,
        /// The most letters listed
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
        #[command(flatten)]
        format: FormatArgs,
    },
    /// Show one dead letter with its record
    Show {
        /// The letter's id
        id: String,
        #[command(flatten)]
        format: FormatArgs,
    },
    /// Handle open dead letters again, by the consumer that rejected them alone
    ///
    /// A running host of the consumer does it: one letter after the other through the same claim, handler, limits and
    /// transaction. A letter that is handled is resolved; one that is rejected again stays open with its new cause, as
    /// that of its next round, and is published again; one whose event was handled meanwhile is superseded. The command
    /// waits for the end. It may be ended and asked again: no letter is replayed twice for that. It fails if letters
    /// were rejected again.
    Replay(Box<ReplayArgs>),
    /// Write dead letters as JSON lines, oldest first, keys and values in base64
    Export {
        #[command(flatten)]
        filter: FilterArgs,
        /// Closed ones too
        #[arg(long)]
        all: bool,
        /// A file in place of stdout; it must not exist
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Close open dead letters without replaying them
    ///
    /// They stay to be shown for `dead_letter.keep_closed`. Their events' claims expire as any others do.
    Discard {
        #[command(flatten)]
        filter: FilterArgs,
        /// Do not ask
        #[arg(long)]
        yes: bool,
        /// Say how many there are, and discard none
        #[arg(long)]
        dry_run: bool,
    },
    /// Try again to publish letters that the dead letter topic did not take
    ///
    /// A letter that is too large, for one, is marked and kept, and not tried again. After the topic's
    /// `max.message.bytes` was raised, this takes the mark away; a host then publishes the letter.
    Publish {
        #[command(flatten)]
        filter: FilterArgs,
    },
}

/// Carries the command out.
pub(super) async fn execute(config: Config, command: LettersCommand) -> Result<(), CliError> {
    match command {
        LettersCommand::List {
            filter,
            all,
            unpublishable,
            limit,
            format,
        } => {
            let mut filter = filter.read(&config, !all)?;
            filter.unpublishable = unpublishable;
            show::list(&config, &filter, limit, format).await
        }
        LettersCommand::Replay(args) => replay::execute(&config, *args).await,
        LettersCommand::Show { id, format } => show::one(&config, &id, format).await,
        LettersCommand::Export {
            filter,
            all,
            output,
        } => export::execute(&config, &filter.read(&config, !all)?, output).await,
        LettersCommand::Discard {
            filter,
            yes,
            dry_run,
        } => discard::execute(&config, &filter.of_one(&config, true)?, (yes, dry_run)).await,
        LettersCommand::Publish { filter } => {
            publish::execute(&config, filter.of_one(&config, false)?).await
        }
    }
}
