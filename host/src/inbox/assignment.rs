//! The progress row at assignment: registering, holding the token, placing N, acknowledging C.
//!
//! None of these touches `begun` and `sealed`, so the seal lets them pass.

use std::sync::Arc;

use tidegate_core::failure::Failure;
use tidegate_core::progress::ProgressKey;
use uuid::Uuid;

use super::Inbox;
use super::value::param::Param;

const REGISTERED: &str = "SELECT partition FROM tidegate.progress WHERE consumer_name = $1 AND topic = $2 ORDER BY partition";

const REGISTER: &str = r#"
INSERT INTO tidegate.progress (consumer_name, topic, partition, "group", cluster_id, next_offset, committed)
SELECT $1, $2, p.partition, $3, $4, p.next_offset, p.committed
  FROM unnest($5::int[], $6::bigint[], $7::bigint[]) AS p (partition, next_offset, committed)
 WHERE NOT EXISTS (SELECT 1 FROM tidegate.progress o
                    WHERE o.consumer_name = $1 AND o.topic = $2 AND (o."group" <> $3 OR o.cluster_id <> $4))
 ORDER BY p.partition
ON CONFLICT (consumer_name, topic, partition) DO NOTHING
RETURNING partition"#;

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

    /// Writes a row for each partition (partition, N, C), insert-or-nothing, in one transaction; none at all where the
    /// topic has a row of another group or cluster.
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

/// A key read back from two columns and a number.
pub(super) fn key(consumer: String, topic: &str, partition: i32) -> ProgressKey {
    let source = tidegate_core::record::TopicPartition {
        topic: Arc::from(topic),
        partition,
    };
    ProgressKey { consumer, source }
}
