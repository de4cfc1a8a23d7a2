//! Whose turn it is: a bounded number of places, served round robin over consumers, and within one over its tenants.
//!
//! Whoever holds a place and wants to go on gives it back and asks anew, so each turn counts alike: one who has had
//! hundreds waits as long as one who has had none.

mod ring;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use self::ring::{Line, Ring};

/// One request for a place. Tickets rise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(u64);

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Party {
    /// The consumer.
    pub consumer: Arc<str>,
    /// The tenant, where there are tenants.
    pub tenant: Option<Arc<str>>,
}

/// The answer to who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The place is taken.
    Now,
    /// It is handed over by a later [`Places::give_back`] or [`Places::withdraw`].
    Later(Ticket),
}

/// Who waits of one consumer's tenants, each in the order of asking.
type OfTenants = Ring<Option<Arc<str>>, BTreeSet<Ticket>>;

/// Places, who holds them, and who waits.
#[derive(Debug)]
pub struct Places {
    size: usize,
    free: usize,
    /// Places held by each consumer that has ever asked: as many as the configuration has.
    held: HashMap<Arc<str>, usize>,
    /// Whether places are kept for consumers that hold none.
    keeps: bool,
    waiting: Ring<Arc<str>, OfTenants>,
    parties: HashMap<Ticket, Party>,
    last: u64,
}

impl Places {
    /// So many places, at least one, for turns that are short.
    pub fn new(size: usize) -> Self {
        let size = size.max(1);
        Self {
            size,
            free: size,
            held: HashMap::new(),
            keeps: false,
            waiting: Ring::default(),
            parties: HashMap::new(),
            last: 0,
        }
    }

    /// The same for turns that may be long: a consumer that holds a place leaves one free for each other that holds none,
    /// up to half of them all, so that nobody's first waits for others' to end.
    pub fn keeping(size: usize) -> Self {
        Self {
            keeps: true,
            ..Self::new(size)
        }
    }

    /// Asks for a place. Where one is free for the party nobody waits for it.
    pub fn ask(&mut self, party: &Party) -> Asked {
        if !self.held.contains_key(&party.consumer) {
            self.held.insert(Arc::clone(&party.consumer), 0);
        }
        if self.may_take(&party.consumer) {
            self.take(&party.consumer);
            return Asked::Now;
        }
        self.last += 1;
        let ticket = Ticket(self.last);
        let path = (party.consumer.clone(), (party.tenant.clone(), ()));
        self.waiting.put(path, ticket);
        self.parties.insert(ticket, party.clone());
        Asked::Later(ticket)
    }

    /// A place of this consumer's is free again; those that hold one from now on.
    pub fn give_back(&mut self, consumer: &Arc<str>) -> Vec<Ticket> {
        if let Some(held) = self.held.get_mut(consumer) {
            *held = held.saturating_sub(1);
        }
        self.free = (self.free + 1).min(self.size);
        self.hand_over()
    }

    /// Who waits goes away. One that holds its place already has to give it back instead: `false`.
    pub fn withdraw(&mut self, ticket: Ticket) -> bool {
        let Some(party) = self.parties.remove(&ticket) else {
            return false;
        };
        self.waiting
            .remove(&(party.consumer, (party.tenant, ())), ticket);
        true
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.parties.len()
    }

    /// How many places are free.
    pub fn free(&self) -> usize {
        self.free
    }

    fn hand_over(&mut self) -> Vec<Ticket> {
        let mut served = Vec::new();
        while self.free > 0 {
            let (held, kept, free) = (&self.held, self.kept(), self.free);
            let may = |consumer: &Arc<str>| may_take(held, kept, free, consumer);
            let Some(ticket) = self.waiting.take_where(may) else {
                break;
            };
            if let Some(party) = self.parties.remove(&ticket) {
                self.take(&party.consumer);
                served.push(ticket);
            }
        }
        served
    }

    fn take(&mut self, consumer: &Arc<str>) {
        self.free -= 1;
        if let Some(held) = self.held.get_mut(consumer) {
            *held += 1;
        }
    }

    fn may_take(&self, consumer: &Arc<str>) -> bool {
        may_take(&self.held, self.kept(), self.free, consumer)
    }

    /// How many free places only those may take that hold none.
    fn kept(&self) -> usize {
        if !self.keeps {
            return 0;
        }
        let idle = self.held.values().filter(|held| **held == 0).count();
        idle.min(self.size / 2)
    }
}

fn may_take(held: &HashMap<Arc<str>, usize>, kept: usize, free: usize, who: &Arc<str>) -> bool {
    match held.get(who) {
        None | Some(0) => free > 0,
        Some(_) => free > kept,
    }
}

#[cfg(test)]
mod tests;
