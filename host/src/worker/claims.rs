//! A batch's claims: which records ask for one, which are copies, and what each came to.

use std::sync::Arc;

use tidegate_core::batch::first_copies_among;
use tidegate_core::brake::Ended;
use tidegate_core::claim::{Claimed, DuplicateKind};
use tidegate_core::letter::Cause;
use tidegate_core::outcome::Outcome;

use crate::meters::TenantCounts;
use crate::worker::cast::{Cast, Part, Runner};
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

    /// The records that ask the inbox: each event once.
    pub(super) fn asking(&self, batch: &[Pending]) -> Vec<usize> {
        (0..batch.len()).filter(|i| self.asks(batch, *i)).collect()
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
    pub(super) cast: Cast,
}

impl Claims<'_> {
    /// What the brake sees of a runner's records.
    pub(super) fn ends_of<'a>(
        &'a self,
        runner: &'a Arc<Runner>,
        fates: &'a [Fate],
    ) -> impl Iterator<Item = Ended> + 'a {
        let records = self.cast.parts.iter().zip(fates);
        let own = records.filter(move |(part, _)| part.is_of(runner));
        own.filter_map(|(_, fate)| fate.ended())
    }

    /// What the consumer's own brake sees where records have tenants: those that name none. A place that is configured
    /// wrongly must not drain a topic into the dead letters.
    pub(super) fn ends_of_nobody<'a>(
        &'a self,
        fates: &'a [Fate],
    ) -> impl Iterator<Item = Ended> + 'a {
        let records = self.cast.parts.iter().zip(fates);
        records.map(|(part, fate)| match (part, fate) {
            (Part::Nobody, Fate::Rejected(_)) => Ended::Rejected,
            _ => Ended::Well,
        })
    }

    /// How many records of each tenant came to what.
    pub(super) fn by_tenant(&self, fates: &[Fate]) -> Vec<TenantCounts> {
        let mut counts: Vec<TenantCounts> = Vec::new();
        for (pending, fate) in self.batch.iter().zip(fates) {
            let Some(name) = &pending.tenant else {
                continue;
            };
            let known = counts.iter().position(|of| of.tenant == *name);
            let at = known.unwrap_or_else(|| {
                counts.push(TenantCounts::of(name.clone()));
                counts.len() - 1
            });
            match fate {
                Fate::Handled(Outcome::Skipped) => counts[at].skipped += 1,
                Fate::Handled(_) => counts[at].done += 1,
                Fate::Duplicate(_) => counts[at].duplicate += 1,
                Fate::Rejected(_) => counts[at].rejected += 1,
            }
        }
        counts
    }
}

/// What a record came to in an attempt.
pub(super) enum Fate {
    Handled(Outcome),
    Duplicate(DuplicateKind),
    Rejected(Cause),
}

impl Fate {
    /// What the brake sees of it; nothing of what was only put aside.
    pub(super) fn ended(&self) -> Option<Ended> {
        match self {
            Fate::Handled(_) | Fate::Duplicate(_) => Some(Ended::Well),
            Fate::Rejected(cause) => cause.ended(),
        }
    }
}
