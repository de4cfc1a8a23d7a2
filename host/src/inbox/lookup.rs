//! Look-ups for the commands `inbox show` and `offsets show`.

use tidegate_core::failure::Failure;
use tidegate_core::progress::{Counts, ProgressKey};
use tokio_postgres::Row;

use super::Inbox;
use super::alive::{alive, within};
use super::assignment::key;

const FIND: &str = r#"
SELECT consumer_name, topic, partition, scope, event_id, "offset", outcome, replaced, processed_at::text,
       processed_until::text, processed_until <= now(), encode(module_digest, 'hex')
  FROM tidegate.processed_events WHERE event_id = $1
 ORDER BY consumer_name, scope LIMIT 1000"#;

/// The owner's label is there while its host is seen.
const PROGRESS: &str = concat!(
    r#"
SELECT p.consumer_name, p.topic, p.partition, p."group", p.cluster_id, encode(uuid_send(p.owner), 'hex'),
       p.next_offset, p.committed, p.last_offset, p.updated_at::text, p.done, p.skipped, p.rejected, p.redelivered,
       p.republished, p.taken_over, p.log_epoch, h.label,
       CASE WHEN p.failing_offset >= p.next_offset THEN p.failing_offset END,
       CASE WHEN p.failing_offset >= p.next_offset THEN p.failing_attempts END,
       p.stopped_for
  FROM tidegate.progress p
  LEFT JOIN tidegate.hosts h
    ON h.consumer_name = p.consumer_name AND h.host = p.owner_host
   AND "#,
    alive!("h.seen_at", "$1"),
    "
 ORDER BY p.consumer_name, p.topic, p.partition"
);

/// A row of the inbox, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboxRow {
    /// Consumer, topic and partition of the record that holds the claim.
    pub key: ProgressKey,
    /// The scope.
    pub scope: String,
    /// The event's id.
    pub event_id: String,
    /// The offset of the record that holds the claim.
    pub offset: i64,
    /// `done`, `skipped` or `rejected`.
    pub outcome: String,
    /// The outcome of the claim that this one took over, if it did.
    pub replaced: Option<String>,
    /// When it was claimed, in UTC.
    pub processed_at: String,
    /// Until when it holds, in UTC.
    pub processed_until: String,
    /// Whether it has expired.
    pub expired: bool,
    /// The handler module, in hexadecimal.
    pub module_digest: Option<String>,
}

/// A progress row, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgressRow {
    /// Consumer, topic and partition.
    pub key: ProgressKey,
    /// The consumer group.
    pub group: String,
    /// The Kafka cluster.
    pub cluster_id: String,
    /// The log's epoch.
    pub log_epoch: i32,
    /// The owner's token, in hexadecimal.
    pub owner: Option<String>,
    /// The host that owns it, while it is alive.
    pub owner_host: Option<String>,
    /// N.
    pub next_offset: i64,
    /// C.
    pub committed: Option<i64>,
    /// The last record handled.
    pub last_offset: Option<i64>,
    /// When the row last changed, in UTC.
    pub updated_at: String,
    /// The record that failed last and is tried again: offset and attempts.
    pub failing: Option<(i64, i32)>,
    /// Why the partition is stopped, if it is.
    pub stopped_for: Option<String>,
    /// The counters.
    pub counts: Counts,
}

impl Inbox {
    /// The inbox rows of an event id, of every consumer and scope; at most 1,000.
    pub async fn find(&self, event_id: &str) -> Result<Vec<InboxRow>, Failure> {
        if event_id.contains('\0') {
            return Ok(Vec::new());
        }
        Ok(self
            .read(FIND, &[&event_id])
            .await?
            .iter()
            .map(inbox_row)
            .collect())
    }

    /// All progress rows.
    pub async fn progress_rows(&self) -> Result<Vec<ProgressRow>, Failure> {
        Ok(self
            .read(PROGRESS, &[&within()])
            .await?
            .iter()
            .map(progress_row)
            .collect())
    }
}

fn inbox_row(row: &Row) -> InboxRow {
    InboxRow {
        key: key(row.get(0), row.get(1), row.get(2)),
        scope: row.get(3),
        event_id: row.get(4),
        offset: row.get(5),
        outcome: row.get(6),
        replaced: row.get(7),
        processed_at: row.get(8),
        processed_until: row.get(9),
        expired: row.get(10),
        module_digest: row.get(11),
    }
}

fn progress_row(row: &Row) -> ProgressRow {
    let counts = Counts {
        done: row.get(10),
        skipped: row.get(11),
        rejected: row.get(12),
        redelivered: row.get(13),
        republished: row.get(14),
        taken_over: row.get(15),
    };
    ProgressRow {
        key: key(row.get(0), row.get(1), row.get(2)),
        group: row.get(3),
        cluster_id: row.get(4),
        log_epoch: row.get(16),
        owner: row.get(5),
        owner_host: row.get(17),
        next_offset: row.get(6),
        committed: row.get(7),
        last_offset: row.get(8),
        updated_at: row.get(9),
        failing: row.get::<_, Option<i64>>(18).zip(row.get(19)),
        stopped_for: row.get(20),
        counts,
    }
}
