//! One attempt: some records of a partition, in offset order, in one transaction.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tidegate_core::brake::Trip;
use tidegate_core::claim::{Age, ClaimRequest, Claimed, DuplicateKind, Standing};
use tidegate_core::failure::{Broken, Failure};
use tidegate_core::lanes::Locks;
use tidegate_core::letter::Letter;
use tidegate_core::outcome::Outcome;
use tidegate_core::tenant::BadTenant;
use tidegate_core::text::bounded;

use crate::faults::{self, Point};
use crate::inbox::{BatchHead, Begun, Finish};
use crate::meters::{Tally, Times};
use crate::worker::burden::Burden;
use crate::worker::cast::{Cast, ESCAPED, NoCast, Part, Runner};
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
    /// Nothing was run: the consumer is paused or braked, or its tenants are to be read anew.
    Held,
    /// Nothing was run: another owner has the partition.
    Fenced,
    /// Rolled back: with these records too many of one tenant, or of a consumer without, would be rejected.
    Tripped(Tripped),
    /// Rolled back.
    Broken(Broken),
}

/// Who would have too many records rejected.
#[derive(Debug)]
pub struct Tripped {
    /// Which rule trips.
    pub trip: Trip,
    /// The last of the rejected records, and why.
    pub last: String,
    /// Whose.
    pub runner: Arc<Runner>,
}

