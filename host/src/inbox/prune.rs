//! Pruning: expired claims go after a grace period, in small batches that block nobody.

use std::time::Duration;

use tidegate_core::failure::Failure;

use super::Inbox;

/// Rows that a batch holds are skipped, so pruning never waits and is never in a ring of waiters. The shortest grace
/// bounds the walk along the index.
const PRUNE: &str = r#"
DELETE FROM tidegate.processed_events WHERE ctid = ANY (ARRAY(
    SELECT e.ctid
      FROM tidegate.processed_events e
      LEFT JOIN unnest($1::text[], $2::bigint[]) AS g (consumer_name, grace_us) ON g.consumer_name = e.consumer_name
     WHERE e.processed_until < now() - $4::bigint * interval '1 microsecond'
       AND e.processed_until < now() - coalesce(g.grace_us, $3::bigint) * interval '1 microsecond'
       AND (e.outcome <> 'rejected' OR NOT EXISTS (
           SELECT 1 FROM tidegate.dead_letters d
            WHERE d.consumer_name = e.consumer_name AND d.scope = e.scope AND d.event_id = e.event_id
              AND d.status = 'open'))
     ORDER BY e.processed_until
     LIMIT $5
       FOR UPDATE OF e SKIP LOCKED))
RETURNING 1"#;

/// How long claims are kept after they expire.
#[derive(Clone, Debug)]
pub struct PruneRule {
    /// By consumer name.
    pub grace: Vec<(String, Duration)>,
    /// Of consumers that are not named: those that have left the configuration.
    pub others: Duration,
}

impl Inbox {
    /// Deletes up to `limit` claims whose grace is over, those of open letters excepted; returns how many. Fewer than
    /// `limit` means that nothing more is due.
    pub async fn prune_once(&self, rule: &PruneRule, limit: i64) -> Result<u64, Failure> {
        let names = rule
            .grace
            .iter()
            .map(|(name, _)| name.as_str())
            .collect::<Vec<_>>();
        let graces = rule
            .grace
            .iter()
            .map(|(_, grace)| micros(*grace))
            .collect::<Vec<_>>();
        let others = micros(rule.others);
        let shortest = graces.iter().copied().min().unwrap_or(others).min(others);
        let rows = Self::write(
            &self.service,
            PRUNE,
            &[&names, &graces, &others, &shortest, &limit],
        )
        .await?;
        Ok(rows.len() as u64)
    }
}

/// A century at most: beyond it the database's clock would run out.
pub(super) fn micros(grace: Duration) -> i64 {
    const CENTURY: i64 = 100 * 366 * 86_400 * 1_000_000;
    i64::try_from(grace.as_micros()).map_or(CENTURY, |us| us.min(CENTURY))
}
