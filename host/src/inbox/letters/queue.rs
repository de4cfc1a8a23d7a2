//! The relay's queue: letters, and earlier rounds of theirs, that a dead letter topic has yet to take.

use tidegate_core::failure::Failure;
use tokio_postgres::Row;
use uuid::Uuid;

use super::super::value::param::Param;
use super::super::{Inbox, SqlParam};
use super::{StoredLetter, stored};

/// From each tenant that has letters or rounds in the queue to the next, by index: what it costs does not depend on how
/// many there are.
const TENANTS: &str = "
WITH RECURSIVE letters (tenant) AS (
    (SELECT coalesce(d.tenant, '') FROM tidegate.dead_letters d
      WHERE d.consumer_name = $1 AND d.published_at IS NULL AND d.unpublishable IS NULL AND coalesce(d.tenant, '') >= $2
      ORDER BY coalesce(d.tenant, '') LIMIT 1)
    UNION ALL
    SELECT (SELECT coalesce(d.tenant, '') FROM tidegate.dead_letters d
             WHERE d.consumer_name = $1 AND d.published_at IS NULL AND d.unpublishable IS NULL
               AND coalesce(d.tenant, '') > l.tenant
             ORDER BY coalesce(d.tenant, '') LIMIT 1)
      FROM letters l WHERE l.tenant IS NOT NULL),
rounds (tenant) AS (
    (SELECT coalesce(r.tenant, '') FROM tidegate.dead_letter_rounds r
      WHERE r.consumer_name = $1 AND r.unpublishable IS NULL AND coalesce(r.tenant, '') >= $2
      ORDER BY coalesce(r.tenant, '') LIMIT 1)
    UNION ALL
    SELECT (SELECT coalesce(r.tenant, '') FROM tidegate.dead_letter_rounds r
             WHERE r.consumer_name = $1 AND r.unpublishable IS NULL AND coalesce(r.tenant, '') > o.tenant
             ORDER BY coalesce(r.tenant, '') LIMIT 1)
      FROM rounds o WHERE o.tenant IS NOT NULL)
SELECT w.tenant FROM (
    (SELECT l.tenant FROM letters l WHERE l.tenant IS NOT NULL LIMIT $3)
    UNION
    (SELECT o.tenant FROM rounds o WHERE o.tenant IS NOT NULL LIMIT $3)) w
 ORDER BY w.tenant LIMIT $3";

/// The first letters of each of the owner's partitions and of each of the destination's tenants, of all those the first
/// again, and of those so many as fit. A round comes before the round that a replay made of it.
const HEADS: &str = r#"
WITH heads AS (
    SELECT q.* FROM tidegate.progress p
     CROSS JOIN unnest($3::text[]) AS t (tenant)
     CROSS JOIN LATERAL (
        (SELECT d.id, d.id AS letter_id, false AS is_round, d.topic, d.partition, d."offset", d.replay_round, d.created_at
           FROM tidegate.dead_letters d
          WHERE d.consumer_name = $1 AND coalesce(d.tenant, '') = t.tenant AND d.topic = p.topic
            AND d.partition = p.partition AND d.published_at IS NULL AND d.unpublishable IS NULL
          ORDER BY d."offset", d.created_at LIMIT $4)
        UNION ALL
        (SELECT r.id, r.letter_id, true, r.topic, r.partition, r."offset", r.replay_round, r.created_at
           FROM tidegate.dead_letter_rounds r
          WHERE r.consumer_name = $1 AND coalesce(r.tenant, '') = t.tenant AND r.topic = p.topic
            AND r.partition = p.partition AND r.unpublishable IS NULL
          ORDER BY r."offset", r.replay_round LIMIT $4)) q
     WHERE p.consumer_name = $1 AND p.owner = ANY ($2::uuid[])
     ORDER BY q.topic, q.partition, q."offset", q.replay_round, q.created_at LIMIT $4),
sized AS (
    SELECT h.*, row_number() OVER turn AS n,
           sum(coalesce(octet_length(d.key), 0) + coalesce(octet_length(d.value), 0) + pg_column_size(d.header_values))
               OVER turn AS bytes
      FROM heads h JOIN tidegate.dead_letters d ON d.id = h.letter_id
    WINDOW turn AS (ORDER BY h.topic, h.partition, h."offset", h.replay_round, h.created_at))
SELECT s.id, d.consumer_name, d.cluster_id, s.replay_round, d.topic, d.partition, d."offset", d.scope,
       CASE WHEN s.is_round THEN r.event_id ELSE d.event_id END, d.key, d.value, d.header_names, d.header_values,
       d.timestamp_ms, d.timestamp_type, coalesce(r.code, d.code), coalesce(r.message, d.message),
       CASE WHEN s.is_round THEN r.sqlstate ELSE d.sqlstate END, coalesce(r.attempts, d.attempts),
       CASE WHEN s.is_round THEN r.module_digest ELSE d.module_digest END, d.status, s.created_at::text,
       (extract(epoch FROM s.created_at) * 1000)::bigint, d.closed_at::text, NULL::text, d.log_epoch, d.former_ids,
       NULL::text, CASE WHEN s.is_round THEN r.tenant ELSE d.tenant END, coalesce(r.refusal, d.refusal), '{}'::text[],
       coalesce(r.kind, d.kind)
  FROM sized s
  JOIN tidegate.dead_letters d ON d.id = s.letter_id
  LEFT JOIN tidegate.dead_letter_rounds r ON s.is_round AND r.id = s.id
 WHERE s.n = 1 OR s.bytes <= $5
 ORDER BY s.n"#;

