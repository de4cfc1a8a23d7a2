//! Dead letters as stored: for the commands, for the relay and for replays.

mod change;
mod filter;
mod keep;
mod queue;

use bytes::Bytes;
use tidegate_core::failure::Failure;
use tidegate_core::letter::{Cause, CauseKind, Letter};
use tidegate_core::record::{Header, Record, Timestamp, TopicPartition};
use tokio_postgres::Row;

use super::{Inbox, SqlParam};
pub(super) use filter::{Given, matching};

pub use filter::LetterFilter;
pub use keep::KeepRule;
pub use queue::Waiting;

/// What becomes of a letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LetterStatus {
    /// Nobody has dealt with it.
    Open,
    /// Another record of its event was handled.
    Superseded,
    /// A replay was handled.
    Resolved,
    /// An operator let it go.
    Discarded,
}

impl LetterStatus {
    /// The word in the table, in listings and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            LetterStatus::Open => "open",
            LetterStatus::Superseded => "superseded",
            LetterStatus::Resolved => "resolved",
            LetterStatus::Discarded => "discarded",
        }
    }

    fn read(word: &str) -> Self {
        match word {
            "superseded" => LetterStatus::Superseded,
            "resolved" => LetterStatus::Resolved,
            "discarded" => LetterStatus::Discarded,
            _ => LetterStatus::Open,
        }
    }
}

/// A dead letter as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredLetter {
    /// Its stable id.
    pub id: String,
    /// The consumer that rejected the record.
    pub consumer: String,
    /// The Kafka cluster that the record came from.
    pub cluster_id: String,
    /// The log's epoch there.
    pub log_epoch: i32,
    /// The round of replay that rejected it; 0 for the first.
    pub replay_round: i32,
    /// The ids it had before those rounds.
    pub former_ids: Vec<String>,
    /// The record and its cause.
    pub letter: Letter,
    /// What became of it.
    pub status: LetterStatus,
    /// When it was written, in UTC.
    pub created_at: String,
    /// The same, in milliseconds since 1970 UTC.
    pub created_at_ms: i64,
    /// When it was closed, in UTC.
    pub closed_at: Option<String>,
    /// When the relay published it, in UTC.
    pub published_at: Option<String>,
    /// Why the dead letter topic does not take it: what the record itself is.
    pub unpublishable: Option<String>,
    /// Why the topic did not take it when it was last tried; it is tried again.
    pub refusal: Option<String>,
    /// Of the ids it had before, those that are not on the dead letter topic yet.
    pub unpublished_rounds: Vec<String>,
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            r#"SELECT d.id, d.consumer_name, d.cluster_id, d.replay_round, d.topic, d.partition, d."offset", d.scope,
               d.event_id, d.key, d.value, d.header_names, d.header_values, d.timestamp_ms, d.timestamp_type,
               d.code, d.message, d.sqlstate, d.attempts, d.module_digest, d.status, d.created_at::text,
               (extract(epoch FROM d.created_at) * 1000)::bigint AS created_ms,
               d.closed_at::text, d.published_at::text, d.log_epoch, d.former_ids, d.unpublishable, d.tenant, d.refusal,
               ARRAY(SELECT o.id FROM tidegate.dead_letter_rounds o WHERE o.letter_id = d.id ORDER BY o.replay_round), d.kind
              FROM tidegate.dead_letters d "#,
            $rest
        )
    };
}

const LIST: &str = concat!(
    select!("WHERE "),
    matching!(),
    r#" ORDER BY d.created_at DESC, d.topic, d.partition, d."offset" DESC, d.id LIMIT $15"#
);

/// The letters behind one, oldest first.
const PAGE: &str = concat!(
    select!("WHERE "),
    matching!(),
    " AND ($15::text IS NULL OR (d.created_at, d.id) > ($15::text::timestamptz, $16::text)) \
      ORDER BY d.created_at, d.id LIMIT $17"
);

const SHOW: &str = select!("WHERE d.id = $1");

