//! A letter's replay in a transaction of its own: fence, claim, and what it ends with.

use std::sync::Arc;

use tidegate_core::claim::{ClaimRequest, Claimed, EventId};
use tidegate_core::failure::Failure;
use tidegate_core::letter::Cause;
use tidegate_core::outcome::Outcome;
use tidegate_core::progress::ProgressKey;
use tokio_postgres::{Client, Row, Statement};
use uuid::Uuid;

use super::Transaction;
use super::begin::BEGIN;
use super::claim::{CLAIM_AGAIN, Claims, answers};
use super::fence::Fence;
use super::finish::{Counted, Flight, OUTCOMES, send_outcomes};
use super::letters::{SUPERSEDE, send_superseded, stored};
use crate::inbox::connection::{Connection, send};
use crate::inbox::error::{no_standby, unreachable};
use crate::inbox::pool::Held;
use crate::inbox::value::param::Param;
use crate::inbox::{Inbox, SqlParam};

/// The request is this host's and open, the letter's turn has no result yet, and the consumer may handle records.
const FENCE: &str = "
UPDATE tidegate.replays r SET begun = begun + 1
 WHERE r.id = $1 AND r.owner = $2 AND r.status = 'open'
   AND EXISTS (SELECT 1 FROM tidegate.replay_letters l
                WHERE l.replay = r.id AND l.position = $3 AND l.result IS NULL)
   AND NOT EXISTS (SELECT 1 FROM tidegate.consumers c
                    WHERE c.consumer_name = r.consumer_name AND c.state <> 'running')
RETURNING begun";

/// Behind the claim, as in a batch, so that the two never wait for one another in a ring.
const LOCK: &str =
    "SELECT 1 FROM tidegate.dead_letters WHERE id = $1 AND status = 'open' FOR UPDATE";

/// Why the fence matched no row: the turn's result, and whether the request is still this host's.
const WHY: &str = "
SELECT l.result IS NOT NULL, r.owner IS NOT DISTINCT FROM $2 AND r.status = 'open'
  FROM tidegate.replays r JOIN tidegate.replay_letters l ON l.replay = r.id
 WHERE r.id = $1 AND l.position = $3";

/// The final update, true only inside the transaction that the fence began.
const SEAL: &str = "
UPDATE tidegate.replays
   SET sealed = begun, resolved = resolved + $4, rejected = rejected + $5, duplicate = duplicate + $6, waits = NULL
 WHERE id = $1 AND owner = $2 AND begun = $3 AND xmin = pg_current_xact_id()::xid";

const TURN: &str = "
UPDATE tidegate.replay_letters SET result = $3 WHERE replay = $1 AND position = $2 AND result IS NULL";

const CLOSE: &str = "UPDATE tidegate.dead_letters SET status = $2, closed_at = now() WHERE id = $1 AND status = 'open'";

/// A closed letter of the same record and round makes room.
const MAKE_ROOM: &str = "DELETE FROM tidegate.dead_letters WHERE id = $1 AND status <> 'open'";

/// The letter stays open as that of its next round, and is published again.
const REJECT: &str = "
UPDATE tidegate.dead_letters
   SET id = $2, former_ids = former_ids || id, replay_round = replay_round + 1, scope = $3, event_id = $4, code = $5,
       message = $6, sqlstate = $7, attempts = $8, module_digest = $9, created_at = now(), published_at = NULL,
       unpublishable = NULL, episode = NULL
 WHERE id = $1 AND status = 'open'";

/// What a letter's replay begins with.
#[derive(Clone, Debug)]
pub struct ReplayHead {
    /// The consumer, and the partition that the record came from.
    pub key: ProgressKey,
    /// The log's epoch there, by the letter.
    pub log_epoch: i32,
    /// The request, and the letter's place in it.
    pub turn: (i64, i64),
    /// This process, which works on the request.
    pub owner: Uuid,
    /// The letter's id.
    pub letter: String,
    /// The event's claim, if the record has a good id.
    pub claim: Option<ClaimRequest>,
    /// The handler module, sha256 of its bytes.
    pub module_digest: Option<[u8; 32]>,
}

/// How beginning a letter's replay went.
#[derive(Debug)]
pub enum ReplayBegun {
    /// The transaction is open, and what the claim came to.
    Open(Box<Transaction>, Option<Claimed>),
    /// The turn has its result: an earlier commit whose answer was lost has landed.
    Landed,
    /// The consumer is paused or braked.
    Held,
    /// Another host works on the request, or it was cancelled.
    Fenced,
    /// The letter was closed by somebody else.
    Closed,
}

