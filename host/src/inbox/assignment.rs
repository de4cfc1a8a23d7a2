//! The progress row at assignment: registering, taking and holding the token, placing N, acknowledging C.
//!
//! None of these touches `begun` and `sealed`, so the seal lets them pass.

use std::sync::Arc;
use std::time::Duration;

use tidegate_core::crash::{Ends, Marked};
use tidegate_core::failure::Failure;
use tidegate_core::progress::{Failing, LastRecord, Progress, ProgressKey};
use tokio_postgres::Row;
use uuid::Uuid;

use super::Inbox;
use super::value::param::Param;

const REGISTERED: &str = "SELECT partition FROM tidegate.progress WHERE consumer_name = $1 AND topic = $2 ORDER BY partition";

const REGISTER: &str = r#"
INSERT INTO tidegate.progress (consumer_name, topic, partition, "group", cluster_id, next_offset, committed)
SELECT $1, $2, p.partition, $3, $4, p.next_offset, p.committed
  FROM unnest($5::int[], $6::bigint[], $7::bigint[]) AS p (partition, next_offset, committed)
 ORDER BY p.partition
ON CONFLICT (consumer_name, topic, partition) DO NOTHING
RETURNING partition"#;

/// Waits for the row's lock: the old owner's last batch ends first. An owner that is still there, and is another
/// process, has died or is taken for dead; so is the one whose mark stands.
const TAKE_TOKEN: &str = r#"
UPDATE tidegate.progress AS p
   SET owner = $4, owner_host = $5, updated_at = now(), unclean_at = next_offset,
       unclean_ends = CASE WHEN unclean_at = next_offset THEN unclean_ends ELSE 0 END
                    + (owner IS NOT NULL AND owner_host IS DISTINCT FROM $5)::int,
       marked_by = NULL,
       marked_offset = CASE WHEN marked_offset >= next_offset THEN marked_offset END,
       marked_deaths = CASE
           WHEN marked_offset < next_offset OR marked_offset IS NULL THEN '{}'
           WHEN marked_by <> $5 AND marked_by <> ALL (marked_deaths) THEN marked_deaths || marked_by
           ELSE marked_deaths END
 WHERE consumer_name = $1 AND topic = $2 AND partition = $3
RETURNING "group", cluster_id, next_offset, committed, last_offset, last_timestamp_ms, last_event_id,
          log_epoch, unclean_ends, marked_offset, cardinality(marked_deaths),
          CASE WHEN failing_offset >= next_offset THEN failing_offset END, failing_attempts, failing_ms"#;

const PLACE: &str = "
UPDATE tidegate.progress
   SET next_offset = $5, committed = coalesce($6, committed), updated_at = now(),
       failing_offset = NULL, failing_attempts = NULL, failing_ms = NULL, failing_since = NULL
 WHERE consumer_name = $1 AND topic = $2 AND partition = $3 AND owner = $4 RETURNING partition";

const ACKNOWLEDGE: &str = "
UPDATE tidegate.progress SET committed = $5, updated_at = now()
 WHERE consumer_name = $1 AND topic = $2 AND partition = $3 AND owner = $4 RETURNING partition";

const HOLDS: &str = "
SELECT partition FROM tidegate.progress
 WHERE consumer_name = $1 AND topic = $2 AND partition = $3 AND owner = $4";

