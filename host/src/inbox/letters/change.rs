//! What an operator does to letters: counting, discarding, and letting unpublishable ones be tried again.

use tidegate_core::failure::Failure;

use super::super::Inbox;
use super::filter::{Given, LetterFilter, matching};

/// Letters that one statement changes at most, so that none holds many locks for long.
const ROUND: i64 = 1_000;

const COUNT: &str = concat!(
    "SELECT count(*) FROM tidegate.dead_letters d WHERE ",
    matching!()
);

const DISCARD: &str = concat!(
    "UPDATE tidegate.dead_letters SET status = 'discarded', closed_at = now() WHERE id = ANY (ARRAY(
        SELECT d.id FROM tidegate.dead_letters d WHERE ",
    matching!(),
    " AND d.status = 'open' ORDER BY d.id LIMIT $15 FOR UPDATE)) RETURNING id"
);

/// Marks of earlier rounds go with the letter's.
const RELEASE: &str = concat!(
    "WITH chosen AS (
        SELECT d.id FROM tidegate.dead_letters d WHERE ",
    matching!(),
    " AND (d.unpublishable IS NOT NULL OR EXISTS (
            SELECT 1 FROM tidegate.dead_letter_rounds r WHERE r.letter_id = d.id AND r.unpublishable IS NOT NULL))
         ORDER BY d.id LIMIT $15 FOR UPDATE OF d),
    rounds AS (
        UPDATE tidegate.dead_letter_rounds r SET unpublishable = NULL FROM chosen c WHERE r.letter_id = c.id)
    UPDATE tidegate.dead_letters d SET unpublishable = NULL FROM chosen c WHERE d.id = c.id RETURNING d.id"
);

impl Inbox {
    /// How many letters there are of this kind.
    pub async fn count_letters(&self, filter: &LetterFilter) -> Result<i64, Failure> {
        let rows = self.read(COUNT, &Given::from(filter).with([])).await?;
        Ok(rows.first().map_or(0, |row| row.get(0)))
    }

    /// Closes open letters for good; returns how many.
    pub async fn discard(&self, filter: &LetterFilter) -> Result<u64, Failure> {
        self.change(DISCARD, filter).await
    }

    /// Takes the mark from letters that the dead letter topic did not take, so that the relay tries them again; returns
    /// how many.
    pub async fn release_unpublishable(&self, filter: &LetterFilter) -> Result<u64, Failure> {
        self.change(RELEASE, filter).await
    }

    async fn change(&self, sql: &'static str, filter: &LetterFilter) -> Result<u64, Failure> {
        let given = Given::from(filter);
        let mut changed = 0;
        loop {
            let rows = Self::write(&self.service, sql, &given.with([&ROUND])).await?;
            changed += rows.len() as u64;
            if rows.is_empty() {
                return Ok(changed);
            }
        }
    }
}
