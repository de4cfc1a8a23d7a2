//! What a letter's replay ends with: outcome, letter, turn, and the request's row with its proof.

use std::sync::Arc;

use tidegate_core::claim::EventId;
use tidegate_core::failure::Failure;
use tidegate_core::letter::Cause;
use tidegate_core::outcome::Outcome;

use super::super::Transaction;
use super::super::fence::Fence;
use super::super::finish::{Counted, Flight, OUTCOMES, send_outcomes};
use super::super::letters::{SUPERSEDE, send_superseded, stored};
use crate::inbox::SqlParam;
use crate::inbox::connection::send;
use crate::inbox::error::unreachable;
use crate::inbox::replays::FREE_NEXT;
use crate::inbox::value::param::Param;

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

/// A round that is not on the topic yet is kept beside the letter, or its next one would be published in its place. Rounds
/// that are kept already follow the letter's id.
const KEEP_ROUND: &str = r#"
WITH kept AS (UPDATE tidegate.dead_letter_rounds SET letter_id = $2 WHERE letter_id = $1)
INSERT INTO tidegate.dead_letter_rounds AS r (id, letter_id, consumer_name, tenant, topic, partition, "offset",
    replay_round, event_id, kind, code, message, sqlstate, attempts, module_digest, created_at, refusal, unpublishable)
SELECT d.id, $2, d.consumer_name, d.tenant, d.topic, d.partition, d."offset", d.replay_round, d.event_id, d.kind, d.code,
       d.message, d.sqlstate, d.attempts, d.module_digest, d.created_at, d.refusal, d.unpublishable
  FROM tidegate.dead_letters d WHERE d.id = $1 AND d.status = 'open' AND d.published_at IS NULL AND $3::bool
ON CONFLICT (id) DO UPDATE SET letter_id = excluded.letter_id, tenant = excluded.tenant, event_id = excluded.event_id,
    kind = excluded.kind, code = excluded.code, message = excluded.message, sqlstate = excluded.sqlstate, attempts = excluded.attempts,
    module_digest = excluded.module_digest, created_at = excluded.created_at, refusal = excluded.refusal,
    unpublishable = excluded.unpublishable"#;

/// The letter stays open as that of its next round, and is published again.
const REJECT: &str = "
UPDATE tidegate.dead_letters
   SET id = $2, former_ids = former_ids || id, replay_round = replay_round + 1, scope = $3, event_id = $4, code = $5,
       message = $6, sqlstate = $7, attempts = $8, module_digest = $9, created_at = now(), published_at = NULL,
       unpublishable = NULL, refusal = NULL, episode = NULL, tenant = coalesce($10, tenant), kind = $11
 WHERE id = $1 AND status = 'open'";

/// What a letter's replay ends with.
#[derive(Clone, Debug)]
pub struct ReplayEnd {
    /// The claimed event's outcome, if it is not done.
    pub outcomes: Vec<(Arc<str>, EventId, Outcome)>,
    /// The event, if its other open letters are superseded.
    pub superseded: Vec<(Arc<str>, EventId)>,
    /// What becomes of the letter.
    pub result: ReplayResult,
    /// Whether letters are published: then no round is lost that is not yet.
    pub publishes: bool,
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
        /// The tenant, if the record names one today.
        tenant: Option<String>,
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

impl Transaction {
    /// Sends all that a replay ends with in one flight.
    pub(in crate::inbox::transaction) async fn send_replay(
        &mut self,
        end: ReplayEnd,
    ) -> Result<Flight, Failure> {
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
        let next = self.held.host(FREE_NEXT).await?;
        let mut before = self
            .send_letter_end(letter, end.result, end.module_digest, end.publishes)
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
        let of_next = Arc::clone(&client);
        before.push(send(async move {
            of_next.execute(&next, &[&replay, &position]).await
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
        publishes: bool,
    ) -> Result<Vec<Counted>, Failure> {
        let client = Arc::clone(&self.held.client);
        let (id, event, tenant, cause) = match result {
            ReplayResult::Resolved => return self.close(letter, "resolved").await,
            ReplayResult::Duplicate => return self.close(letter, "superseded").await,
            ReplayResult::Rejected {
                id,
                event,
                tenant,
                cause,
            } => (id, event, tenant, cause),
        };
        let kept = self
            .keep_round(letter.clone(), id.clone(), publishes)
            .await?;
        let room = self.held.host(MAKE_ROOM).await?;
        let reject = self.held.host(REJECT).await?;
        let (of_room, made) = (Arc::clone(&client), id.clone());
        let room = send(async move { of_room.execute(&room, &[&made]).await });
        let rejected = send(async move {
            let (code, message, sqlstate) = stored(&cause);
            let (attempts, digest) = (i64::from(cause.attempts), digest.map(|d| d.to_vec()));
            let (scope, event) = event;
            let params: [SqlParam<'_>; 11] = [
                &letter,
                &id,
                &scope,
                &event,
                &code,
                &message,
                &sqlstate,
                &attempts,
                &digest,
                &tenant,
                &cause.kind.as_str(),
            ];
            client.execute(&reject, &params).await
        });
        Ok(vec![room, kept, rejected])
    }

    /// What is not published of the round before stays to be published, under the letter's old id.
    async fn keep_round(
        &mut self,
        old: String,
        new: String,
        publishes: bool,
    ) -> Result<Counted, Failure> {
        let keep = self.held.host(KEEP_ROUND).await?;
        let client = Arc::clone(&self.held.client);
        Ok(send(async move {
            client.execute(&keep, &[&old, &new, &publishes]).await
        }))
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