/// What a letter's replay ends with.
#[derive(Clone, Debug)]
pub struct ReplayEnd {
    /// The claimed event's outcome, if it is not done.
    pub outcomes: Vec<(Arc<str>, EventId, Outcome)>,
    /// The event, if its other open letters are superseded.
    pub superseded: Vec<(Arc<str>, EventId)>,
    /// What becomes of the letter.
    pub result: ReplayResult,
    /// The handler module.
    pub module_digest: Option<[u8; 32]>,
}

/// What becomes of a replayed letter.
#[derive(Clone, Debug)]
pub enum ReplayResult {
    /// Handled: the letter is resolved.
    Resolved,
    /// Its event had been handled meanwhile: the letter is superseded.
    Duplicate,
    /// Rejected again: the letter stays open under its next round's id.
    Rejected {
        /// That id.
        id: String,
        /// The event's scope and id, as they are found today.
        event: (String, Option<String>),
        /// The new cause.
        cause: Cause,
    },
}

impl ReplayResult {
    /// The word in the turn's row.
    pub fn as_str(&self) -> &'static str {
        match self {
            ReplayResult::Resolved => "resolved",
            ReplayResult::Duplicate => "duplicate",
            ReplayResult::Rejected { .. } => "rejected",
        }
    }
}

struct Opened {
    begun: Option<i64>,
    claimed: Option<Claimed>,
    is_open: bool,
}

impl Inbox {
    /// Begins a letter's replay. `fresh` asks for a connection opened just now. Errors: as those of a batch.
    pub async fn begin_replay(
        &self,
        head: &ReplayHead,
        fresh: bool,
    ) -> Result<ReplayBegun, Failure> {
        let mut held = self.batches.get(fresh).await?;
        match open(&mut held, head).await {
            Ok(Opened { begun: None, .. }) => outside(held, head).await,
            Ok(Opened { is_open: false, .. }) => {
                held.roll_back().await;
                Ok(ReplayBegun::Closed)
            }
            Ok(Opened {
                begun: Some(begun),
                claimed,
                ..
            }) => {
                let fence = Fence::Replay {
                    owner: head.owner,
                    begun,
                    replay: head.turn.0,
                    position: head.turn.1,
                    letter: head.letter.clone(),
                };
                let place = (head.key.clone(), head.log_epoch);
                let transaction = Transaction::new(held, place, fence, self.wall);
                Ok(ReplayBegun::Open(Box::new(transaction), claimed))
            }
            Err(failure) => {
                if matches!(failure, Failure::Sql { .. }) {
                    held.roll_back().await;
                }
                Err(failure)
            }
        }
    }
}

/// The fence matched no row: why?
async fn outside(mut held: Held, head: &ReplayHead) -> Result<ReplayBegun, Failure> {
    held.command("ROLLBACK").await?;
    let owner = Param::uuid(head.owner);
    let rows = held
        .query(WHY, &[&head.turn.0, &owner, &head.turn.1])
        .await?;
    held.release();
    let why = rows.first().map(|row| (row.get(0), row.get(1)));
    Ok(match why {
        Some((true, _)) => ReplayBegun::Landed,
        Some((false, true)) => ReplayBegun::Held,
        Some((false, false)) | None => ReplayBegun::Fenced,
    })
}

