//! Requests to replay letters: written by a command, worked on by one host, watched by whoever asked.

mod work;

use serde::Serialize;
use tidegate_core::failure::Failure;
use tokio_postgres::Row;

use super::letters::{Given, LetterFilter, matching};
use super::{Inbox, SqlParam};

pub(super) use work::FREE_NEXT;
pub use work::{Taken, Turn, Untried};

const REQUEST: &str = "
INSERT INTO tidegate.replays (consumer_name, requested_by, filter) VALUES ($1, $2, $3) RETURNING id";

/// Every letter that may be replayed and waits in no other request: of each tenant in the order of its log, tenants in
/// turns, so that none waits for more of another's letters than it has itself. Letters of one tenant, topic, partition and
/// key are a strand: none has its turn before an earlier one that was asked for has its result.
const LETTERS: &str = concat!(
    r#"
WITH chosen AS (
    SELECT d.id, d.tenant, d.topic, d.partition, d.log_epoch, d."offset",
           sha256(convert_to(concat_ws(chr(1), coalesce(d.tenant, ''), d.topic, d.partition::text, ''), 'UTF8') || d.key)
               AS strand
      FROM tidegate.dead_letters d WHERE "#,
    matching!(),
    r#" AND d.status = 'open' AND d.kind <> 'skipped' AND (d.replay_round < $16 OR $17)),
placed AS (
    SELECT c.*,
           row_number() OVER (PARTITION BY c.tenant ORDER BY c.topic, c.partition, c.log_epoch, c."offset") AS nth,
           row_number() OVER (PARTITION BY c.strand ORDER BY c.log_epoch, c."offset") AS in_strand
      FROM chosen c)
INSERT INTO tidegate.replay_letters (replay, position, letter_id, strand, log_epoch, "offset", due)
SELECT $15, row_number() OVER (ORDER BY p.nth, p.topic, p.partition, p.log_epoch, p."offset"), p.id, p.strand,
       p.log_epoch, p."offset",
       CASE WHEN p.strand IS NULL THEN '-infinity'::timestamptz
            WHEN p.in_strand > 1 OR EXISTS (
                SELECT 1 FROM tidegate.replay_letters b
                 WHERE b.strand = p.strand AND b.result IS NULL
                   AND (b.log_epoch, b."offset") < (p.log_epoch, p."offset"))
            THEN 'infinity' ELSE '-infinity' END
  FROM placed p
ON CONFLICT (letter_id) WHERE result IS NULL DO NOTHING"#
);

const COUNTED: &str = "
UPDATE tidegate.replays SET letters = (SELECT count(*) FROM tidegate.replay_letters WHERE replay = $1)
 WHERE id = $1 RETURNING letters";

/// What a replay would do with each letter.
const PLAN: &str = concat!(
    r#"SELECT d.id, d.topic, d.partition, d."offset", d.code, d.replay_round,
       CASE WHEN d.kind = 'skipped' THEN 'skipped'
            WHEN EXISTS (SELECT 1 FROM tidegate.replay_letters l WHERE l.letter_id = d.id AND l.result IS NULL)
            THEN 'waiting'
            WHEN d.replay_round >= $15 AND NOT $16 THEN 'parked'
            ELSE 'ready' END
  FROM tidegate.dead_letters d WHERE "#,
    matching!(),
    r#" AND d.status = 'open' ORDER BY d.topic, d.partition, d.log_epoch, d."offset" LIMIT $17"#
);

const WAITING: &str = concat!(
    "SELECT DISTINCT l.replay FROM tidegate.replay_letters l
       JOIN tidegate.dead_letters d ON d.id = l.letter_id
      WHERE l.result IS NULL AND ",
    matching!(),
    " ORDER BY l.replay"
);

const PROGRESS: &str = "
SELECT r.id, r.consumer_name, r.status, r.letters, r.resolved, r.rejected, r.duplicate, r.gone, r.waits,
       r.requested_at::text, r.requested_by, r.filter, r.owner IS NOT NULL, r.kept,
       (SELECT count(*) FROM tidegate.replay_letters l
         WHERE l.replay = r.id AND l.result IS NULL AND l.due > '-infinity' AND l.due < 'infinity'),
       (SELECT count(*) FROM tidegate.replay_letters l
         WHERE l.replay = r.id AND l.result IS NULL AND l.due > '-infinity' AND l.due < 'infinity' AND l.stopped),
       (SELECT count(*) FROM tidegate.replay_letters l
         WHERE l.replay = r.id AND l.result IS NULL AND l.due = 'infinity')
  FROM tidegate.replays r WHERE r.id = ANY ($1) ORDER BY r.id";

/// The first few letters of a request that wait by themselves, those first that somebody has to do something for.
const WAITS: &str = "
SELECT l.letter_id, d.tenant, l.waits FROM tidegate.replay_letters l
  LEFT JOIN tidegate.dead_letters d ON d.id = l.letter_id
 WHERE l.replay = $1 AND l.result IS NULL AND l.due > '-infinity' AND l.due < 'infinity'
 ORDER BY l.stopped DESC, l.position LIMIT $2";

/// So many are named.
const NAMED: i64 = 20;

const CANCEL: &str = "
WITH request AS (
    UPDATE tidegate.replays SET status = 'cancelled', finished_at = now(), owner = NULL, waits = NULL
     WHERE id = $1 AND status = 'open' RETURNING id)
UPDATE tidegate.replay_letters l SET result = 'cancelled' FROM request r
 WHERE l.replay = r.id AND l.result IS NULL RETURNING 1";

/// What a replay would do with a letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prospect {
    /// Replay it.
    Ready,
    /// Nothing: it waits in another open request.
    Waiting,
    /// Nothing: it was rejected too often, and nobody forces it.
    Parked,
    /// Nothing: it stands for records that were skipped, and holds none.
    Skipped,
}

