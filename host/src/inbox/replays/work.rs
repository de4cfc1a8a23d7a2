//! A host's work on requests: taking a letter's turn, settling it, giving a request back.

use std::time::Duration;

use tidegate_core::failure::Failure;
use tidegate_core::replay::{Tries, Wait};
use tidegate_core::text::bounded;
use tokio_postgres::Row;
use uuid::Uuid;

use super::super::alive::{alive, within};
use super::super::value::param::Param;
use super::super::{Inbox, SqlParam};

const ANY: &str =
    "SELECT 1 FROM tidegate.replays WHERE consumer_name = $1 AND status = 'open' LIMIT 1";

/// A request that nobody works on, or whose host has not been seen for a while, in which a letter is due; and that letter,
/// which is announced by its mark. Letters that had no turn yet come first, then those whose wait is over; requests take
/// turns. A request whose row is locked is in the middle of a letter. One in which no letter waits is to be ended.
const TAKE: &str = concat!(
    "
WITH next AS (
    SELECT r.id, n.position FROM tidegate.replays r
      LEFT JOIN LATERAL (
        SELECT l.position, l.due FROM tidegate.replay_letters l
         WHERE l.replay = r.id AND l.result IS NULL AND l.due <= now() ORDER BY l.due, l.position LIMIT 1) n ON true
     WHERE r.consumer_name = $1 AND r.status = 'open'
       AND (r.owner IS NULL OR r.owner = $2 OR NOT EXISTS (
           SELECT 1 FROM tidegate.hosts h
            WHERE h.consumer_name = $1 AND h.host = r.owner AND ",
    alive!("h.seen_at", "$3"),
    "))
       AND (n.position IS NOT NULL
            OR NOT EXISTS (SELECT 1 FROM tidegate.replay_letters l WHERE l.replay = r.id AND l.result IS NULL))
     ORDER BY coalesce(n.due = '-infinity', true) DESC, r.turn_at NULLS FIRST, r.id
     LIMIT 1 FOR UPDATE OF r SKIP LOCKED),
request AS (
    UPDATE tidegate.replays r SET owner = $2, turn_at = now(), waits = NULL FROM next n WHERE r.id = n.id
    RETURNING r.id, n.position),
marked AS (
    UPDATE tidegate.replay_letters l SET marks = l.marks + 1 FROM request q
     WHERE l.replay = q.id AND l.position = q.position AND l.result IS NULL
    RETURNING l.position, l.letter_id, l.marks, l.attempts, l.nobodys, l.waited_ms, l.fresh)
SELECT q.id, m.position, m.letter_id, m.marks, m.attempts, m.nobodys, m.waited_ms, m.fresh
  FROM request q LEFT JOIN marked m ON true"
);

/// How long until a letter is due, in milliseconds.
const NEXT: &str = "
SELECT (extract(epoch FROM min(n.due) - now()) * 1000)::bigint FROM tidegate.replays r
 CROSS JOIN LATERAL (
    SELECT l.due FROM tidegate.replay_letters l
     WHERE l.replay = r.id AND l.result IS NULL AND l.due > '-infinity' AND l.due < 'infinity'
     ORDER BY l.due LIMIT 1) n
 WHERE r.consumer_name = $1 AND r.status = 'open'";

/// The host has been heard of: the mark counts what was before this turn.
const PUT_OFF: &str = "
UPDATE tidegate.replay_letters l
   SET marks = $4, due = CASE WHEN $12::bool THEN '-infinity' ELSE now() + $5::bigint * interval '1 millisecond' END, waits = $6, stopped = $7, attempts = $8,
       nobodys = $9, waited_ms = $10, fresh = $11
  FROM tidegate.replays r
 WHERE l.replay = $1 AND l.position = $2 AND l.result IS NULL AND r.id = l.replay AND r.owner = $3 RETURNING l.position";

/// What letters waited for may be there now.
const WAKE: &str = "
UPDATE tidegate.replay_letters l SET due = '-infinity' FROM tidegate.replays r
 WHERE r.consumer_name = $1 AND r.status = 'open' AND l.replay = r.id AND l.result IS NULL
   AND l.due > '-infinity' AND l.due < 'infinity' RETURNING 1";

/// The first of a strand without a result has its turn: that of the turn which has just got one.
pub(in crate::inbox) const FREE_NEXT: &str = r#"
UPDATE tidegate.replay_letters n SET due = '-infinity'
  FROM (SELECT l.replay, l.position FROM tidegate.replay_letters t JOIN tidegate.replay_letters l ON l.strand = t.strand
         WHERE t.replay = $1 AND t.position = $2 AND l.result IS NULL
         ORDER BY l.log_epoch, l."offset" LIMIT 1) h
 WHERE n.replay = h.replay AND n.position = h.position AND n.due = 'infinity' RETURNING 1"#;

/// The same for all strands of a consumer: of a cancelled request, of letters that were asked for at the same moment.
const FREE_ALL: &str = r#"
UPDATE tidegate.replay_letters l SET due = '-infinity' FROM tidegate.replays r
 WHERE r.consumer_name = $1 AND r.status = 'open' AND l.replay = r.id AND l.result IS NULL AND l.due = 'infinity'
   AND NOT EXISTS (SELECT 1 FROM tidegate.replay_letters b
                    WHERE b.strand = l.strand AND b.result IS NULL
                      AND (b.log_epoch, b."offset") < (l.log_epoch, l."offset"))
RETURNING 1"#;

/// A letter that had no try: somebody else closed it.
const SETTLE: &str = "
WITH turn AS (
    UPDATE tidegate.replay_letters l SET result = $4 FROM tidegate.replays r
     WHERE l.replay = $1 AND l.position = $2 AND l.result IS NULL AND r.id = l.replay AND r.owner = $3
    RETURNING l.result)
UPDATE tidegate.replays r
   SET duplicate = r.duplicate + (t.result = 'duplicate')::int, gone = r.gone + (t.result = 'gone')::int,
       kept = r.kept + (t.result = 'kept')::int
  FROM turn t WHERE r.id = $1 RETURNING r.id";

const FINISH: &str = "
UPDATE tidegate.replays r SET status = 'done', finished_at = now(), owner = NULL, waits = NULL
 WHERE r.id = $1 AND r.owner = $2 AND r.status = 'open'
   AND NOT EXISTS (SELECT 1 FROM tidegate.replay_letters l WHERE l.replay = r.id AND l.result IS NULL)
RETURNING r.id";

const WAITS: &str = "
UPDATE tidegate.replays SET waits = $2
 WHERE consumer_name = $1 AND status = 'open' AND waits IS DISTINCT FROM $2 RETURNING id";

/// The mark goes too: this host has been heard of.
const RELEASE: &str = "
WITH mark AS (
    UPDATE tidegate.replay_letters l SET marks = l.marks - 1 FROM tidegate.replays r
     WHERE r.id = l.replay AND r.owner = $1 AND l.replay = $2 AND l.position = $3 AND l.result IS NULL AND l.marks > 0)
UPDATE tidegate.replays SET owner = NULL, waits = NULL WHERE owner = $1 AND status = 'open' RETURNING id";

/// A letter's turn in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The request.
    pub replay: i64,
    /// The letter's place in it.
    pub position: i64,
    /// The letter's id.
    pub letter: String,
    /// How often it was announced, this time included.
    pub marks: i32,
    /// What its turns before came to.
    pub tries: Tries,
}

/// The most bytes of what a letter waits for, in words.
const WORDS: usize = 500;

/// Why a letter had no try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Untried {
    /// It was closed meanwhile because its event was handled.
    Duplicate,
    /// It was closed meanwhile by somebody else.
    Gone,
    /// Its tenant cannot run: it stays as it is.
    Kept,
}

