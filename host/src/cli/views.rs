//! What the commands show: plain structs, filled from PostgreSQL and Kafka elsewhere.

mod consumers;
mod offsets;
mod positions;
mod replays;

use serde::{Serialize, Serializer};

pub use consumers::ConsumerView;
pub use offsets::{CountsView, OffsetRow};
pub use positions::{Position, PositionRow};
pub use replays::{PlannedRow, ReplayRow};

use super::render::{Fields, Row, bytes, opt};

/// Bytes that were written by somebody else: text in JSON where they are UTF-8, else `{"hex": "…"}`, complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreign(pub Vec<u8>);

impl Serialize for Foreign {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => serializer.collect_map([("hex", hex::encode(&self.0))]),
        }
    }
}

/// A dead letter in a list.
#[derive(Clone, Debug, Serialize)]
pub struct LetterRow {
    /// The stable id.
    pub id: String,
    /// The consumer's name.
    pub consumer: String,
    /// The record's topic.
    pub topic: String,
    /// The record's partition.
    pub partition: i32,
    /// The record's offset.
    pub offset: i64,
    /// The event's id, where the record has a good one.
    pub event_id: Option<String>,
    /// The tenant, where there are tenants.
    pub tenant: Option<String>,
    /// What the cause is to the host: `handler`, `retries`, `record`, `header`, `database`, `trap`, `limit`, `escape`,
    /// `tenant`, `crash` or `skipped`.
    pub kind: &'static str,
    /// The cause's code; a handler's own where the kind is `handler`.
    pub code: String,
    /// The cause in words.
    pub message: String,
    /// The SQLSTATE, where the database spoke.
    pub sqlstate: Option<String>,
    /// How often the record was tried.
    pub attempts: u32,
    /// The round of replay that rejected it; 0 for the first.
    pub replay_round: i32,
    /// `open`, `parked` (open, and replayed too often), `superseded`, `resolved` or `discarded`.
    pub state: String,
    /// When it was written, in UTC.
    pub created_at: String,
    /// When the dead letter topic took it; none while the relay has still to publish it.
    pub published_at: Option<String>,
    /// Why the dead letter topic does not take it: what the record itself is.
    pub unpublishable: Option<String>,
    /// Why the topic did not take it when it was last tried; it is tried again.
    pub refusal: Option<String>,
    /// The module that handled the record.
    pub module_digest: Option<String>,
}

impl Row for LetterRow {
    const COLUMNS: &'static [&'static str] = &[
        "id",
        "consumer",
        "topic",
        "part",
        "offset",
        "event id",
        "code",
        "state",
        "published",
        "created",
        "message",
    ];

    fn cells(&self) -> Vec<String> {
        vec![
            self.id.clone(),
            self.consumer.clone(),
            self.topic.clone(),
            self.partition.to_string(),
            self.offset.to_string(),
            opt(self.event_id.as_ref()),
            self.code.clone(),
            self.state.clone(),
            match (&self.published_at, &self.unpublishable, &self.refusal) {
                (Some(_), ..) => "yes",
                (None, Some(_), _) => "unpublishable",
                (None, None, Some(_)) => "refused",
                (None, None, None) => "no",
            }
            .to_owned(),
            self.created_at.clone(),
            self.message.clone(),
        ]
    }
}

/// A dead letter with its record, byte for byte.
#[derive(Clone, Debug, Serialize)]
pub struct LetterDetail {
    /// What the list shows.
    #[serde(flatten)]
    pub letter: LetterRow,
    /// The cluster that the record came from.
    pub cluster_id: String,
    /// The ids it had before replays that rejected it again.
    pub former_ids: Vec<String>,
    /// Of those, the ones that are not on the dead letter topic yet.
    pub unpublished_rounds: Vec<String>,
    /// When it was closed, in UTC.
    pub closed_at: Option<String>,
    /// The event's scope.
    pub scope: String,
    /// What the server said, which may hold values of rows.
    pub server_message: Option<String>,
    /// The record's timestamp, milliseconds since 1970 UTC.
    pub timestamp_ms: Option<i64>,
    /// The record's key.
    pub key: Option<Foreign>,
    /// The record's value.
    pub value: Option<Foreign>,
    /// The record's headers, in order, with duplicates and nulls.
    pub headers: Vec<(String, Option<Foreign>)>,
}

