//! The relay's queue: letters that the dead letter topic has yet to take.

use tidegate_core::failure::Failure;
use uuid::Uuid;

use super::super::Inbox;
use super::super::value::param::Param;
use super::{StoredLetter, select, stored};

/// Only the owner of a partition publishes its letters, in the order of their offsets.
const UNPUBLISHED: &str = select!(
    r#"JOIN tidegate.progress p
         ON p.consumer_name = d.consumer_name AND p.topic = d.topic AND p.partition = d.partition
      WHERE d.consumer_name = $1 AND d.published_at IS NULL AND d.unpublishable IS NULL AND p.owner = ANY ($2)
      ORDER BY d.topic, d.partition, d."offset", d.created_at LIMIT $3"#
);

const MARK: &str = "UPDATE tidegate.dead_letters SET published_at = now() \
     WHERE id = ANY ($1) AND published_at IS NULL RETURNING id";

const UNPUBLISHABLE: &str = "UPDATE tidegate.dead_letters d SET unpublishable = u.reason \
     FROM unnest($1::text[], $2::text[]) AS u (id, reason) \
     WHERE d.id = u.id AND d.published_at IS NULL RETURNING d.id";

impl Inbox {
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

    /// Notes, by id, why the dead letter topic does not take letters; returns how many were not published before.
    pub async fn mark_unpublishable(&self, letters: &[(String, String)]) -> Result<u64, Failure> {
        let ids = letters.iter().map(|(id, _)| id).collect::<Vec<_>>();
        let reasons = letters.iter().map(|(_, why)| why).collect::<Vec<_>>();
        let rows = Self::write(&self.service, UNPUBLISHABLE, &[&ids, &reasons]).await?;
        Ok(rows.len() as u64)
    }
}
