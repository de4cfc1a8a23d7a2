//! A batch's claims: which records ask for one, which are copies, and what each came to.

use tidegate_core::batch::first_copies_among;
use tidegate_core::brake::Ended;
use tidegate_core::claim::{ClaimRequest, Claimed, DuplicateKind};
use tidegate_core::letter::Cause;
use tidegate_core::outcome::Outcome;

use crate::worker::pending::Pending;

/// Which records of a batch are later copies of an event that an earlier one carries.
pub(super) struct Copies {
    /// For each record the index of the first copy, if it is a later one.
    pub(super) first: Vec<Option<usize>>,
}

impl Copies {
    pub(super) fn of(batch: &[Pending]) -> Self {
        let claims = batch.iter().map(|p| p.claim.as_ref());
        let ids = claims.map(|claim| claim.map(|c| (&c.scope, &c.event_id)));
        Self {
            first: first_copies_among(ids),
        }
    }

    fn asks(&self, batch: &[Pending], index: usize) -> bool {
        self.first[index].is_none() && batch[index].claim.is_some()
    }

    /// What the batch asks of the inbox: each event once.
    pub(super) fn claims(&self, batch: &[Pending]) -> Vec<ClaimRequest> {
        let asking = (0..batch.len()).filter(|i| self.asks(batch, *i));
        asking.filter_map(|i| batch[i].claim.clone()).collect()
    }

    /// The inbox's answers, at the records that asked.
    pub(super) fn spread(&self, batch: &[Pending], answers: &[Claimed]) -> Vec<Option<Claimed>> {
        let mut answers = answers.iter().copied();
        (0..batch.len())
            .map(|i| {
                if self.asks(batch, i) {
                    answers.next()
                } else {
                    None
                }
            })
            .collect()
    }
}

/// A batch, and what became of its claims.
pub(super) struct Claims<'a> {
    pub(super) batch: &'a [Pending],
    pub(super) copies: Copies,
    pub(super) claimed: Vec<Option<Claimed>>,
}

/// What a record came to in an attempt.
pub(super) enum Fate {
    Handled(Outcome),
    Duplicate(DuplicateKind),
    Rejected(Cause),
}

impl Fate {
    /// What the brake sees of it.
    pub(super) fn ended(&self) -> Ended {
        match self {
            Fate::Handled(_) | Fate::Duplicate(_) => Ended::Well,
            Fate::Rejected(cause) if cause.is_trap() => Ended::Trapped,
            Fate::Rejected(_) => Ended::Rejected,
        }
    }
}
