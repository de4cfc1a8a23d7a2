//! Figures for the metrics: how dead letters and expired claims stand, and how the pools do.

use std::time::Duration;

use tidegate_core::failure::Failure;
use tokio_postgres::Row;

use super::Inbox;
use super::pool::Pool;

/// Ages in milliseconds, none where there is no letter.
const LETTERS: &str = "
SELECT c.name, o.letters, (extract(epoch FROM now() - o.oldest) * 1000)::bigint,
       u.letters, (extract(epoch FROM now() - u.oldest) * 1000)::bigint
  FROM unnest($1::text[]) AS c (name),
       LATERAL (SELECT count(*) AS letters, min(d.created_at) AS oldest FROM tidegate.dead_letters d
                 WHERE d.consumer_name = c.name AND d.status = 'open') o,
       LATERAL (SELECT count(*) AS letters, min(w.created_at) AS oldest FROM (
                    SELECT d.created_at FROM tidegate.dead_letters d
                     WHERE d.consumer_name = c.name AND d.published_at IS NULL AND d.unpublishable IS NULL
                     UNION ALL
                    SELECT r.created_at FROM tidegate.dead_letter_rounds r
                     WHERE r.consumer_name = c.name AND r.unpublishable IS NULL) w) u";

/// The oldest claim that pruning may take once its grace is over, and how many an open letter keeps from it.
const CLAIMS: &str = "
SELECT (SELECT (extract(epoch FROM now() - e.processed_until) * 1000)::bigint
          FROM tidegate.processed_events e
         WHERE e.processed_until <= now()
           AND (e.outcome <> 'rejected' OR NOT EXISTS (
               SELECT 1 FROM tidegate.dead_letters d
                WHERE d.consumer_name = e.consumer_name AND d.scope = e.scope AND d.event_id = e.event_id
                  AND d.status = 'open'))
         ORDER BY e.processed_until LIMIT 1),
       (SELECT count(DISTINCT (e.event_id, e.scope, e.consumer_name))
          FROM tidegate.dead_letters d
          JOIN tidegate.processed_events e
            ON e.event_id = d.event_id AND e.scope = d.scope AND e.consumer_name = d.consumer_name
         WHERE d.status = 'open' AND e.outcome = 'rejected' AND e.processed_until <= now())";

/// How a consumer's dead letters stand in the database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LetterFigures {
    /// Open letters.
    pub open: i64,
    /// How long ago the oldest of them was written.
    pub oldest_open: Duration,
    /// Letters, and earlier rounds of theirs, that are not on the dead letter topic yet.
    pub unpublished: i64,
    /// How long ago the oldest of them was written.
    pub oldest_unpublished: Duration,
}

/// How expired claims stand in the database, of all consumers together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClaimFigures {
    /// How long ago the oldest claim expired that no open letter keeps.
    pub oldest_expired: Duration,
    /// Expired claims that open letters keep.
    pub held: i64,
}

/// A pool of connections, as it is now.
#[derive(Clone, Copy, Debug)]
pub struct PoolFigures {
    /// What it serves: `batches` or `service`.
    pub name: &'static str,
    /// Connections that somebody works with.
    pub in_use: usize,
    /// Who waits for one.
    pub waiting: usize,
    /// The most connections.
    pub max: usize,
}

impl Inbox {
    /// How the dead letters of `consumers` stand, in their order.
    pub async fn letter_figures(&self, consumers: &[&str]) -> Result<Vec<LetterFigures>, Failure> {
        let rows = self.read(LETTERS, &[&consumers]).await?;
        let of = |name: &&str| rows.iter().find(|row| row.get::<_, &str>(0) == *name);
        Ok(consumers
            .iter()
            .map(|name| of(name).map(letters).unwrap_or_default())
            .collect())
    }

    /// How expired claims stand.
    pub async fn claim_figures(&self) -> Result<ClaimFigures, Failure> {
        let rows = self.read(CLAIMS, &[]).await?;
        let figures = rows.first().map(|row| ClaimFigures {
            oldest_expired: millis(row, 0),
            held: row.get(1),
        });
        Ok(figures.unwrap_or_default())
    }

    /// How the pools of connections are, now.
    pub fn pool_figures(&self) -> [PoolFigures; 2] {
        let of = |name, pool: &Pool| {
            let status = pool.status();
            PoolFigures {
                name,
                in_use: status.size.saturating_sub(status.available),
                waiting: status.waiting,
                max: status.max_size,
            }
        };
        [of("batches", &self.batches), of("service", &self.service)]
    }
}

fn letters(row: &Row) -> LetterFigures {
    LetterFigures {
        open: row.get(1),
        oldest_open: millis(row, 2),
        unpublished: row.get(3),
        oldest_unpublished: millis(row, 4),
    }
}

/// Zero where there is nothing, or where a clock went back.
fn millis(row: &Row, column: usize) -> Duration {
    let millis = row.get::<_, Option<i64>>(column).unwrap_or_default();
    Duration::from_millis(millis.try_into().unwrap_or_default())
}
