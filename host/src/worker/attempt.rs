//! One attempt: some records of a partition, in offset order, in one transaction.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tidegate_core::brake::Trip;
use tidegate_core::claim::{Age, ClaimRequest, Claimed, DuplicateKind, Standing};
use tidegate_core::failure::{Broken, Failure};
use tidegate_core::lanes::Locks;
use tidegate_core::letter::Letter;
use tidegate_core::text::bounded;

use crate::engine::Module;
use crate::faults::{self, Point};
use crate::inbox::{BatchHead, Begun, Finish};
use crate::meters::{Tally, Times};
use crate::worker::claims::{Claims, Copies, Fate};
use crate::worker::finish::finish;
use crate::worker::guests::{Guests, Ran};
use crate::worker::pending::Pending;
use crate::worker::position::Position;
use crate::worker::shared::{Db, Shared};

/// The most bytes of a cause that a brake's reason repeats.
const REASON: usize = 200;

/// How an attempt ended.
#[derive(Debug)]
pub enum Attempt {
    /// PostgreSQL committed; the number of dead letters in it.
    Committed {
        /// N after it.
        next: i64,
        /// Dead letters written.
        letters: usize,
    },
    /// Rolled back: this record must come in a later transaction than what precedes it.
    SplitBefore(i64),
    /// Rolled back: the batch ran for longer than the server lets a transaction stand.
    TooLong,
    /// Nothing was run: an earlier commit, whose answer was lost, had landed. N is this.
    Landed(i64),
    /// Nothing was run: the consumer is paused or braked.
    Held,
    /// Nothing was run: another owner has the partition.
    Fenced,
    /// Rolled back: with these records too many would be rejected; the last of them, and why.
    Tripped(Trip, String),
    /// Rolled back.
    Broken(Broken),
}

/// Tries `batch`, which is not empty, in one transaction: whether on a `fresh` connection, and what it does about locks.
pub async fn attempt(
    shared: &Shared,
    at: &Position,
    batch: &[Pending],
    (fresh, locks): (bool, Locks),
) -> Attempt {
    let module = shared.module();
    let copies = Copies::of(batch);
    let head = BatchHead {
        key: shared.key(&batch[0].record.source),
        owner: at.token,
        log_epoch: at.log_epoch,
        expected: at.next,
        claims: copies.claims(batch),
        module_digest: Some(module.digest()),
        locks,
    };
    let clock = Instant::now();
    match shared.inbox.begin(&head, fresh).await {
        Ok(Begun::Open(mut db, claimed)) => {
            db.run_by(shared.guest(&module));
            faults::at(Point::Begun, batch[batch.len() - 1].offset());
            let claimed = copies.spread(batch, &claimed);
            Box::pin(run(
                shared,
                at,
                Claims {
                    batch,
                    copies,
                    claimed,
                },
                (module, db, clock.elapsed()),
            ))
            .await
        }
        Ok(Begun::Landed(next)) => {
            let source = &batch[0].record.source;
            shared.meters.landed(source, at.token, next);
            Attempt::Landed(next)
        }
        Ok(Begun::Held) => Attempt::Held,
        Ok(Begun::Fenced) => Attempt::Fenced,
        Err(failure) => Attempt::Broken(failure.into()),
    }
}

async fn run(
    shared: &Shared,
    at: &Position,
    claims: Claims<'_>,
    (module, db, begin_time): (Arc<Module<Db>>, Db, Duration),
) -> Attempt {
    let (clock, digest) = (Instant::now(), module.digest());
    let mut guests = Guests::new(shared, module, db);
    let (fates, ages) = match fates(&claims, &mut guests, shared.batch_time).await {
        Ok(known) => known,
        Err(end) => {
            guests.into_db().rollback().await;
            return end;
        }
    };
    if let Some(trip) = shared.trips(fates.iter().map(Fate::ended)) {
        guests.into_db().rollback().await;
        return Attempt::Tripped(trip, latest(claims.batch, &fates));
    }
    let guests_time = clock.elapsed();
    let finish = finish(shared, at, &claims, (&fates, digest));
    let (next, letters) = (finish.next_offset, finish.letters.len());
    faults::at(Point::GuestsDone, next - 1);
    let tally = tally(at, claims.batch, &finish, ages);
    match guests.into_db().commit(finish).await {
        Ok(commit) => {
            shared.ended(fates.iter().map(Fate::ended));
            let commit_time = clock.elapsed() - guests_time;
            let times = Times {
                begin: begin_time,
                guests: guests_time,
                end: commit_time,
                commit,
            };
            shared.meters.committed(&tally, times);
            tracing::debug!(consumer = %shared.name, next, records = fates.len(), ?begin_time, ?guests_time, ?commit_time, "batch committed");
            Attempt::Committed { next, letters }
        }
        Err(broken) => {
            if matches!(broken.failure, Failure::CommitUnknown { .. }) {
                shared.meters.unanswered(tally);
            }
            Attempt::Broken(broken)
        }
    }
}