impl Untried {
    fn as_str(self) -> &'static str {
        match self {
            Untried::Duplicate => "duplicate",
            Untried::Gone => "gone",
            Untried::Kept => "kept",
        }
    }
}

/// What a host is to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// Replay this letter.
    Turn(Turn),
    /// End this request: no letter waits in it any more.
    Empty(i64),
}

impl Inbox {
    /// Whether the consumer has an open request.
    pub async fn has_replay(&self, consumer: &str) -> Result<bool, Failure> {
        Ok(!self.read(ANY, &[&consumer]).await?.is_empty())
    }

    /// Takes the next letter's turn for `host` and announces it, in a transaction of its own; none if no letter is due, or
    /// other hosts work on all requests there are.
    pub async fn take_turn(&self, consumer: &str, host: Uuid) -> Result<Option<Taken>, Failure> {
        let host = Param::uuid(host);
        let params: [SqlParam<'_>; 3] = [&consumer, &host, &within()];
        let rows = Self::write(&self.service, TAKE, &params).await?;
        Ok(rows.first().map(taken))
    }

    /// How long until a letter of the consumer's that waits is due; none if none waits for a time.
    pub async fn next_turn(&self, consumer: &str) -> Result<Option<Duration>, Failure> {
        let rows = self.read(NEXT, &[&consumer]).await?;
        let millis = rows.first().and_then(|row| row.get::<_, Option<i64>>(0));
        Ok(millis.map(|ms| Duration::from_millis(u64::try_from(ms).unwrap_or(0))))
    }

    /// Puts a letter's next turn off: it waits by itself, or stays the next.
    pub async fn put_off(&self, turn: &Turn, host: Uuid, wait: &Wait) -> Result<(), Failure> {
        let (host, words) = (Param::uuid(host), bounded(&wait.words, WORDS));
        let (marks, tries) = (turn.marks - 1, &wait.tries);
        let millis = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
        let (time, waited) = (millis(wait.time), millis(tries.waited));
        let number = |count: u32| i32::try_from(count).unwrap_or(i32::MAX);
        let (attempts, nobodys) = (number(tries.attempts), number(tries.nobodys));
        let params: [SqlParam<'_>; 12] = [
            &turn.replay,
            &turn.position,
            &host,
            &marks,
            &time,
            &words,
            &wait.stopped,
            &attempts,
            &nobodys,
            &waited,
            &tries.fresh,
            &wait.in_place,
        ];
        Self::write(&self.service, PUT_OFF, &params).await.map(drop)
    }

    /// Lets all letters of the consumer's that wait for a time have their turn.
    pub async fn wake_replays(&self, consumer: &str) -> Result<(), Failure> {
        Self::write(&self.service, WAKE, &[&consumer])
            .await
            .map(drop)
    }

    /// Lets the first letter of each strand have its turn; how many were not let before.
    pub async fn free_strands(&self, consumer: &str) -> Result<u64, Failure> {
        let rows = Self::write(&self.service, FREE_ALL, &[&consumer]).await?;
        Ok(rows.len() as u64)
    }

    /// Settles the turn of a letter that had no try.
    pub async fn settle_turn(
        &self,
        turn: &Turn,
        host: Uuid,
        untried: Untried,
    ) -> Result<(), Failure> {
        let (host, result) = (Param::uuid(host), untried.as_str());
        let params: [SqlParam<'_>; 4] = [&turn.replay, &turn.position, &host, &result];
        Self::write(&self.service, SETTLE, &params).await?;
        let params: [SqlParam<'_>; 2] = [&turn.replay, &turn.position];
        Self::write(&self.service, FREE_NEXT, &params)
            .await
            .map(drop)
    }

    /// Ends a request in which no letter waits; whether it did.
    pub async fn finish_replay(&self, replay: i64, host: Uuid) -> Result<bool, Failure> {
        let host = Param::uuid(host);
        let rows = Self::write(&self.service, FINISH, &[&replay, &host]).await?;
        Ok(!rows.is_empty())
    }

    /// Says in all of the consumer's open requests what they wait for.
    pub async fn replays_wait(&self, consumer: &str, words: Option<&str>) -> Result<(), Failure> {
        Self::write(&self.service, WAITS, &[&consumer, &words])
            .await
            .map(drop)
    }

    /// Gives this host's requests back, and takes the mark from the turn that it leaves, if it is at one.
    pub async fn release_replays(&self, host: Uuid, turn: Option<&Turn>) -> Result<(), Failure> {
        let host = Param::uuid(host);
        let (replay, position) = turn.map_or((0, 0), |turn| (turn.replay, turn.position));
        Self::write(&self.service, RELEASE, &[&host, &replay, &position])
            .await
            .map(drop)
    }
}

fn taken(row: &Row) -> Taken {
    let replay = row.get(0);
    let Some(position) = row.get(1) else {
        return Taken::Empty(replay);
    };
    let number = |column: usize| u32::try_from(row.get::<_, i32>(column)).unwrap_or(0);
    let waited = u64::try_from(row.get::<_, i64>(6)).unwrap_or(0);
    Taken::Turn(Turn {
        replay,
        position,
        letter: row.get(2),
        marks: row.get(3),
        tries: Tries {
            attempts: number(4),
            nobodys: number(5),
            waited: Duration::from_millis(waited),
            fresh: row.get(7),
        },
    })
}