const MARK: &str = "UPDATE tidegate.dead_letters SET published_at = now(), refusal = NULL \
     WHERE id = ANY ($1) AND published_at IS NULL RETURNING id";

/// A round is over once it is published.
const MARK_ROUND: &str = "DELETE FROM tidegate.dead_letter_rounds WHERE id = ANY ($1) RETURNING id";

const UNPUBLISHABLE: &str = "UPDATE tidegate.dead_letters d SET unpublishable = u.reason, refusal = NULL \
     FROM unnest($1::text[], $2::text[]) AS u (id, reason) \
     WHERE d.id = u.id AND d.published_at IS NULL RETURNING d.id";

const UNPUBLISHABLE_ROUND: &str = "UPDATE tidegate.dead_letter_rounds r SET unpublishable = u.reason, refusal = NULL \
     FROM unnest($1::text[], $2::text[]) AS u (id, reason) WHERE r.id = u.id RETURNING r.id";

const REFUSED: &str = "
WITH letter AS (
    UPDATE tidegate.dead_letters SET refusal = $2
     WHERE id = $1 AND published_at IS NULL AND refusal IS DISTINCT FROM $2 RETURNING 1)
UPDATE tidegate.dead_letter_rounds SET refusal = $2 WHERE id = $1 AND refusal IS DISTINCT FROM $2 RETURNING 1";

/// What is asked of the queue for one destination.
#[derive(Clone, Copy, Debug)]
pub struct Waiting<'a> {
    /// The consumer.
    pub consumer: &'a str,
    /// Tokens of the partitions owned now: only the owner of a partition publishes its letters.
    pub owners: &'a [Uuid],
    /// Whose letters go there; the empty text stands for those of no tenant.
    pub tenants: &'a [String],
    /// The most letters.
    pub most: usize,
    /// About the most bytes of their records; one letter may hold more.
    pub bytes: i64,
}

impl Inbox {
    /// Tenants from `from` on that have letters in the queue, in their order, at most `most`. The empty text stands for
    /// letters of no tenant.
    pub async fn tenants_with_letters(
        &self,
        consumer: &str,
        from: &str,
        most: usize,
    ) -> Result<Vec<String>, Failure> {
        let most = number(most);
        let rows = self.read(TENANTS, &[&consumer, &from, &most]).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// Letters and rounds that one destination has yet to take, in the order in which it is to get them: by partition,
    /// offset and round.
    pub async fn unpublished(&self, waiting: Waiting<'_>) -> Result<Vec<StoredLetter>, Failure> {
        let owners = waiting.owners.iter().map(Uuid::to_string);
        let owners = Param::text(format!("{{{}}}", owners.collect::<Vec<_>>().join(",")));
        let most = number(waiting.most);
        let params: [SqlParam<'_>; 5] = [
            &waiting.consumer,
            &owners,
            &waiting.tenants,
            &most,
            &waiting.bytes,
        ];
        let rows = self.read(HEADS, &params).await?;
        Ok(rows.iter().map(stored).collect())
    }

    /// Notes that these letters and rounds are published; returns how many were not before.
    pub async fn mark_published(&self, ids: &[String]) -> Result<u64, Failure> {
        let marked = Self::write(&self.service, MARK, &[&ids]).await?;
        let others = others(ids, &marked);
        if others.is_empty() {
            return Ok(marked.len() as u64);
        }
        // A replay made an earlier round of it meanwhile. Asked behind the first answer, so that its commit is seen.
        let rounds = Self::write(&self.service, MARK_ROUND, &[&others]).await?;
        Ok((marked.len() + rounds.len()) as u64)
    }

    /// Notes, by id, why the record of a letter or round can never be published as things are; returns how many were not
    /// published before.
    pub async fn mark_unpublishable(&self, letters: &[(String, String)]) -> Result<u64, Failure> {
        let ids = letters.iter().map(|(id, _)| id).collect::<Vec<_>>();
        let reasons = letters.iter().map(|(_, why)| why).collect::<Vec<_>>();
        let marked = Self::write(&self.service, UNPUBLISHABLE, &[&ids, &reasons]).await?;
        let rounds = Self::write(&self.service, UNPUBLISHABLE_ROUND, &[&ids, &reasons]).await?;
        Ok((marked.len() + rounds.len()) as u64)
    }

    /// Notes why the topic did not take a letter or round; it is tried again.
    pub async fn mark_refused(&self, id: &str, reason: &str) -> Result<(), Failure> {
        Self::write(&self.service, REFUSED, &[&id, &reason])
            .await
            .map(drop)
    }
}

fn others<'a>(ids: &'a [String], marked: &[Row]) -> Vec<&'a str> {
    let is_marked = |id: &str| marked.iter().any(|row| row.get::<_, &str>(0) == id);
    let ids = ids.iter().map(String::as_str);
    ids.filter(|id| !is_marked(id)).collect()
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