impl Prospect {
    /// The word in listings.
    pub fn as_str(self) -> &'static str {
        match self {
            Prospect::Ready => "ready",
            Prospect::Waiting => "waiting",
            Prospect::Parked => "parked",
            Prospect::Skipped => "skipped",
        }
    }

    fn read(word: &str) -> Self {
        match word {
            "waiting" => Prospect::Waiting,
            "parked" => Prospect::Parked,
            "skipped" => Prospect::Skipped,
            _ => Prospect::Ready,
        }
    }
}

/// A letter that a filter matches, and what a replay would do with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// The letter's id.
    pub id: String,
    /// The record's topic, partition and offset.
    pub record: (String, i32, i64),
    /// The cause's code.
    pub code: String,
    /// Rounds so far.
    pub replay_round: i32,
    /// What a replay would do.
    pub prospect: Prospect,
}

/// Who asks for a replay of what.
#[derive(Clone, Debug)]
pub struct ReplayRequest {
    /// Which letters. Its consumer must be named.
    pub filter: LetterFilter,
    /// The consumer.
    pub consumer: String,
    /// Who asks.
    pub by: String,
    /// The filter in words.
    pub words: String,
    /// Rounds after which a letter is parked, unless it is forced.
    pub rounds: (i32, bool),
}

/// How far a request has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayProgress {
    /// Its number.
    pub id: i64,
    /// The consumer.
    pub consumer: String,
    /// `open`, `done` or `cancelled`.
    pub status: String,
    /// Letters asked for.
    pub letters: i64,
    /// Handled.
    pub resolved: i64,
    /// Rejected again.
    pub rejected: i64,
    /// Whose event had been handled meanwhile.
    pub duplicate: i64,
    /// Closed by somebody else before their turn.
    pub gone: i64,
    /// Left as they are: their tenant could not run.
    pub kept: i64,
    /// What the host that works on it waits for.
    pub waits: Option<String>,
    /// When it was asked for, in UTC.
    pub requested_at: String,
    /// By whom.
    pub requested_by: String,
    /// The filter in words.
    pub filter: String,
    /// Whether a host has taken it up.
    pub taken: bool,
    /// Letters that wait by themselves after a try that broke.
    pub waiting: i64,
    /// Those of them for which somebody has to change something.
    pub stopped: i64,
    /// Letters that have no turn before an earlier one of their tenant and key has its result.
    pub behind: i64,
    /// Some of the letters that wait.
    pub which: Vec<WaitingLetter>,
}

/// A letter that waits by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WaitingLetter {
    /// Its id.
    pub letter: String,
    /// Its tenant, where there are tenants.
    pub tenant: Option<String>,
    /// What it waits for.
    pub waits: String,
}

impl std::fmt::Display for WaitingLetter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.tenant {
            Some(tenant) => write!(
                f,
                "letter {} of tenant {tenant}: {}",
                self.letter, self.waits
            ),
            None => write!(f, "letter {}: {}", self.letter, self.waits),
        }
    }
}

impl ReplayProgress {
    /// Letters that had their turn.
    pub fn settled(&self) -> i64 {
        self.resolved + self.rejected + self.duplicate + self.gone + self.kept
    }