/// Tries `batch`, which is not empty, in one transaction: whether on a `fresh` connection, and what it does about locks.
pub async fn attempt(
    shared: &Shared,
    at: &Position,
    batch: &[Pending],
    (fresh, locks): (bool, Locks),
    burden: &mut Burden,
) -> Attempt {
    let cast = match Cast::of(shared, batch) {
        Ok(cast) => cast,
        Err(NoCast::Later) => return Attempt::Held,
        Err(NoCast::Before(offset)) => return Attempt::SplitBefore(offset),
    };
    let copies = Copies::of(batch);
    let asking = copies.asking(batch);
    let head = BatchHead {
        key: shared.key(&batch[0].record.source),
        owner: at.token,
        log_epoch: at.log_epoch,
        expected: at.next,
        modules: cast.modules(&asking),
        claims: asking
            .iter()
            .filter_map(|at| batch[*at].claim.clone())
            .collect(),
        tenants_revision: cast.revision,
        module: cast.consumers_module(shared),
        locks,
    };
    let clock = Instant::now();
    match shared.inbox.begin(&head, fresh).await {
        Ok(Begun::Open(db, claimed)) => {
            faults::at(Point::Begun, batch[batch.len() - 1].offset());
            let claimed = copies.spread(batch, &claimed);
            Box::pin(run(
                shared,
                at,
                Claims {
                    batch,
                    copies,
                    claimed,
                    cast,
                },
                (db, clock.elapsed()),
                burden,
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
    (db, begin_time): (Db, Duration),
    burden: &mut Burden,
) -> Attempt {
    let clock = Instant::now();
    let mut guests = Guests::new(shared, db);
    let (fates, ages) = match fates(&claims, &mut guests, shared.batch_time, burden).await {
        Ok(known) => known,
        Err(end) => {
            guests.into_db().rollback().await;
            return end;
        }
    };
    if let Some(tripped) = tripped(shared, &claims, &fates) {
        guests.into_db().rollback().await;
        return Attempt::Tripped(tripped);
    }
    let guests_time = clock.elapsed();
    let finish = finish(shared, at, &claims, &fates);
    let (next, letters) = (finish.next_offset, finish.letters.len());
    faults::at(Point::GuestsDone, next - 1);
    let tally = tally(at, &claims, &fates, (&finish, ages));
    match guests.into_db().commit(finish).await {
        Ok(commit) => {
            for runner in claims.cast.runners() {
                runner.tenant.conduct.ended(claims.ends_of(runner, &fates));
            }
            if shared.config.tenants.is_some() {
                shared.own.conduct.ended(claims.ends_of_nobody(&fates));
            }
            let commit_time = clock.elapsed() - guests_time;
            let times = Times {
                begin: begin_time,
                guests: guests_time,
                end: commit_time,
                commit,
            };
            shared.meters.committed(&tally, times);
            hold_back_escaped(shared, &claims.cast).await;
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

/// Whose brake committing these would trip, if anybody's.
fn tripped(shared: &Shared, claims: &Claims<'_>, fates: &[Fate]) -> Option<Tripped> {
    let of_runner = claims.cast.runners().iter().find_map(|runner| {
        let trip = runner.tenant.conduct.trips(claims.ends_of(runner, fates))?;
        Some(Tripped {
            trip,
            last: latest(claims, fates, |part| part.is_of(runner)),
            runner: Arc::clone(runner),
        })
    });
    if of_runner.is_some() || shared.config.tenants.is_none() {
        return of_runner;
    }
    let own = &shared.own;
    let trip = own.conduct.trips(claims.ends_of_nobody(fates))?;
    Some(Tripped {
        trip,
        last: latest(claims, fates, |part| matches!(part, Part::Nobody)),
        runner: Arc::new(Runner {
            tenant: Arc::clone(own),
            module: own.module(),
        }),
    })
}

/// The last rejected record of such a part, and why.
fn latest(claims: &Claims<'_>, fates: &[Fate], counts: impl Fn(&Part) -> bool) -> String {
    let records = claims.batch.iter().zip(&claims.cast.parts).zip(fates).rev();
    let mut rejected = records.filter_map(|((pending, part), fate)| match fate {
        Fate::Rejected(cause) if counts(part) => Some((pending, cause)),
        _ => None,
    });
    let Some((pending, cause)) = rejected.next() else {
        return String::new();
    };
    let words = bounded(&cause.message, REASON);
    let (source, offset) = (&pending.record.source, pending.offset());
    format!(
        "the last one, {source} at {offset}, with code `{}`: {words}",
        cause.code
    )
}

/// A tenant whose module tried to leave its transaction is braked once the record's letter is safe.
async fn hold_back_escaped(shared: &Shared, cast: &Cast) {
    for runner in cast.runners() {
        let tenant = &runner.tenant;
        if tenant.name.is_some() && tenant.is_quarantined(&runner.module) {
            shared.hold_back(tenant, &runner.module, ESCAPED).await;
        }
    }
}

/// What the batch is counted as, once it is known to be committed.
fn tally(
    at: &Position,
    claims: &Claims<'_>,
    fates: &[Fate],
    (finish, ages): (&Finish, Vec<f64>),
) -> Tally {
    let batch = claims.batch;
    let cause = |(_, letter): &(String, Letter)| (letter.cause.kind, letter.cause.code.clone());
    Tally {
        source: batch[0].record.source.clone(),
        token: at.token,
        next: finish.next_offset,
        records: batch.len(),
        counts: finish.counts,
        causes: finish.letters.iter().map(cause).collect(),
        tenants: claims.by_tenant(fates),
        ages,
        fetched: batch[0].fetched,
    }
}

/// What the records came to; and of each duplicate how old the claim was that it met, as a share of its life.
async fn fates(
    claims: &Claims<'_>,
    guests: &mut Guests<'_>,
    patience: Duration,
    burden: &mut Burden,
) -> Result<(Vec<Fate>, Vec<f64>), Attempt> {
    let known = known_duplicates(claims, guests).await?;
    let ages = known.iter().flatten().filter_map(|known| known.age);
    let mut ages: Vec<f64> = ages.map(Age::share).collect();
    let until = Instant::now() + patience;
    let mut fates: Vec<Option<Fate>> = claims.batch.iter().map(|_| None).collect();
    for (nth, index) in claims.cast.order().into_iter().enumerate() {
        let pending = &claims.batch[index];
        // What is put aside takes no time.
        if nth > 0 && Instant::now() > until && !burden.holds(pending) {
            return Err(Attempt::TooLong);
        }
        let fate = match (claims.copies.first[index], claims.claimed[index]) {
            // A copy is of its first one's tenant, so that has run.
            (Some(first), _) => match (&fates[first], &known[first]) {
                // The first copy's outcome does not stand as handled: this copy may be the corrected one.
                (Some(Fate::Rejected(_)), _) | (_, Some(Standing { rejected: true, .. })) => {
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
            (None, _) => {
                let part = &claims.cast.parts[index];
                let fate = own_fate(pending, part, guests, burden).await;
                fate.map_err(Attempt::Broken)?
            }
        };
        fates[index] = Some(fate);
    }
    Ok((fates.into_iter().flatten().collect(), ages))
}

async fn own_fate(
    pending: &Pending,
    part: &Part,
    guests: &mut Guests<'_>,
    burden: &mut Burden,
) -> Result<Fate, Broken> {
    if let Some(cause) = &pending.decided {
        return Ok(Fate::Rejected(cause.clone()));
    }
    match part {
        Part::Run(runner) => {
            if burden.holds(pending)
                && let Some(cause) = Burden::cause(pending)
            {
                return Ok(Fate::Rejected(cause));
            }
            let began = Instant::now();
            let ran = guests.run(runner, pending).await;
            burden.ran(pending.tenant.as_ref(), began.elapsed());
            Ok(match ran? {
                Ran::As(outcome) => Fate::Handled(outcome),
                Ran::Rejected(cause) => Fate::Rejected(cause),
            })
        }
        Part::PutAside(cause) => Ok(Fate::Rejected(cause.clone())),
        Part::PassOver => Ok(Fate::Handled(Outcome::Skipped)),
        Part::Stop(message) => Err(Broken {
            offset: Some(pending.offset()),
            failure: Failure::NoTenant {
                message: message.clone(),
            },
        }),
        Part::Nobody => Ok(Fate::Rejected(BadTenant::NoName.into())),
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
