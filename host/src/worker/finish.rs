//! What a batch is committed with: the new position, counters, outcomes, dead letters.

use tidegate_core::claim::{Claimed, DuplicateKind};
use tidegate_core::letter::{Cause, Letter, letter_id};
use tidegate_core::outcome::Outcome;
use tidegate_core::progress::Counts;

use crate::inbox::Finish;
use crate::worker::claims::{Claims, Fate};
use crate::worker::pending::Pending;
use crate::worker::position::Position;
use crate::worker::shared::Shared;

/// What the batch that came to `fates` is committed with.
pub(super) fn finish(
    shared: &Shared,
    at: &Position,
    claims: &Claims<'_>,
    fates: &[Fate],
) -> Finish {
    let last = &claims.batch[claims.batch.len() - 1];
    let mut finish = Finish {
        next_offset: last.offset() + 1,
        committed: at.committed,
        last: Some(last.last_record()),
        cluster_id: at.cluster_id.to_string(),
        counts: Counts::default(),
        outcomes: Vec::new(),
        letters: Vec::new(),
        superseded: Vec::new(),
    };
    for (index, fate) in fates.iter().enumerate() {
        let pending = &claims.batch[index];
        count(&mut finish, fate, claims.claimed[index]);
        if let (Fate::Handled(_), Some(Claimed::Supersedes), Some(claim)) =
            (fate, claims.claimed[index], &pending.claim)
        {
            finish
                .superseded
                .push((claim.scope.clone(), claim.event_id.clone()));
        }
        if let (Some(claim), Some(outcome)) = (&pending.claim, other_than_done(fate)) {
            finish
                .outcomes
                .push((claim.scope.clone(), claim.event_id.clone(), outcome));
        }
        if let Fate::Rejected(cause) = fate {
            let digest = claims.cast.digest(index);
            let letter = letter(shared, at, (pending, digest), cause);
            finish.letters.push(letter);
        }
    }
    finish
}

fn count(finish: &mut Finish, fate: &Fate, claimed: Option<Claimed>) {
    let counts = &mut finish.counts;
    match fate {
        Fate::Handled(Outcome::Skipped) => counts.skipped += 1,
        Fate::Handled(_) => counts.done += 1,
        Fate::Duplicate(DuplicateKind::Redelivery) => counts.redelivered += 1,
        Fate::Duplicate(DuplicateKind::Republish) => counts.republished += 1,
        Fate::Rejected(_) => counts.rejected += 1,
    }
    counts.taken_over += i64::from(claimed == Some(Claimed::TakenOver));
}

fn other_than_done(fate: &Fate) -> Option<Outcome> {
    match fate {
        Fate::Handled(Outcome::Done) | Fate::Duplicate(_) => None,
        Fate::Handled(outcome) => Some(*outcome),
        Fate::Rejected(_) => Some(Outcome::Rejected),
    }
}

fn letter(
    shared: &Shared,
    at: &Position,
    (pending, module_digest): (&Pending, Option<[u8; 32]>),
    cause: &Cause,
) -> (String, Letter) {
    let source = &pending.record.source;
    let log = (&*at.cluster_id, at.log_epoch);
    let id = letter_id(&shared.name, log, source, pending.offset(), 0);
    let letter = Letter {
        record: pending.record.clone(),
        scope: pending.scope().to_owned(),
        event_id: pending.known_id(),
        tenant: pending.tenant(),
        module_digest,
        cause: shared.config.letters.kept(cause.clone()),
    };
    (id, letter)
}
