//! `dlt list` and `dlt show`.

use clap::Subcommand;

use super::views::{Foreign, LetterDetail, LetterRow};
use super::{CliError, FormatArgs, chosen, open, output, render};
use crate::config::Config;
use crate::inbox::{LetterFilter, LetterStatus, StoredLetter};

/// Dead letters.
#[derive(Debug, Subcommand)]
pub(super) enum LettersCommand {
    /// List dead letters, newest first
    List {
        /// Only this consumer's
        #[arg(long)]
        consumer: Option<String>,
        /// Closed ones too: superseded, resolved and discarded
        #[arg(long)]
        all: bool,
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
            let filter = LetterFilter {
                consumer,
                status: (!all).then_some(LetterStatus::Open),
                limit: i64::from(limit),
            };
            list(&config, &filter, format).await
        }
        LettersCommand::Show { id, format } => show(&config, &id, format).await,
    }
}

async fn list(config: &Config, filter: &LetterFilter, args: FormatArgs) -> Result<(), CliError> {
    let letters = open(config).await?.letters(filter).await?;
    let rows: Vec<LetterRow> = letters.iter().map(row).collect();
    let nothing = match filter.status {
        Some(_) => "no open dead letters",
        None => "no dead letters",
    };
    output::print(&render::list(args.format, &rows, nothing))
}

async fn show(config: &Config, id: &str, args: FormatArgs) -> Result<(), CliError> {
    match open(config).await?.letter(id).await? {
        Some(letter) => output::print(&render::one(args.format, &detail(letter))),
        None => Err(CliError::Failed(format!(
            "there is no dead letter {id:?}; `tidegate dlt list --all` lists them"
        ))),
    }
}

fn row(stored: &StoredLetter) -> LetterRow {
    let (record, cause) = (&stored.letter.record, &stored.letter.cause);
    LetterRow {
        id: stored.id.clone(),
        consumer: stored.consumer.clone(),
        topic: record.source.topic.to_string(),
        partition: record.source.partition,
        offset: record.offset,
        event_id: stored.letter.event_id.clone(),
        code: cause.code.clone(),
        message: cause.message.clone(),
        sqlstate: cause.sqlstate.clone(),
        attempts: cause.attempts,
        state: stored.status.as_str().to_owned(),
        created_at: stored.created_at.clone(),
        published_at: stored.published_at.clone(),
        module_digest: stored.module_digest.as_ref().map(hex::encode),
    }
}

fn detail(stored: StoredLetter) -> LetterDetail {
    let letter = row(&stored);
    let foreign = |bytes: Option<bytes::Bytes>| bytes.map(|bytes| Foreign(bytes.to_vec()));
    let record = stored.letter.record;
    let headers = record.headers.into_iter();
    LetterDetail {
        letter,
        cluster_id: stored.cluster_id,
        replay_round: stored.replay_round,
        scope: stored.letter.scope,
        closed_at: stored.closed_at,
        timestamp_ms: record.timestamp.millis(),
        key: foreign(record.key),
        value: foreign(record.value),
        headers: headers
            .map(|header| (header.name, foreign(header.value)))
            .collect(),
    }
}