impl Inbox {
    /// The partitions of a topic that a consumer has a progress row for.
    pub async fn registered(&self, consumer: &str, topic: &str) -> Result<Vec<i32>, Failure> {
        let mut held = self.batches.get_for(consumer, false).await?;
        let rows = held.query(REGISTERED, &[&consumer, &topic]).await?;
        held.release();
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// Writes a row for each partition (partition, N, C), insert-or-nothing, in one transaction.
    pub async fn register(
        &self,
        (consumer, topic): (&str, &str),
        group: &str,
        cluster_id: &str,
        positions: &[(i32, i64, Option<i64>)],
    ) -> Result<(), Failure> {
        let partitions = positions.iter().map(|p| p.0).collect::<Vec<_>>();
        let next = positions.iter().map(|p| p.1).collect::<Vec<_>>();
        let committed = positions.iter().map(|p| p.2).collect::<Vec<_>>();
        let params: [super::SqlParam<'_>; 7] = [
            &consumer,
            &topic,
            &group,
            &cluster_id,
            &partitions,
            &next,
            &committed,
        ];
        self.write_for(consumer, REGISTER, &params).await.map(drop)
    }

    /// Takes the token for the process `host` and returns the row as it then stands; none where no row exists. Waits for the row's lock up to
    /// `lock_timeout`, then fails with SQLSTATE 55P03: the old owner is still at its last batch, ask again.
    pub async fn take_token(
        &self,
        key: &ProgressKey,
        (owner, host): (Uuid, Uuid),
    ) -> Result<Option<Progress>, Failure> {
        let (owner, host) = (Param::uuid(owner), Param::uuid(host));
        let (topic, partition) = (key.source.topic.as_ref(), key.source.partition);
        let params: [super::SqlParam<'_>; 5] = [&key.consumer, &topic, &partition, &owner, &host];
        let rows = self.write_for(&key.consumer, TAKE_TOKEN, &params).await?;
        Ok(rows.first().map(progress))
    }

    /// Writes N down, and C where one is given, while the token is ours; `false`: it is not.
    pub async fn place(
        &self,
        key: &ProgressKey,
        owner: Uuid,
        next: i64,
        committed: Option<i64>,
    ) -> Result<bool, Failure> {
        let (topic, owner) = (key.source.topic.as_ref(), Param::uuid(owner));
        let params: [super::SqlParam<'_>; 6] = [
            &key.consumer,
            &topic,
            &key.source.partition,
            &owner,
            &next,
            &committed,
        ];
        Ok(!self
            .write_for(&key.consumer, PLACE, &params)
            .await?
            .is_empty())
    }

    /// Sets C to what Kafka acknowledged, while the token is ours; `false`: it is not.
    pub async fn acknowledge(
        &self,
        key: &ProgressKey,
        owner: Uuid,
        committed: i64,
    ) -> Result<bool, Failure> {
        let (topic, owner) = (key.source.topic.as_ref(), Param::uuid(owner));
        let params: [super::SqlParam<'_>; 5] = [
            &key.consumer,
            &topic,
            &key.source.partition,
            &owner,
            &committed,
        ];
        Ok(!self
            .write_for(&key.consumer, ACKNOWLEDGE, &params)
            .await?
            .is_empty())
    }

    /// Whether the token is still ours.
    pub async fn holds(&self, key: &ProgressKey, owner: Uuid) -> Result<bool, Failure> {
        let (topic, owner) = (key.source.topic.as_ref(), Param::uuid(owner));
        let params: [super::SqlParam<'_>; 4] =
            [&key.consumer, &topic, &key.source.partition, &owner];
        Ok(!self.read(HOLDS, &params).await?.is_empty())
    }
}

fn progress(row: &Row) -> Progress {
    let last = row.get::<_, Option<i64>>(4).map(|offset| LastRecord {
        offset,
        timestamp_ms: row.get(5),
        event_id: row.get(6),
    });
    Progress {
        group: row.get(0),
        cluster_id: row.get(1),
        log_epoch: row.get(7),
        next_offset: row.get(2),
        committed: row.get(3),
        last,
        failing: failing(row),
        ends: Ends {
            unclean: count(row.get(8)),
            marked: row.get::<_, Option<i64>>(9).map(|offset| Marked {
                offset,
                deaths: count(row.get(10)),
            }),
        },
    }
}

fn failing(row: &Row) -> Option<Failing> {
    let ms = row.get::<_, Option<i64>>(13).unwrap_or(0);
    Some(Failing {
        offset: row.get::<_, Option<i64>>(11)?,
        attempts: count(row.get::<_, Option<i32>>(12).unwrap_or(0)),
        elapsed: Duration::from_millis(u64::try_from(ms).unwrap_or(0)),
    })
}

fn count(number: i32) -> u32 {
    u32::try_from(number).unwrap_or(0)
}

/// A key read back from two columns and a number.
pub(super) fn key(consumer: String, topic: &str, partition: i32) -> ProgressKey {
    let source = tidegate_core::record::TopicPartition {
        topic: Arc::from(topic),
        partition,
    };
    ProgressKey { consumer, source }
}
