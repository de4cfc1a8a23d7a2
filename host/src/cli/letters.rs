//! `dlt list` and `dlt show`.

use clap::Subcommand;

use super::{CliError, FormatArgs, chosen};
use crate::config::Config;

/// Dead letters.
#[derive(Debug, Subcommand)]
pub(super) enum LettersCommand {
    /// List dead letters, newest first
    List {
        /// Only this consumer's
        #[arg(long)]
        consumer: Option<String>,
        /// Closed ones too: superseded and resolved
        #[arg(long)]
        all: bool,
        /// The most letters listed
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        limit: u32,
        #[command(flatten)]
        format: FormatArgs,
    },
    /// Show one dead letter with its record
    Show {
        /// The letter's id, or a beginning that no other letter shares
        id: String,
        #[command(flatten)]
        format: FormatArgs,
    },
}

/// Carries the command out.
pub(super) async fn execute(config: Config, command: LettersCommand) -> Result<(), CliError> {
    match command {
        LettersCommand::List {
            consumer,
            all,
            limit,
            format,
        } => {
            chosen(&config, consumer.as_deref())?;
            let _ = (all, limit, format);
        }
        LettersCommand::Show { id, format } => {
            let _ = (id, format);
        }
    }
    Err(CliError::Failed("not built yet".into()))
}
