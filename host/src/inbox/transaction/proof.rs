//! The batch's last update, which proves that the transaction is the one that the fence began.

use std::sync::Arc;

use tidegate_core::failure::Failure;
use tidegate_core::progress::{LastRecord, ProgressKey};
use tokio_postgres::{Client, Statement};
use uuid::Uuid;

use super::finish::Counted;
use super::{Finish, Transaction};
use crate::inbox::SqlParam;
use crate::inbox::connection::send;
use crate::inbox::value::param::Param;

/// The final update. It touches its row only inside the very transaction that the fence began: the row's version
/// is then the fence's, whose creator is the running transaction. It unties the seal in the same stroke.
pub(super) const SEAL: &str = "
UPDATE tidegate.progress
   SET sealed = begun, next_offset = $6, committed = coalesce($7, committed),
       last_offset = coalesce($8, last_offset),
       last_timestamp_ms = CASE WHEN $8::bigint IS NULL THEN last_timestamp_ms ELSE $9 END,
       last_event_id = CASE WHEN $8::bigint IS NULL THEN last_event_id ELSE $10 END,
       digest_offset = coalesce($8, digest_offset),
       last_digest = CASE WHEN $8::bigint IS NULL THEN last_digest ELSE $17 END,
       done = done + $11, skipped = skipped + $12, rejected = rejected + $13, redelivered = redelivered + $14,
       republished = republished + $15, taken_over = taken_over + $16, updated_at = now()
 WHERE consumer_name = $1 AND topic = $2 AND partition = $3 AND owner = $4 AND begun = $5
   AND xmin = pg_current_xact_id()::xid";

/// The final update's parameters.
pub(super) struct Proof {
    key: ProgressKey,
    owner: Uuid,
    begun: i64,
    next_offset: i64,
    committed: Option<i64>,
    last: Option<LastRecord>,
    counts: [i64; 6],
}

impl Proof {
    pub(super) fn of(transaction: &Transaction, finish: &Finish) -> Result<Self, Failure> {
        let c = finish.counts;
        let (owner, begun) = transaction.fence.partition()?;
        Ok(Self {
            key: transaction.key.clone(),
            owner,
            begun,
            next_offset: finish.next_offset,
            committed: finish.committed,
            last: finish.last.clone(),
            counts: [
                c.done,
                c.skipped,
                c.rejected,
                c.redelivered,
                c.republished,
                c.taken_over,
            ],
        })
    }

    pub(super) fn send(self, client: Arc<Client>, statement: Statement) -> Counted {
        send(async move {
            let (topic, partition) = (self.key.source.topic.as_ref(), self.key.source.partition);
            let owner = Param::uuid(self.owner);
            let last_offset = self.last.as_ref().map(|l| l.offset);
            let last_timestamp = self.last.as_ref().and_then(|l| l.timestamp_ms);
            let last_id = self.last.as_ref().and_then(|l| l.event_id.as_deref());
            let last_digest = self.last.as_ref().and_then(|l| l.digest);
            let last_digest = last_digest.as_ref().map(<[u8; 16]>::as_slice);
            let [
                done,
                skipped,
                rejected,
                redelivered,
                republished,
                taken_over,
            ] = &self.counts;
            let params: [SqlParam<'_>; 17] = [
                &self.key.consumer,
                &topic,
                &partition,
                &owner,
                &self.begun,
                &self.next_offset,
                &self.committed,
                &last_offset,
                &last_timestamp,
                &last_id,
                done,
                skipped,
                rejected,
                redelivered,
                republished,
                taken_over,
                &last_digest,
            ];
            client.execute(&statement, &params).await
        })
    }
}
