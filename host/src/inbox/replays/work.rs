//! A host's work on requests: taking a letter's turn, settling it, giving a request back.

use tidegate_core::failure::Failure;
use uuid::Uuid;

use super::super::alive::{alive, within};
use super::super::value::param::Param;
use super::super::{Inbox, SqlParam};

const ANY: &str =
    "SELECT 1 FROM tidegate.replays WHERE consumer_name = $1 AND status = 'open' LIMIT 1";

/// The oldest request that nobody works on, or whose host has not been seen for a while, and in it the next letter,
/// which is announced by its mark. A request whose row is locked is in the middle of a letter.
const TAKE: &str = concat!(
    "
WITH request AS (
    UPDATE tidegate.replays SET owner = $2
     WHERE id = (
        SELECT r.id FROM tidegate.replays r
         WHERE r.consumer_name = $1 AND r.status = 'open'
           AND (r.owner IS NULL OR r.owner = $2 OR NOT EXISTS (
               SELECT 1 FROM tidegate.hosts h
                WHERE h.consumer_name = $1 AND h.host = r.owner AND ",
    alive!("h.seen_at", "$3"),
    "))
         ORDER BY r.id LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING id),
next AS (
    SELECT l.replay, l.position FROM tidegate.replay_letters l JOIN request r ON r.id = l.replay
     WHERE l.result IS NULL ORDER BY l.position LIMIT 1),
marked AS (
    UPDATE tidegate.replay_letters l SET marks = l.marks + 1 FROM next n
     WHERE l.replay = n.replay AND l.position = n.position AND l.result IS NULL
    RETURNING l.position, l.letter_id, l.marks)
SELECT r.id, m.position, m.letter_id, m.marks FROM request r LEFT JOIN marked m ON true"
);

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
}

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

    /// Takes the next letter's turn for `host` and announces it, in a transaction of its own; none if other hosts work
    /// on all requests there are.
    pub async fn take_turn(&self, consumer: &str, host: Uuid) -> Result<Option<Taken>, Failure> {
        let host = Param::uuid(host);
        let params: [SqlParam<'_>; 3] = [&consumer, &host, &within()];
        let rows = Self::write(&self.service, TAKE, &params).await?;
        Ok(rows.first().map(|row| {
            let replay = row.get(0);
            match row.get(1) {
                Some(position) => Taken::Turn(Turn {
                    replay,
                    position,
                    letter: row.get(2),
                    marks: row.get(3),
                }),
                None => Taken::Empty(replay),
            }
        }))
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
        Self::write(&self.service, SETTLE, &params).await.map(drop)
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
