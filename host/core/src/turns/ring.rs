//! Round robin: whoever has been served goes to the back, as long as something of theirs waits.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;

use super::Ticket;

/// Tickets that wait. Every operation takes at most the logarithm of how many there are.
pub(super) trait Line: Default {
    /// Where within the line a ticket stands.
    type Path;
    /// Adds a ticket.
    fn put(&mut self, path: Self::Path, ticket: Ticket);
    /// Takes the next ticket out.
    fn take(&mut self) -> Option<Ticket>;
    /// Takes this ticket out.
    fn remove(&mut self, path: &Self::Path, ticket: Ticket);
    /// Whether nothing waits.
    fn is_empty(&self) -> bool;
}

/// Those of one party: in the order of asking.
impl Line for BTreeSet<Ticket> {
    type Path = ();

    fn put(&mut self, (): (), ticket: Ticket) {
        self.insert(ticket);
    }

    fn take(&mut self) -> Option<Ticket> {
        self.pop_first()
    }

    fn remove(&mut self, (): &(), ticket: Ticket) {
        self.remove(&ticket);
    }

    fn is_empty(&self) -> bool {
        self.is_empty()
    }
}

/// Members with lines of their own, one ticket of each in turn. One whose line is empty is no member.
#[derive(Debug)]
pub(super) struct Ring<K, L> {
    order: BTreeMap<u64, K>,
    members: HashMap<K, (u64, L)>,
    last: u64,
}

impl<K, L> Default for Ring<K, L> {
    fn default() -> Self {
        Self {
            order: BTreeMap::new(),
            members: HashMap::new(),
            last: 0,
        }
    }
}

impl<K: Clone + Eq + Hash, L: Line> Ring<K, L> {
    /// Takes the ticket of the first member in turn that may have one now.
    pub(super) fn take_where(&mut self, may: impl Fn(&K) -> bool) -> Option<Ticket> {
        let mut order = self.order.iter();
        let (at, key) = order.find(|(_, key)| may(key))?;
        let (at, key) = (*at, key.clone());
        self.order.remove(&at);
        let (place, line) = self.members.get_mut(&key)?;
        let ticket = line.take();
        if line.is_empty() {
            self.members.remove(&key);
            return ticket;
        }
        self.last += 1;
        *place = self.last;
        self.order.insert(self.last, key);
        ticket
    }
}

impl<K: Clone + Eq + Hash, L: Line> Line for Ring<K, L> {
    type Path = (K, L::Path);

    fn put(&mut self, (key, path): Self::Path, ticket: Ticket) {
        if let Some((_, line)) = self.members.get_mut(&key) {
            return line.put(path, ticket);
        }
        self.last += 1;
        let mut line = L::default();
        line.put(path, ticket);
        self.order.insert(self.last, key.clone());
        self.members.insert(key, (self.last, line));
    }

    fn take(&mut self) -> Option<Ticket> {
        self.take_where(|_| true)
    }

    fn remove(&mut self, (key, path): &Self::Path, ticket: Ticket) {
        let Some((at, line)) = self.members.get_mut(key) else {
            return;
        };
        line.remove(path, ticket);
        if line.is_empty() {
            self.order.remove(at);
            self.members.remove(key);
        }
    }

    fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}
