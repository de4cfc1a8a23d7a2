//! `dlt export`: letters as JSON lines.

use std::fs::File;
use std::io::{BufWriter, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Serialize;
use tidegate_core::failure::ServerWords;
use tidegate_core::text::for_terminal;

use super::super::{CliError, open};
use super::show::state;
use crate::config::Config;
use crate::inbox::{LetterFilter, StoredLetter};

/// Letters read at once: each may be as large as a record.
const PAGE: i64 = 50;

/// One line. Bytes are base64; null is null.
#[derive(Serialize)]
struct Line<'a> {
    id: &'a str,
    former_ids: &'a [String],
    consumer: &'a str,
    cluster_id: &'a str,
    log_epoch: i32,
    topic: &'a str,
    partition: i32,
    offset: i64,
    timestamp_ms: Option<i64>,
    key: Option<String>,
    value: Option<String>,
    headers: Vec<(&'a str, Option<String>)>,
    scope: &'a str,
    event_id: Option<&'a str>,
    tenant: Option<&'a str>,
    kind: &'static str,
    code: &'a str,
    message: &'a str,
    server_message: Option<&'a str>,
    sqlstate: Option<&'a str>,
    attempts: u32,
    replay_round: i32,
    state: &'a str,
    created_at: &'a str,
    closed_at: Option<&'a str>,
    published_at: Option<&'a str>,
    unpublishable: Option<&'a str>,
    refusal: Option<&'a str>,
    unpublished_rounds: &'a [String],
    module_digest: Option<String>,
}

/// Writes the letters to a new file, or to stdout.
pub(super) async fn execute(
    config: &Config,
    filter: &LetterFilter,
    file: Option<PathBuf>,
) -> Result<(), CliError> {
    let inbox = open(config).await?;
    let mut sink = Sink::open(file.as_deref())?;
    let place = sink.place.clone();
    let failed =
        |error: std::io::Error| CliError::Failed(format!("cannot write to {place}: {error}"));
    let (mut last, mut letters): (Option<StoredLetter>, u64) = (None, 0);
    loop {
        let page = inbox.letters_after(filter, last.as_ref(), PAGE).await?;
        for letter in &page {
            match sink.write(config, letter) {
                // A reader who has seen enough is no failure.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
                written => written.map_err(failed)?,
            }
        }
        letters += page.len() as u64;
        match page.into_iter().next_back() {
            Some(letter) => last = Some(letter),
            None => break,
        }
    }
    match sink.out.flush() {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => return Err(failed(error)),
        _ => {}
    }
    tracing::info!(letters, to = %place, "dead letters exported");
    Ok(())
}

/// Where the lines go.
struct Sink {
    out: BufWriter<Box<dyn Write + Send>>,
    place: String,
    /// A terminal is shown no character that could drive it; elsewhere bytes are exact.
    terminal: bool,
}

impl Sink {
    /// A new file, never an old one; or stdout.
    fn open(file: Option<&Path>) -> Result<Self, CliError> {
        let Some(path) = file else {
            let out = std::io::stdout();
            return Ok(Self {
                terminal: out.is_terminal(),
                out: BufWriter::new(Box::new(out)),
                place: "stdout".to_owned(),
            });
        };
        let place = path.display().to_string();
        match File::create_new(path) {
            Ok(file) => Ok(Self {
                out: BufWriter::new(Box::new(file)),
                place,
                terminal: false,
            }),
            Err(error) => Err(CliError::Failed(format!(
                "cannot make the file {place}: {error}; name one that does not exist"
            ))),
        }
    }

    fn write(&mut self, config: &Config, letter: &StoredLetter) -> std::io::Result<()> {
        let line = serde_json::to_string(&line(config, letter))?;
        let shown = match self.terminal {
            true => for_terminal(&line),
            false => line.into(),
        };
        writeln!(self.out, "{shown}")
    }
}

fn line<'a>(config: &Config, stored: &'a StoredLetter) -> Line<'a> {
    let (letter, record) = (&stored.letter, &stored.letter.record);
    let coded = |bytes: &Option<Bytes>| bytes.as_ref().map(|bytes| STANDARD.encode(bytes));
    let headers = record.headers.iter();
    Line {
        id: &stored.id,
        former_ids: &stored.former_ids,
        consumer: &stored.consumer,
        cluster_id: &stored.cluster_id,
        log_epoch: stored.log_epoch,
        topic: &record.source.topic,
        partition: record.source.partition,
        offset: record.offset,
        timestamp_ms: record.timestamp.millis(),
        key: coded(&record.key),
        value: coded(&record.value),
        headers: headers
            .map(|h| (h.name.as_str(), coded(&h.value)))
            .collect(),
        scope: &letter.scope,
        event_id: letter.event_id.as_deref(),
        tenant: stored.letter.tenant.as_deref(),
        kind: letter.cause.kind.as_str(),
        code: &letter.cause.code,
        message: &letter.cause.message,
        server_message: letter.cause.server.as_ref().map(ServerWords::as_str),
        sqlstate: letter.cause.sqlstate.as_deref(),
        attempts: letter.cause.attempts,
        replay_round: stored.replay_round,
        state: state(config, stored),
        created_at: &stored.created_at,
        closed_at: stored.closed_at.as_deref(),
        published_at: stored.published_at.as_deref(),
        unpublishable: stored.unpublishable.as_deref(),
        refusal: stored.refusal.as_deref(),
        unpublished_rounds: &stored.unpublished_rounds,
        module_digest: stored.letter.module_digest.as_ref().map(hex::encode),
    }
}
