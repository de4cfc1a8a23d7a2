//! The token at assignment: looking at the row without a write, taking it, handing it back.
//!
//! No statement here touches `begun` and `sealed`, so the seal lets them pass.

use std::time::Duration;

use tidegate_core::crash::{Ends, Marked};
use tidegate_core::failure::Failure;
use tidegate_core::progress::{Failing, LastRecord, Progress, ProgressKey};
use tidegate_core::resume::{Seen, Whose};
use tokio_postgres::Row;
use uuid::Uuid;

use super::value::param::Param;
use super::{Inbox, SqlParam};

/// What a row says; from `p`, as every statement here calls it.
macro_rules! said {
    () => {
        r#"p."group", p.cluster_id, p.next_offset, p.committed, p.last_offset, p.last_timestamp_ms, p.last_event_id,
           p.log_epoch, p.unclean_ends, p.marked_offset, cardinality(p.marked_deaths),
           CASE WHEN p.failing_offset >= p.next_offset THEN p.failing_offset END, p.failing_attempts, p.failing_ms,
           CASE WHEN p.digest_offset = p.last_offset THEN p.last_digest END"#
    };
}

/// The partition's row or, where it has none, another of the topic's.
const LOOK: &str = concat!(
    "SELECT ",
    said!(),
    ", p.partition = $3 FROM tidegate.progress AS p
 WHERE p.consumer_name = $1 AND p.topic = $2
 ORDER BY (p.partition = $3) DESC, p.partition LIMIT 1"
);

/// Takes nothing where the row does not say any more what was seen. Else waits for its lock: the old owner's last batch
/// ends first. An owner that is still there, and is another process, has died or is taken for dead; so is the one whose
/// mark stands. What all that stood at comes along, to be put back if the position is refused after all.
const TAKE: &str = concat!(
    r#"
UPDATE tidegate.progress AS p
   SET owner = $4, owner_host = $5, updated_at = now(), unclean_at = p.next_offset,
       unclean_ends = CASE WHEN p.unclean_at = p.next_offset THEN p.unclean_ends ELSE 0 END
                    + (p.owner IS NOT NULL AND p.owner_host IS DISTINCT FROM $5)::int,
       marked_by = NULL, stopped_for = CASE WHEN p.owner_host = $5 THEN p.stopped_for END,
       marked_offset = CASE WHEN p.marked_offset >= p.next_offset THEN p.marked_offset END,
       marked_deaths = CASE
           WHEN p.marked_offset < p.next_offset OR p.marked_offset IS NULL THEN '{}'
           WHEN p.marked_by <> $5 AND p.marked_by <> ALL (p.marked_deaths) THEN p.marked_deaths || p.marked_by
           ELSE p.marked_deaths END,
       id_rule = $9
  FROM (SELECT * FROM tidegate.progress AS s
         WHERE s.consumer_name = $1 AND s.topic = $2 AND s.partition = $3
           AND s."group" = $6 AND s.cluster_id = $7 AND s.log_epoch = $8 FOR UPDATE) AS was
 WHERE p.consumer_name = $1 AND p.topic = $2 AND p.partition = $3
RETURNING "#,
    said!(),
    ", jsonb_build_object('owner', was.owner, 'owner_host', was.owner_host, 'unclean_at', was.unclean_at,
           'unclean_ends', was.unclean_ends, 'marked_offset', was.marked_offset, 'marked_by', was.marked_by,
           'marked_deaths', to_jsonb(was.marked_deaths), 'id_rule', was.id_rule,
           'stopped_for', was.stopped_for, 'updated_at', was.updated_at)::text, was.id_rule"
);

const HAND_BACK: &str = "
UPDATE tidegate.progress AS p
   SET owner = was.owner, owner_host = was.owner_host, unclean_at = was.unclean_at, unclean_ends = was.unclean_ends,
       marked_offset = was.marked_offset, marked_by = was.marked_by, marked_deaths = was.marked_deaths,
       id_rule = was.id_rule, stopped_for = was.stopped_for, updated_at = was.updated_at
  FROM jsonb_to_record($5::text::jsonb) AS was (owner uuid, owner_host uuid, unclean_at bigint, unclean_ends int,
           marked_offset bigint, marked_by uuid, marked_deaths uuid[], id_rule text, stopped_for text, updated_at timestamptz)
 WHERE p.consumer_name = $1 AND p.topic = $2 AND p.partition = $3 AND p.owner = $4
