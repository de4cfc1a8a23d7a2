//! A letter's replay in a transaction of its own: fence and claim.

mod end;

use tidegate_core::claim::{ClaimRequest, Claimed};
use tidegate_core::control::Digest;
use tidegate_core::failure::Failure;
use tidegate_core::progress::ProgressKey;
use tokio_postgres::{Client, Row, Statement};
use uuid::Uuid;

use super::Transaction;
use super::begin::BEGIN;
use super::claim::{CLAIM_AGAIN, Claims, ModulesOf, answers};
use super::fence::Fence;
use crate::inbox::connection::{Connection, send};
use crate::inbox::error::no_standby;
use crate::inbox::pool::Held;
use crate::inbox::value::param::Param;
use crate::inbox::{Inbox, SqlParam};

pub use end::{ReplayEnd, ReplayResult};

/// The request is this host's and open, the letter's turn has no result yet, and the consumer may handle records.
const FENCE: &str = "
UPDATE tidegate.replays r SET begun = begun + 1
 WHERE r.id = $1 AND r.owner = $2 AND r.status = 'open'
   AND EXISTS (SELECT 1 FROM tidegate.replay_letters l
                WHERE l.replay = r.id AND l.position = $3 AND l.result IS NULL)
   AND NOT EXISTS (SELECT 1 FROM tidegate.consumers c
                    WHERE c.consumer_name = r.consumer_name AND (c.tenants_revision <> $4 OR c.state <> 'running' AND (c.state <> 'braked' OR c.module_digest IS NULL 
            OR c.module_digest = $5 OR $5 = ANY (c.braked_modules))))
RETURNING begun";

/// Behind the claim, as in a batch, so that the two never wait for one another in a ring.
const LOCK: &str =
    "SELECT 1 FROM tidegate.dead_letters WHERE id = $1 AND status = 'open' FOR UPDATE";

/// Why the fence matched no row: the turn's result, and whether the request is still this host's.
const WHY: &str = "
SELECT l.result IS NOT NULL, r.owner IS NOT DISTINCT FROM $2 AND r.status = 'open'
  FROM tidegate.replays r JOIN tidegate.replay_letters l ON l.replay = r.id
 WHERE r.id = $1 AND l.position = $3";

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
    /// What this host knows the tenants by; none where records have no tenants.
    pub tenants_revision: Option<i64>,
    /// The consumer's own module, which a brake may hold back.
    pub module: Digest,
}

/// How beginning a letter's replay went.
#[derive(Debug)]
pub enum ReplayBegun {
    /// The transaction is open, and what the claim came to.
    Open(Box<Transaction>, Option<Claimed>),
    /// The turn has its result: an earlier commit whose answer was lost has landed.
    Landed,
    /// The consumer is paused or braked, or its tenants are not what this host knows.
    Held,
    /// Another host works on the request, or it was cancelled.
    Fenced,
    /// The letter was closed by somebody else.
    Closed,
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
        let mut held = self.batches.get_for(&head.key.consumer, fresh).await?;
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
                let transaction = Transaction::new(held, place, fence, self.gate.clone());
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
    let modules = ModulesOf::All(head.module_digest);
    let made = || Claims::of(place, &claims, &modules).make(client, claim);
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
    let params: [SqlParam<'_>; 5] = [
        &head.turn.0,
        &owner,
        &head.turn.1,
        &head.tenants_revision,
        &head.module.as_slice(),
    ];
    client.query(&fence, &params).await
}
