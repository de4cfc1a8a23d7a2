//! Positions put somewhere by a command: rows and the letters of what is skipped, in one transaction.
//!
//! No statement here touches `begun` and `sealed`, so the seal lets them pass.

use tidegate_core::failure::Failure;
use tidegate_core::letter::{CauseKind, SKIPPED};

use super::pool::Held;
use super::{Inbox, SqlParam};

/// Waits for the rows' locks: batches under way end first.
const LOCK: &str = "
SELECT partition, next_offset, log_epoch FROM tidegate.progress
 WHERE consumer_name = $1 AND topic = $2 AND partition = ANY ($3) ORDER BY partition FOR UPDATE";

const PUT: &str = r#"
INSERT INTO tidegate.progress AS p (consumer_name, topic, partition, "group", cluster_id, log_epoch, next_offset, committed)
SELECT $1, $2, w.partition, $3, $4, 1, w.next_offset, w.committed
  FROM unnest($5::int[], $6::bigint[], $7::bigint[]) AS w (partition, next_offset, committed)
 ORDER BY w.partition
ON CONFLICT (consumer_name, topic, partition) DO UPDATE
   SET "group" = excluded."group", cluster_id = excluded.cluster_id, owner = NULL,
       next_offset = excluded.next_offset, committed = excluded.committed, last_offset = NULL,
       last_timestamp_ms = NULL, last_event_id = NULL, digest_offset = NULL, last_digest = NULL, log_epoch = p.log_epoch + 1,
       owner_host = NULL, unclean_at = NULL, unclean_ends = 0,
       marked_offset = NULL, marked_by = NULL, marked_deaths = '{}',
       failing_offset = NULL, failing_attempts = NULL, failing_ms = NULL, failing_since = NULL,
       stopped_for = NULL, updated_at = now()
RETURNING partition"#;

/// A gap's letter stands at the first of its offsets that has no open letter of its own.
const GAP: &str = r#"
INSERT INTO tidegate.dead_letters (id, consumer_name, cluster_id, topic, partition, log_epoch, "offset", scope,
    header_names, header_values, code, kind, message, attempts, timestamp_type)
SELECT $1, $2, $3, $4, $5, $6, o, '', '{}', '{}', $10, $11, $9, 0, 'none'
  FROM generate_series($7::bigint, least($8::bigint - 1, $7::bigint + 10000)) AS o
 WHERE NOT EXISTS (
     SELECT 1 FROM tidegate.dead_letters d
      WHERE d.consumer_name = $2 AND d.cluster_id = $3 AND d.topic = $4 AND d.partition = $5 AND d.log_epoch = $6
        AND d."offset" = o AND d.status = 'open')
 ORDER BY o LIMIT 1
ON CONFLICT DO NOTHING RETURNING id"#;

const TOLD: &str = "
UPDATE tidegate.progress SET committed = next_offset, updated_at = now()
 WHERE consumer_name = $1 AND topic = $2 AND partition = $3 AND next_offset = $4 AND committed IS NULL AND owner IS NULL
RETURNING partition";

/// Where a partition is to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPosition {
    /// The partition's number.
    pub partition: i32,
    /// N and log epoch as they were read; none: there was no row.
    pub expected: Option<(i64, i32)>,
    /// The new N.
    pub next: i64,
    /// C: what Kafka is known to hold of it; none: it is to be told.
    pub committed: Option<i64>,
    /// What is skipped.
    pub gap: Option<Gap>,
}

/// Records that are skipped, for their letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The letter's id.
    pub id: String,
    /// The first offset; the gap ends before the new N.
    pub first: i64,
    /// What the letter says.
    pub message: String,
}

impl Inbox {
    /// Puts a topic's positions where they are wanted, all or none: N and C as given, no owner, no last record. Whoever
    /// owned them is fenced. The log's epoch is raised: from now on no record is the same as one from before, so none
    /// is taken for a redelivery of it and none shares its letter. `false`: a row is not as expected any more, and
    /// nothing was changed. A row that stays locked fails with SQLSTATE 55P03: a batch is under way.
    pub async fn put_positions(
        &self,
        names: (&str, &str),
        log: (&str, &str),
        positions: &[NewPosition],
    ) -> Result<bool, Failure> {
        let mut held = self.service.get(false).await?;
        held.begin().await?;
        match put(&mut held, names, log, positions).await {
            Ok(true) => {
                held.command("COMMIT").await?;
                held.release();
                Ok(true)
            }
            other => {
                held.roll_back().await;
                other
            }
        }
    }

    /// Notes that Kafka holds a position that a command set; `false` where an owner has taken it meanwhile.
    pub async fn position_told(
        &self,
        (consumer, topic): (&str, &str),
        partition: i32,
        next: i64,
    ) -> Result<bool, Failure> {
        let params: [SqlParam<'_>; 4] = [&consumer, &topic, &partition, &next];
        Ok(!Self::write(&self.service, TOLD, &params).await?.is_empty())
    }
}

async fn put(
    held: &mut Held,
    names: (&str, &str),
    (group, cluster_id): (&str, &str),
    positions: &[NewPosition],
) -> Result<bool, Failure> {
    let (consumer, topic) = names;
    if !as_expected(held, names, positions).await? {
        return Ok(false);
    }
    let partitions = positions.iter().map(|p| p.partition).collect::<Vec<_>>();
    let next = positions.iter().map(|p| p.next).collect::<Vec<_>>();
    let committed = positions.iter().map(|p| p.committed).collect::<Vec<_>>();
    let params: [SqlParam<'_>; 7] = [
        &consumer,
        &topic,
        &group,
        &cluster_id,
        &partitions,
        &next,
        &committed,
    ];
    held.query(PUT, &params).await?;
    for position in positions {
        if let (Some(gap), Some((_, epoch))) = (&position.gap, position.expected) {
            let params: [SqlParam<'_>; 11] = [
                &gap.id,
                &consumer,
                &cluster_id,
                &topic,
                &position.partition,
                &epoch,
                &gap.first,
                &position.next,
                &gap.message,
                &SKIPPED,
                &CauseKind::Skipped.as_str(),
            ];
            held.query(GAP, &params).await?;
        }
    }
    Ok(true)
}

async fn as_expected(
    held: &mut Held,
    (consumer, topic): (&str, &str),
    positions: &[NewPosition],
) -> Result<bool, Failure> {
    let partitions = positions.iter().map(|p| p.partition).collect::<Vec<_>>();
    let rows = held.query(LOCK, &[&consumer, &topic, &partitions]).await?;
    let found = |partition: i32| {
        let row = rows.iter().find(|row| row.get::<_, i32>(0) == partition);
        row.map(|row| (row.get::<_, i64>(1), row.get::<_, i32>(2)))
    };
    Ok(positions
        .iter()
        .all(|position| found(position.partition) == position.expected))
}