/// One flight of BEGIN, fence, claim and the letter's lock.
async fn open(connection: &mut Connection, head: &ReplayHead) -> Result<Opened, Failure> {
    let (fence, claim) = (
        connection.host(FENCE).await?,
        connection.host(CLAIM_AGAIN).await?,
    );
    let lock = connection.host(LOCK).await?;
    let claims: Vec<ClaimRequest> = head.claim.iter().cloned().collect();
    let client = &*connection.client;
    let begin = send(client.batch_execute(BEGIN));
    let fence = send(make_fence(client, fence, head));
    let place = (&head.key, head.log_epoch);
    let made = || Claims::of(place, &claims, head.module_digest.as_ref()).make(client, claim);
    let claim = (!claims.is_empty()).then(|| send(made()));
    let params: [SqlParam<'_>; 1] = [&head.letter];
    let locked = send(client.query(&lock, &params));
    connection
        .answer("BEGIN", begin)
        .await
        .map_err(no_standby)?;
    let fenced = connection.answer("the fence", fence).await?;
    let claimed = match claim {
        Some(claim) => connection.answer("the claim", claim).await?,
        None => Vec::new(),
    };
    let locked = connection.answer("the letter's lock", locked).await?;
    Ok(Opened {
        begun: fenced.first().map(|row| row.get(0)),
        claimed: answers(&claims, &claimed).first().copied(),
        is_open: !locked.is_empty(),
    })
}

async fn make_fence(
    client: &Client,
    fence: Statement,
    head: &ReplayHead,
) -> Result<Vec<Row>, tokio_postgres::Error> {
    let owner = Param::uuid(head.owner);
    let params: [SqlParam<'_>; 3] = [&head.turn.0, &owner, &head.turn.1];
    client.query(&fence, &params).await
}

impl Transaction {
    /// Sends all that a replay ends with in one flight.
    pub(super) async fn send_replay(&mut self, end: ReplayEnd) -> Result<Flight, Failure> {
        let Fence::Replay {
            owner,
            begun,
            replay,
            position,
            letter,
        } = self.fence.clone()
        else {
            let words = "a replay's end was given to a batch's transaction";
            return Err(unreachable(words.to_owned()));
        };
        let (client, consumer) = (Arc::clone(&self.held.client), self.key.consumer.clone());
        let result = end.result.as_str();
        let counts = ["resolved", "rejected", "duplicate"].map(|word| i64::from(word == result));
        let (turn, seal) = (self.held.host(TURN).await?, self.held.host(SEAL).await?);
        let mut before = self
            .send_letter_end(letter, end.result, end.module_digest)
            .await?;
        if !end.outcomes.is_empty() {
            let statement = self.held.host(OUTCOMES).await?;
            let (client, consumer) = (Arc::clone(&client), consumer.clone());
            before.push(send_outcomes(client, statement, consumer, &end.outcomes));
        }
        if !end.superseded.is_empty() {
            let statement = self.held.host(SUPERSEDE).await?;
            let client = Arc::clone(&client);
            before.push(send_superseded(
                client,
                statement,
                consumer,
                &end.superseded,
            ));
        }
        let of_turn = Arc::clone(&client);
        before.push(send(async move {
            of_turn.execute(&turn, &[&replay, &position, &result]).await
        }));
        let seal = send(async move {
            let owner = Param::uuid(owner);
            let [resolved, rejected, duplicate] = &counts;
            let params: [SqlParam<'_>; 6] =
                [&replay, &owner, &begun, resolved, rejected, duplicate];
            client.execute(&seal, &params).await
        });
        Ok(Flight { before, seal })
    }

    /// What becomes of the letter, before any other letter of its event is superseded.
    async fn send_letter_end(
        &mut self,
        letter: String,
        result: ReplayResult,
        digest: Option<[u8; 32]>,
    ) -> Result<Vec<Counted>, Failure> {
        let client = Arc::clone(&self.held.client);
        let (id, event, cause) = match result {
            ReplayResult::Resolved => return self.close(letter, "resolved").await,
            ReplayResult::Duplicate => return self.close(letter, "superseded").await,
            ReplayResult::Rejected { id, event, cause } => (id, event, cause),
        };
        let room = self.held.host(MAKE_ROOM).await?;
        let reject = self.held.host(REJECT).await?;
        let (of_room, made) = (Arc::clone(&client), id.clone());
        let room = send(async move { of_room.execute(&room, &[&made]).await });
        let rejected = send(async move {
            let (code, message, sqlstate) = stored(&cause);
            let (attempts, digest) = (i64::from(cause.attempts), digest.map(|d| d.to_vec()));
            let (scope, event) = event;
            let params: [SqlParam<'_>; 9] = [
                &letter, &id, &scope, &event, &code, &message, &sqlstate, &attempts, &digest,
            ];
            client.execute(&reject, &params).await
        });
        Ok(vec![room, rejected])
    }

    async fn close(
        &mut self,
        letter: String,
        status: &'static str,
    ) -> Result<Vec<Counted>, Failure> {
        let close = self.held.host(CLOSE).await?;
        let client = Arc::clone(&self.held.client);
        Ok(vec![send(async move {
            client.execute(&close, &[&letter, &status]).await
        })])
    }
}
