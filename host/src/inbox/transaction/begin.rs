//! Beginning a batch: one flight of BEGIN, fence and claim.

use std::time::Duration;

use tidegate_core::claim::Claimed;
use tidegate_core::failure::Failure;
use tidegate_core::lanes::lock_key;
use tokio_postgres::{Client, Row, Statement};

use super::claim::{CLAIM, Claims, answers};
use super::fence::Fence;
use super::{BatchHead, Begun, Transaction};
use crate::inbox::connection::{Connection, send};
use crate::inbox::error::no_standby;
use crate::inbox::pool::Held;
use crate::inbox::value::param::Param;
use crate::inbox::{Inbox, SqlParam};

/// Constraints become immediate before the fence arms the seal trigger: a record succeeds or fails as it would
/// alone, and only the seal waits for the end.
pub(super) const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET CONSTRAINTS ALL IMMEDIATE; \
    SET CONSTRAINTS tidegate.progress_seal, tidegate.replay_seal DEFERRED";

const FENCE: &str = "UPDATE tidegate.progress SET begun = begun + 1 \
    WHERE consumer_name = $1 AND topic = $2 AND partition = $3 AND owner = $4 AND next_offset = $5 \
    AND NOT EXISTS (SELECT 1 FROM tidegate.consumers c WHERE c.consumer_name = $1 \
        AND (c.tenants_revision <> $6 OR c.state <> 'running' AND (c.state <> 'braked' OR c.module_digest IS NULL \
            OR c.module_digest = $7 OR $7 = ANY (c.braked_modules)))) \
    RETURNING begun";

const POSITION: &str = "SELECT next_offset FROM tidegate.progress \
    WHERE consumer_name = $1 AND topic = $2 AND partition = $3 AND owner = $4";

/// What the opening flight brought back; no `begun` where the fence matched no row.
struct Opened {
    begun: Option<i64>,
    claimed: Vec<Claimed>,
}

impl Inbox {
    /// Begins a batch. `fresh` asks for a connection opened just now, with empty caches. Errors: no connection, or
    /// the server refused (a lock not had in time, for one); nothing is left open.
    pub async fn begin(&self, head: &BatchHead, fresh: bool) -> Result<Begun, Failure> {
        let mut held = self.batches.get_for(&head.key.consumer, fresh).await?;
        let begin = begin(head, self.settings.lock_timeout);
        match open(&mut held, head, &begin).await {
            Ok(Opened {
                begun: Some(begun),
                claimed,
            }) => {
                let (place, owner) = ((head.key.clone(), head.log_epoch), head.owner);
                let fence = Fence::Partition { owner, begun };
                let mut transaction = Transaction::new(held, place, fence, self.gate.clone());
                if let Some(wait) = shorter(head, self.settings.lock_timeout) {
                    transaction.lock_wait = wait;
                }
                Ok(Begun::Open(Box::new(transaction), claimed))
            }
            Ok(Opened { begun: None, .. }) => outside(held, head).await,
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
async fn outside(mut held: Held, head: &BatchHead) -> Result<Begun, Failure> {
    held.command("ROLLBACK").await?;
    let (key, owner) = (&head.key, Param::uuid(head.owner));
    let topic = key.source.topic.as_ref();
    let rows = held
        .query(
            POSITION,
            &[&key.consumer, &topic, &key.source.partition, &owner],
        )
        .await?;
    held.release();
    Ok(match rows.first().map(|row| row.get::<_, i64>(0)) {
        Some(next) if next == head.expected => Begun::Held,
        Some(next) => Begun::Landed(next),
        None => Begun::Fenced,
    })
}

/// The consumer's own lock comes before the fence, so that who waits for it keeps nobody from taking the partition; it
/// may take as long as the batches of other hosts that are before it.
fn begin(head: &BatchHead, lock_timeout: Duration) -> String {
    let mut begin = BEGIN.to_owned();
    if head.locks.alone {
        let key = lock_key(&head.key.consumer);
        begin.push_str(&format!("; SELECT pg_advisory_xact_lock({key})"));
    }
    if let Some(wait) = shorter(head, lock_timeout) {
        let wait = wait.as_millis();
        begin.push_str(&format!("; SET LOCAL lock_timeout = {wait}"));
    }
    begin
}

/// How long a batch waits for a lock where that is less than what is configured.
fn shorter(head: &BatchHead, lock_timeout: Duration) -> Option<Duration> {
    head.locks.wait.filter(|wait| *wait < lock_timeout)
}

async fn open(
    connection: &mut Connection,
    head: &BatchHead,
    begin: &str,
) -> Result<Opened, Failure> {
    let fence = connection.host(FENCE).await?;
    let claim = connection.host(CLAIM).await?;
    let client = &*connection.client;
    let begin = send(client.batch_execute(begin));
    let fence = send(make_fence(client, fence, head));
    let claim = (!head.claims.is_empty()).then(|| send(claims(head).make(client, claim)));
    connection
        .answer("BEGIN", begin)
        .await
        .map_err(no_standby)?;
    let fenced = connection.answer("the fence", fence).await?;
    let claimed = match claim {
        Some(claim) => connection.answer("the claim", claim).await?,
        None => Vec::new(),
    };
    Ok(Opened {
        begun: fenced.first().map(|row| row.get(0)),
        claimed: answers(&head.claims, &claimed),
    })
}

fn claims(head: &BatchHead) -> Claims<'_> {
    let place = (&head.key, head.log_epoch);
    Claims::of(place, &head.claims, &head.modules)
}

async fn make_fence(
    client: &Client,
    fence: Statement,
    head: &BatchHead,
) -> Result<Vec<Row>, tokio_postgres::Error> {
    let (key, owner) = (&head.key, Param::uuid(head.owner));
    let (topic, partition) = (key.source.topic.as_ref(), key.source.partition);
    let params: [SqlParam<'_>; 7] = [
        &key.consumer,
        &topic,
        &partition,
        &owner,
        &head.expected,
        &head.tenants_revision,
        &head.module.as_slice(),
    ];
    client.query(&fence, &params).await
}