/// The letter that had this id before a replay rejected it again.
const FORMER: &str = select!("WHERE d.former_ids <> '{}' AND d.former_ids @> ARRAY[$1::text]");

impl Inbox {
    /// Lists letters, newest first, at most `limit`.
    pub async fn letters(
        &self,
        filter: &LetterFilter,
        limit: i64,
    ) -> Result<Vec<StoredLetter>, Failure> {
        let given = Given::from(filter);
        let params = given.with([&limit]);
        Ok(self.read(LIST, &params).await?.iter().map(stored).collect())
    }

    /// The letters that come after `behind`, oldest first, at most `limit`.
    pub async fn letters_after(
        &self,
        filter: &LetterFilter,
        behind: Option<&StoredLetter>,
        limit: i64,
    ) -> Result<Vec<StoredLetter>, Failure> {
        let given = Given::from(filter);
        let (at, id) = (behind.map(|l| &l.created_at), behind.map(|l| &l.id));
        let params = given.with([&at as SqlParam<'_>, &id, &limit]);
        Ok(self.read(PAGE, &params).await?.iter().map(stored).collect())
    }

    /// The letter that has this id, or had it before a replay rejected it again.
    pub async fn letter(&self, id: &str) -> Result<Option<StoredLetter>, Failure> {
        if id.contains('\0') {
            return Ok(None);
        }
        let mut rows = self.read(SHOW, &[&id]).await?;
        if rows.is_empty() {
            rows = self.read(FORMER, &[&id]).await?;
        }
        Ok(rows.first().map(stored))
    }
}

pub(super) fn stored(row: &Row) -> StoredLetter {
    let attempts = u32::try_from(row.get::<_, i64>(18)).unwrap_or(u32::MAX);
    let kind = CauseKind::read(row.get(31));
    let cause = Cause::from_row(kind, row.get(15), row.get(16), row.get(17), attempts);
    StoredLetter {
        id: row.get(0),
        consumer: row.get(1),
        cluster_id: row.get(2),
        log_epoch: row.get(25),
        replay_round: row.get(3),
        former_ids: row.get(26),
        letter: Letter {
            record: record(row, kind),
            scope: row.get(7),
            event_id: row.get(8),
            tenant: row.get(28),
            module_digest: row
                .get::<_, Option<&[u8]>>(19)
                .and_then(|digest| digest.try_into().ok()),
            cause,
        },
        status: LetterStatus::read(row.get(20)),
        created_at: row.get(21),
        created_at_ms: row.get(22),
        closed_at: row.get(23),
        published_at: row.get(24),
        unpublishable: row.get(27),
        refusal: row.get(29),
        unpublished_rounds: row.get(30),
    }
}

fn record(row: &Row, kind: CauseKind) -> Record {
    let bytes = |column: usize| row.get::<_, Option<Vec<u8>>>(column).map(Bytes::from);
    let names = row.get::<_, Vec<Vec<u8>>>(11);
    let values = row.get::<_, Vec<Option<Vec<u8>>>>(12);
    let header = |(name, value): (Vec<u8>, Option<Vec<u8>>)| Header {
        name: String::from_utf8_lossy(&name).into_owned(),
        value: value.map(Bytes::from),
    };
    let timestamp = match (row.get::<_, &str>(14), row.get::<_, Option<i64>>(13)) {
        ("create", Some(ms)) => Timestamp::Created(ms),
        ("append", Some(ms)) => Timestamp::Appended(ms),
        _ => Timestamp::Unknown,
    };
    Record {
        source: TopicPartition {
            topic: row.get::<_, &str>(4).into(),
            partition: row.get(5),
        },
        offset: row.get(6),
        timestamp,
        key: bytes(9),
        value: bytes(10),
        headers: names.into_iter().zip(values).map(header).collect(),
        // Such a header was not kept: the record is not whole, now and for ever.
        unreadable_headers: u32::from(kind == CauseKind::Header),
    }
}