    /// Whether nothing goes on before somebody changes something: each letter without a result is stopped, or behind one
    /// that is.
    pub fn is_stopped(&self) -> bool {
        let left = self.letters - self.settled();
        self.status == "open" && self.stopped > 0 && self.stopped + self.behind == left
    }

    /// What it waits for as a whole, or else the first of the letters that wait by themselves.
    pub fn words(&self) -> Option<String> {
        let which = self.which.first().map(ToString::to_string);
        self.waits.clone().or(which)
    }
}

impl Inbox {
    /// What a replay would do with at most `limit` open letters that the filter matches.
    pub async fn plan_replay(
        &self,
        request: &ReplayRequest,
        limit: i64,
    ) -> Result<Vec<Planned>, Failure> {
        let given = Given::from(&request.filter);
        let (rounds, force) = &request.rounds;
        let params = given.with([rounds as SqlParam<'_>, force, &limit]);
        Ok(self
            .read(PLAN, &params)
            .await?
            .iter()
            .map(planned)
            .collect())
    }

    /// Writes a request for all letters that may be replayed and wait in no other; none if there are no such letters.
    pub async fn request_replay(&self, request: &ReplayRequest) -> Result<Option<i64>, Failure> {
        let given = Given::from(&request.filter);
        let mut held = self.service.get(false).await?;
        held.begin().await?;
        let params: [SqlParam<'_>; 3] = [&request.consumer, &request.by, &request.words];
        let rows = held.query(REQUEST, &params).await?;
        let id: i64 = rows.first().map_or(0, |row| row.get(0));
        let (rounds, force) = &request.rounds;
        let params = given.with([&id as SqlParam<'_>, rounds, force]);
        held.query(LETTERS, &params).await?;
        let rows = held.query(COUNTED, &[&id]).await?;
        if rows.first().is_none_or(|row| row.get::<_, i64>(0) == 0) {
            held.roll_back().await;
            return Ok(None);
        }
        held.command("COMMIT").await?;
        held.release();
        Ok(Some(id))
    }

    /// The open requests in which letters of this kind wait.
    pub async fn replays_waiting(&self, filter: &LetterFilter) -> Result<Vec<i64>, Failure> {
        let rows = self.read(WAITING, &Given::from(filter).with([])).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// How far these requests have come.
    pub async fn replays(&self, ids: &[i64]) -> Result<Vec<ReplayProgress>, Failure> {
        let rows = self.read(PROGRESS, &[&ids]).await?;
        let mut all: Vec<ReplayProgress> = rows.iter().map(progress).collect();
        for replay in all.iter_mut().filter(|replay| replay.waiting > 0) {
            let which = self.read(WAITS, &[&replay.id, &NAMED]).await?;
            replay.which = which.iter().map(waiting).collect();
        }
        Ok(all)
    }

    /// Ends an open request; letters that had no turn yet stay as they are. How many those were; none if there is no
    /// such open request.
    pub async fn cancel_replay(&self, id: i64) -> Result<Option<u64>, Failure> {
        let open = self.replays(&[id]).await?;
        if open.first().is_none_or(|replay| replay.status != "open") {
            return Ok(None);
        }
        let rows = Self::write(&self.service, CANCEL, &[&id]).await?;
        Ok(Some(rows.len() as u64))
    }
}

fn planned(row: &Row) -> Planned {
    Planned {
        id: row.get(0),
        record: (row.get(1), row.get(2), row.get(3)),
        code: row.get(4),
        replay_round: row.get(5),
        prospect: Prospect::read(row.get(6)),
    }
}

fn progress(row: &Row) -> ReplayProgress {
    ReplayProgress {
        id: row.get(0),
        consumer: row.get(1),
        status: row.get(2),
        letters: row.get(3),
        resolved: row.get(4),
        rejected: row.get(5),
        duplicate: row.get(6),
        gone: row.get(7),
        kept: row.get(13),
        waits: row.get(8),
        requested_at: row.get(9),
        requested_by: row.get(10),
        filter: row.get(11),
        taken: row.get(12),
        waiting: row.get(14),
        stopped: row.get(15),
        behind: row.get(16),
        which: Vec::new(),
    }
}

fn waiting(row: &Row) -> WaitingLetter {
    WaitingLetter {
        letter: row.get(0),
        tenant: row.get(1),
        waits: row.get::<_, Option<String>>(2).unwrap_or_default(),
    }
}
