//! How long closed letters and finished replays are kept.

use std::time::Duration;

use tidegate_core::failure::Failure;

use super::super::Inbox;
use super::super::prune::micros;

/// Open letters stay for ever, and so do those that are yet to be published, or have rounds that are. What is kept of
/// other rounds goes with its letter.
const LETTERS: &str = "
WITH gone AS (
DELETE FROM tidegate.dead_letters WHERE ctid = ANY (ARRAY(
    SELECT d.ctid
      FROM tidegate.dead_letters d
      LEFT JOIN unnest($1::text[], $2::bigint[], $3::bool[]) AS k (consumer_name, keep_us, publishes)
        ON k.consumer_name = d.consumer_name
     WHERE d.closed_at < now() - $5::bigint * interval '1 microsecond'
       AND d.closed_at < now() - coalesce(k.keep_us, $4::bigint) * interval '1 microsecond'
       AND (d.published_at IS NOT NULL OR d.unpublishable IS NOT NULL OR NOT coalesce(k.publishes, true))
       AND (NOT coalesce(k.publishes, true) OR NOT EXISTS (
           SELECT 1 FROM tidegate.dead_letter_rounds r WHERE r.letter_id = d.id AND r.unpublishable IS NULL))
     ORDER BY d.closed_at
     LIMIT $6
       FOR UPDATE OF d SKIP LOCKED))
RETURNING id),
rounds AS (DELETE FROM tidegate.dead_letter_rounds r USING gone g WHERE r.letter_id = g.id)
SELECT 1 FROM gone";

/// A request goes with its letters' turns.
const REPLAYS: &str = "
DELETE FROM tidegate.replays WHERE id = ANY (ARRAY(
    SELECT r.id
      FROM tidegate.replays r
      LEFT JOIN unnest($1::text[], $2::bigint[]) AS k (consumer_name, keep_us) ON k.consumer_name = r.consumer_name
     WHERE r.finished_at < now() - coalesce(k.keep_us, $3::bigint) * interval '1 microsecond'
     LIMIT $4
       FOR UPDATE OF r SKIP LOCKED))
RETURNING 1";

/// How long what is over is kept.
#[derive(Clone, Debug)]
pub struct KeepRule {
    /// By consumer name; and whether the consumer publishes its letters at all.
    pub keep: Vec<(String, Duration, bool)>,
    /// Of consumers that are not named: those that have left the configuration.
    pub others: Duration,
}

impl Inbox {
    /// Deletes up to `limit` closed letters that are published, or never will be, once they have been kept long enough;
    /// returns how many.
    pub async fn drop_closed_letters(&self, rule: &KeepRule, limit: i64) -> Result<u64, Failure> {
        let (names, keep) = rule.columns();
        let publishes = rule.keep.iter().map(|k| k.2).collect::<Vec<_>>();
        let others = micros(rule.others);
        let shortest = keep.iter().copied().min().unwrap_or(others).min(others);
        let rows = Self::write(
            &self.service,
            LETTERS,
            &[&names, &keep, &publishes, &others, &shortest, &limit],
        )
        .await?;
        Ok(rows.len() as u64)
    }

    /// Deletes up to `limit` finished replays; returns how many.
    pub async fn drop_finished_replays(&self, rule: &KeepRule, limit: i64) -> Result<u64, Failure> {
        let (names, keep) = rule.columns();
        let others = micros(rule.others);
        let rows = Self::write(&self.service, REPLAYS, &[&names, &keep, &others, &limit]).await?;
        Ok(rows.len() as u64)
    }
}

impl KeepRule {
    fn columns(&self) -> (Vec<&str>, Vec<i64>) {
        let keep = self.keep.iter();
        keep.map(|(name, keep, _)| (name.as_str(), micros(*keep)))
            .unzip()
    }
}
