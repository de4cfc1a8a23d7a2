//! Replays, as commands show them.

use serde::Serialize;

use super::super::render::{Row, opt};
use crate::inbox::{ReplayProgress, WaitingLetter};

/// A letter that a replay would take, or leave.
#[derive(Clone, Debug, Serialize)]
pub struct PlannedRow {
    /// The letter's id.
    pub id: String,
    /// The record's topic.
    pub topic: String,
    /// The record's partition.
    pub partition: i32,
    /// The record's offset.
    pub offset: i64,
    /// The cause's code.
    pub code: String,
    /// Rounds so far.
    pub replay_round: i32,
    /// `ready`, `waiting` (in another replay), `parked` or `skipped`.
    pub prospect: String,
}

impl Row for PlannedRow {
    const COLUMNS: &'static [&'static str] =
        &["id", "topic", "part", "offset", "code", "round", "prospect"];

    fn cells(&self) -> Vec<String> {
        vec![
            self.id.clone(),
            self.topic.clone(),
            self.partition.to_string(),
            self.offset.to_string(),
            self.code.clone(),
            self.replay_round.to_string(),
            self.prospect.clone(),
        ]
    }
}

/// A replay and how far it has come.
#[derive(Clone, Debug, Serialize)]
pub struct ReplayRow {
    /// Its number.
    pub id: i64,
    /// The consumer's name.
    pub consumer: String,
    /// `open`, `done` or `cancelled`.
    pub status: String,
    /// Letters asked for.
    pub letters: i64,
    /// Handled.
    pub resolved: i64,
    /// Rejected again: they stay open.
    pub rejected: i64,
    /// Their event had been handled meanwhile.
    pub duplicate: i64,
    /// Closed by somebody else before their turn.
    pub gone: i64,
    /// Left as they are: their tenant could not run.
    pub kept: i64,
    /// What it waits for: as a whole, or else the first of its letters that wait.
    pub waits: Option<String>,
    /// Letters that wait by themselves after a try that broke.
    pub waiting: i64,
    /// Letters that have no turn before an earlier one of their tenant and key has its result.
    pub behind: i64,
    /// Some of the letters that wait, and what for.
    pub which: Vec<WaitingLetter>,
    /// When it was asked for, in UTC.
    pub requested_at: String,
    /// By whom.
    pub requested_by: String,
    /// Which letters.
    pub filter: String,
}

impl From<ReplayProgress> for ReplayRow {
    fn from(replay: ReplayProgress) -> Self {
        let waits = replay.words();
        Self {
            id: replay.id,
            consumer: replay.consumer,
            status: replay.status,
            letters: replay.letters,
            resolved: replay.resolved,
            rejected: replay.rejected,
            duplicate: replay.duplicate,
            gone: replay.gone,
            kept: replay.kept,
            waits,
            waiting: replay.waiting,
            behind: replay.behind,
            which: replay.which,
            requested_at: replay.requested_at,
            requested_by: replay.requested_by,
            filter: replay.filter,
        }
    }
}

impl Row for ReplayRow {
    const COLUMNS: &'static [&'static str] = &[
        "replay",
        "consumer",
        "status",
        "letters",
        "resolved",
        "rejected",
        "duplicate",
        "gone",
        "kept",
        "waiting",
        "waits",
    ];

    fn cells(&self) -> Vec<String> {
        vec![
            self.id.to_string(),
            self.consumer.clone(),
            self.status.clone(),
            self.letters.to_string(),
            self.resolved.to_string(),
            self.rejected.to_string(),
            self.duplicate.to_string(),
            self.gone.to_string(),
            self.kept.to_string(),
            (self.waiting + self.behind).to_string(),
            opt(self.waits.as_ref()),
        ]
    }
}