RETURNING p.partition";

const THEIRS: &str = r#"
SELECT coalesce(bool_or("group" = $3 AND cluster_id = $4), true) FROM tidegate.progress
 WHERE consumer_name = $1 AND topic = ANY ($2)"#;

/// What a look at a position found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Its row.
    Row(Progress),
    /// It has none, and another of the topic's rows is theirs.
    Sibling(Whose),
    /// The topic has no row.
    Nothing,
}

/// A token taken.
#[derive(Debug)]
pub struct Token {
    /// The row as it then stands.
    pub row: Progress,
    /// How the owner before read event ids, where it is known.
    pub id_rule: Option<String>,
    /// What was there of owners and their ends before.
    was: String,
}

impl Inbox {
    /// Looks at a position, without a write and without waiting for its owner.
    pub async fn look(&self, key: &ProgressKey) -> Result<Standing, Failure> {
        let (topic, partition) = (key.source.topic.as_ref(), key.source.partition);
        let rows = self
            .read(LOOK, &[&key.consumer, &topic, &partition])
            .await?;
        Ok(match rows.first().map(|row| (progress(row), row.get(15))) {
            Some((row, true)) => Standing::Row(row),
            Some((row, false)) => Standing::Sibling(row.whose()),
            None => Standing::Nothing,
        })
    }

    /// Whether some position of a consumer's topics is theirs, or there is none yet.
    pub async fn is_theirs(
        &self,
        consumer: &str,
        topics: &[String],
        whose: &Whose,
    ) -> Result<bool, Failure> {
        let params: [SqlParam<'_>; 4] = [&consumer, &topics, &whose.group, &whose.cluster_id];
        let rows = self.read(THEIRS, &params).await?;
        Ok(rows.first().is_some_and(|row| row.get(0)))
    }

    /// Takes the token for the process `host`, which reads event ids by `id_rule`, where the row still says what was
    /// `seen`; none where it does not. Waits for the row's lock up to `lock_timeout`, then fails with SQLSTATE 55P03: the old owner is still at its last
    /// batch, ask again.
    pub async fn take_token(
        &self,
        key: &ProgressKey,
        (owner, host): (Uuid, Uuid),
        seen: &Seen,
        id_rule: &str,
    ) -> Result<Option<Token>, Failure> {
        let (owner, host) = (Param::uuid(owner), Param::uuid(host));
        let (topic, whose, epoch) = (key.source.topic.as_ref(), seen.whose(), seen.log_epoch());
        let params: [SqlParam<'_>; 9] = [
            &key.consumer,
            &topic,
            &key.source.partition,
            &owner,
            &host,
            &whose.group,
            &whose.cluster_id,
            &epoch,
            &id_rule,
        ];
        let rows = self.write_for(&key.consumer, TAKE, &params).await?;
        Ok(rows.first().map(|row| Token {
            row: progress(row),
            was: row.get(15),
            id_rule: row.get(16),
        }))
    }

    /// Gives a token back as if it had never been taken: owner, ends and marks are what they were. `false`: it is not
    /// ours any more.
    pub async fn hand_back(
        &self,
        key: &ProgressKey,
        owner: Uuid,
        token: &Token,
    ) -> Result<bool, Failure> {
        let (topic, owner) = (key.source.topic.as_ref(), Param::uuid(owner));
        let params: [SqlParam<'_>; 5] = [
            &key.consumer,
            &topic,
            &key.source.partition,
            &owner,
            &token.was,
        ];
        let rows = self.write_for(&key.consumer, HAND_BACK, &params).await?;
        Ok(!rows.is_empty())
    }
}

fn progress(row: &Row) -> Progress {
    let last = row.get::<_, Option<i64>>(4).map(|offset| LastRecord {
        offset,
        timestamp_ms: row.get(5),
        digest: row
            .get::<_, Option<&[u8]>>(14)
            .and_then(|digest| digest.try_into().ok()),
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