/// The last rejected record, and why.
fn latest(batch: &[Pending], fates: &[Fate]) -> String {
    let rejected = batch.iter().zip(fates).rev().find_map(|(pending, fate)| {
        let Fate::Rejected(cause) = fate else {
            return None;
        };
        let words = bounded(&cause.message, REASON);
        let (source, offset) = (&pending.record.source, pending.offset());
        Some(format!(
            "the last one, {source} at {offset}, with code `{}`: {words}",
            cause.code
        ))
    });
    rejected.unwrap_or_default()
}

/// What the batch is counted as, once it is known to be committed.
fn tally(at: &Position, batch: &[Pending], finish: &Finish, ages: Vec<f64>) -> Tally {
    let code = |(_, letter): &(String, Letter)| letter.cause.code.clone();
    Tally {
        source: batch[0].record.source.clone(),
        token: at.token,
        next: finish.next_offset,
        records: batch.len(),
        counts: finish.counts,
        codes: finish.letters.iter().map(code).collect(),
        ages,
        fetched: batch[0].fetched,
    }
}

/// What the records came to; and of each duplicate how old the claim was that it met, as a share of its life.
async fn fates(
    claims: &Claims<'_>,
    guests: &mut Guests<'_>,
    patience: Duration,
) -> Result<(Vec<Fate>, Vec<f64>), Attempt> {
    let known = known_duplicates(claims, guests).await?;
    let ages = known.iter().flatten().filter_map(|known| known.age);
    let mut ages: Vec<f64> = ages.map(Age::share).collect();
    let until = Instant::now() + patience;
    let mut fates: Vec<Fate> = Vec::with_capacity(claims.batch.len());
    for (index, pending) in claims.batch.iter().enumerate() {
        if index > 0 && Instant::now() > until {
            return Err(Attempt::TooLong);
        }
        let fate = match (claims.copies.first[index], claims.claimed[index]) {
            (Some(first), _) => match (&fates[first], &known[first]) {
                // The first copy's outcome does not stand as handled: this copy may be the corrected one.
                (Fate::Rejected(_), _) | (_, Some(Standing { rejected: true, .. })) => {
                    return Err(Attempt::SplitBefore(pending.offset()));
                }
                _ => {
                    ages.push(0.0);
                    Fate::Duplicate(DuplicateKind::Republish)
                }
            },
            (None, Some(Claimed::Duplicate)) => {
                Fate::Duplicate(known[index].map_or(DuplicateKind::Republish, |known| known.kind))
            }
            (None, _) => own_fate(pending, guests).await.map_err(Attempt::Broken)?,
        };
        fates.push(fate);
    }
    Ok((fates, ages))
}

async fn own_fate(pending: &Pending, guests: &mut Guests<'_>) -> Result<Fate, Broken> {
    match &pending.decided {
        Some(cause) => Ok(Fate::Rejected(cause.clone())),
        None => Ok(match guests.run(pending).await? {
            Ran::As(outcome) => Fate::Handled(outcome),
            Ran::Rejected(cause) => Fate::Rejected(cause),
        }),
    }
}

async fn known_duplicates(
    claims: &Claims<'_>,
    guests: &mut Guests<'_>,
) -> Result<Vec<Option<Standing>>, Attempt> {
    let mut known = vec![None; claims.batch.len()];
    let indices: Vec<usize> = (0..known.len())
        .filter(|i| claims.claimed[*i] == Some(Claimed::Duplicate))
        .collect();
    if indices.is_empty() {
        return Ok(known);
    }
    let asked: Vec<&ClaimRequest> = indices
        .iter()
        .filter_map(|i| claims.batch[*i].claim.as_ref())
        .collect();
    let answers = guests
        .db()
        .standing(&asked)
        .await
        .map_err(Attempt::Broken)?;
    for (index, answer) in indices.into_iter().zip(answers) {
        known[index] = Some(answer);
    }
    Ok(known)
}