impl Fields for LetterDetail {
    fn fields(&self) -> Vec<(String, String)> {
        let letter = &self.letter;
        let foreign = |b: &Option<Foreign>| bytes(b.as_ref().map(|b| b.0.as_slice()));
        let mut fields = named([
            ("id", letter.id.clone()),
            ("consumer", letter.consumer.clone()),
            ("cluster", self.cluster_id.clone()),
            ("topic", letter.topic.clone()),
            ("partition", letter.partition.to_string()),
            ("offset", letter.offset.to_string()),
            ("timestamp", opt(self.timestamp_ms)),
            ("event id", opt(letter.event_id.as_ref())),
            ("scope", self.scope.clone()),
            ("tenant", opt(letter.tenant.as_ref())),
            ("kind", letter.kind.to_owned()),
            ("code", letter.code.clone()),
            ("sqlstate", opt(letter.sqlstate.as_ref())),
            ("message", letter.message.clone()),
            ("server said", opt(self.server_message.as_ref())),
            ("attempts", letter.attempts.to_string()),
            ("replay round", letter.replay_round.to_string()),
            ("state", letter.state.clone()),
            ("created", letter.created_at.clone()),
            ("closed", opt(self.closed_at.as_ref())),
            ("published", opt(letter.published_at.as_ref())),
            (
                "refused",
                opt(letter.unpublishable.as_ref().or(letter.refusal.as_ref())),
            ),
            ("unpublished", self.unpublished_rounds.join(", ")),
            ("module", opt(letter.module_digest.as_ref())),
            ("key", foreign(&self.key)),
            ("value", foreign(&self.value)),
        ]);
        let headers = self.headers.iter();
        fields.extend(headers.map(|(name, value)| (format!("header {name}"), foreign(value))));
        fields
    }
}

/// An inbox row.
#[derive(Clone, Debug, Serialize)]
pub struct ClaimRow {
    /// The consumer's name.
    pub consumer: String,
    /// What the id is unique within, beside the consumer.
    pub scope: String,
    /// The event's id.
    pub event_id: String,
    /// When it was claimed, in UTC.
    pub processed_at: String,
    /// Until when duplicates are known, in UTC.
    pub processed_until: String,
    /// Whether that time has passed.
    pub expired: bool,
    /// The record's topic.
    pub topic: String,
    /// The record's partition.
    pub partition: i32,
    /// The record's offset.
    pub offset: i64,
    /// `done`, `skipped` or `rejected`.
    pub outcome: String,
    /// The outcome of the expired or rejected claim that this one took over.
    pub replaced: Option<String>,
    /// The module that handled it.
    pub module_digest: Option<String>,
}

impl Row for ClaimRow {
    const COLUMNS: &'static [&'static str] = &[
        "consumer",
        "scope",
        "event id",
        "outcome",
        "topic",
        "part",
        "offset",
        "processed at",
        "until",
        "expired",
        "module",
    ];

    fn cells(&self) -> Vec<String> {
        let module = self.module_digest.as_ref();
        vec![
            self.consumer.clone(),
            self.scope.clone(),
            self.event_id.clone(),
            self.outcome.clone(),
            self.topic.clone(),
            self.partition.to_string(),
            self.offset.to_string(),
            self.processed_at.clone(),
            self.processed_until.clone(),
            if self.expired { "yes" } else { "no" }.to_owned(),
            opt(module.map(|digest| digest.chars().take(12).collect::<String>())),
        ]
    }
}

fn named<const N: usize>(fields: [(&str, String); N]) -> Vec<(String, String)> {
    fields
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
}
