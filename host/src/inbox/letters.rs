//! Dead letters as stored: for the commands `dlt list` and `dlt show`, and for the relay.

use bytes::Bytes;
use tidegate_core::failure::Failure;
use tidegate_core::letter::{Cause, Letter};
use tidegate_core::record::{Header, Record, Timestamp, TopicPartition};
use tokio_postgres::Row;
use uuid::Uuid;

use super::value::param::Param;
use super::{Inbox, SqlParam};

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
    /// The round of replay that rejected it; 0 for the first.
    pub replay_round: i32,
    /// The record and its cause.
    pub letter: Letter,
    /// The handler module, sha256 of its bytes.
    pub module_digest: Option<Vec<u8>>,
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
}

/// Which letters to list; newest first.
#[derive(Clone, Debug, Default)]
pub struct LetterFilter {
    /// Of this consumer only.
    pub consumer: Option<String>,
    /// With this status only.
    pub status: Option<LetterStatus>,
    /// At most so many.
    pub limit: i64,
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            r#"SELECT d.id, d.consumer_name, d.cluster_id, d.replay_round, d.topic, d.partition, d."offset", d.scope,
               d.event_id, d.key, d.value, d.header_names, d.header_values, d.timestamp_ms, d.timestamp_type,
               d.code, d.message, d.sqlstate, d.attempts, d.module_digest, d.status, d.created_at::text,
               (extract(epoch FROM d.created_at) * 1000)::bigint AS created_ms,
               d.closed_at::text, d.published_at::text FROM tidegate.dead_letters d "#,
            $rest
        )
    };
}

const LIST: &str = select!(
    "WHERE ($1::text IS NULL OR d.consumer_name = $1) AND ($2::text IS NULL OR d.status = $2) \
     ORDER BY d.created_at DESC, d.id LIMIT $3"
);

const SHOW: &str = select!("WHERE d.id = $1");

/// Only the owner of a partition publishes its letters, in the order of their offsets.
const UNPUBLISHED: &str = select!(
    r#"JOIN tidegate.progress p
         ON p.consumer_name = d.consumer_name AND p.topic = d.topic AND p.partition = d.partition
      WHERE d.consumer_name = $1 AND d.published_at IS NULL AND p.owner = ANY ($2)
      ORDER BY d.topic, d.partition, d."offset", d.created_at LIMIT $3"#
);

const MARK: &str = "UPDATE tidegate.dead_letters SET published_at = now() \
     WHERE id = ANY ($1) AND published_at IS NULL RETURNING id";

impl Inbox {
    /// Lists letters.
    pub async fn letters(&self, filter: &LetterFilter) -> Result<Vec<StoredLetter>, Failure> {
        let status = filter.status.map(LetterStatus::as_str);
        let params: [SqlParam<'_>; 3] = [&filter.consumer, &status, &filter.limit];
        Ok(self.read(LIST, &params).await?.iter().map(stored).collect())
    }

    /// The letter of this id.
    pub async fn letter(&self, id: &str) -> Result<Option<StoredLetter>, Failure> {
        if id.contains('\0') {
            return Ok(None);
        }
        Ok(self.read(SHOW, &[&id]).await?.first().map(stored))
    }

    /// Letters that the relay has yet to publish, of the partitions whose tokens are given, oldest first in each
    /// partition; at most `limit`.
    pub async fn unpublished(
        &self,
        consumer: &str,
        owners: &[Uuid],
        limit: i64,
    ) -> Result<Vec<StoredLetter>, Failure> {
        let owners = Param::text(format!(
            "{{{}}}",
            owners
                .iter()
                .map(Uuid::to_string)
                .collect::<Vec<_>>()
                .join(",")
        ));
        Ok(self
            .read(UNPUBLISHED, &[&consumer, &owners, &limit])
            .await?
            .iter()
            .map(stored)
            .collect())
    }

    /// Notes that these letters are published; returns how many were not before.
    pub async fn mark_published(&self, ids: &[String]) -> Result<u64, Failure> {
        let rows = Self::write(&self.service, MARK, &[&ids]).await?;
        Ok(rows.len() as u64)
    }
}

fn stored(row: &Row) -> StoredLetter {
    let attempts = u32::try_from(row.get::<_, i64>(18)).unwrap_or(u32::MAX);
    let cause = Cause {
        code: row.get(15),
        message: row.get(16),
        sqlstate: row.get(17),
        attempts,
    };
    StoredLetter {
        id: row.get(0),
        consumer: row.get(1),
        cluster_id: row.get(2),
        replay_round: row.get(3),
        letter: Letter {
            record: record(row),
            scope: row.get(7),
            event_id: row.get(8),
            cause,
        },
        module_digest: row.get(19),
        status: LetterStatus::read(row.get(20)),
        created_at: row.get(21),
        created_at_ms: row.get(22),
        closed_at: row.get(23),
        published_at: row.get(24),
    }
}

fn record(row: &Row) -> Record {
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
        unreadable_headers: 0,
    }
}
