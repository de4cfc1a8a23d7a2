//! `dlt list` and `dlt show`.

use super::super::views::{Foreign, LetterDetail, LetterRow};
use super::super::{CliError, FormatArgs, open, output, render};
use crate::config::{Config, LetterConfig};
use crate::inbox::{LetterFilter, LetterStatus, StoredLetter};

/// Lists letters.
pub(super) async fn list(
    config: &Config,
    filter: &LetterFilter,
    limit: u32,
    args: FormatArgs,
) -> Result<(), CliError> {
    let letters = open(config).await?.letters(filter, limit.into()).await?;
    let rows: Vec<LetterRow> = letters.iter().map(|l| row(config, l)).collect();
    let nothing = match filter.status {
        Some(_) => "no open dead letters",
        None => "no dead letters",
    };
    output::print(&render::list(args.format, &rows, nothing))
}

/// Shows one letter.
pub(super) async fn one(config: &Config, id: &str, args: FormatArgs) -> Result<(), CliError> {
    match open(config).await?.letter(id).await? {
        Some(letter) => output::print(&render::one(args.format, &detail(config, letter))),
        None => Err(CliError::Failed(format!(
            "there is no dead letter {id:?}; `tidegate dlt list --all` lists them"
        ))),
    }
}

/// `open`, or `parked` where a replay would refuse it, or how it was closed.
pub(super) fn state(config: &Config, stored: &StoredLetter) -> &'static str {
    let consumer = config.consumers.iter().find(|c| c.name == stored.consumer);
    let policy = consumer.map_or_else(LetterConfig::default, |c| c.letters);
    match stored.status {
        LetterStatus::Open if stored.replay_round >= policy.max_replays => "parked",
        status => status.as_str(),
    }
}

fn row(config: &Config, stored: &StoredLetter) -> LetterRow {
    let (record, cause) = (&stored.letter.record, &stored.letter.cause);
    LetterRow {
        id: stored.id.clone(),
        consumer: stored.consumer.clone(),
        topic: record.source.topic.to_string(),
        partition: record.source.partition,
        offset: record.offset,
        event_id: stored.letter.event_id.clone(),
        tenant: stored.letter.tenant.clone(),
        kind: cause.kind.as_str(),
        code: cause.code.clone(),
        message: cause.message.clone(),
        sqlstate: cause.sqlstate.clone(),
        attempts: cause.attempts,
        replay_round: stored.replay_round,
        state: state(config, stored).to_owned(),
        created_at: stored.created_at.clone(),
        published_at: stored.published_at.clone(),
        unpublishable: stored.unpublishable.clone(),
        refusal: stored.refusal.clone(),
        module_digest: stored.letter.module_digest.as_ref().map(hex::encode),
    }
}

fn detail(config: &Config, stored: StoredLetter) -> LetterDetail {
    let letter = row(config, &stored);
    let foreign = |bytes: Option<bytes::Bytes>| bytes.map(|bytes| Foreign(bytes.to_vec()));
    let record = stored.letter.record;
    let headers = record.headers.into_iter();
    LetterDetail {
        letter,
        cluster_id: stored.cluster_id,
        former_ids: stored.former_ids,
        unpublished_rounds: stored.unpublished_rounds,
        scope: stored.letter.scope,
        server_message: stored.letter.cause.server.map(|w| w.as_str().to_owned()),
        closed_at: stored.closed_at,
        timestamp_ms: record.timestamp.millis(),
        key: foreign(record.key),
        value: foreign(record.value),
        headers: headers
            .map(|header| (header.name, foreign(header.value)))
            .collect(),
    }
}
