//! How many of the pending records the next transaction takes, after others have broken.

/// Plans one partition's transactions: whole batches while all is well; after a failure the records before
/// the breaker, then the breaker alone, then the rest, in batches that shrink and grow back.
///
/// Offsets only ever rise, so everything is remembered by offset, never by order of execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planner {
    max: usize,
    limit: usize,
    breaker: Option<i64>,
    boundary: Option<i64>,
}

impl Planner {
    /// A planner whose transactions take at most `max_records` (at least 1).
    pub fn new(max_records: usize) -> Self {
        let max = max_records.max(1);
        Self {
            max,
            limit: max,
            breaker: None,
            boundary: None,
        }
    }

    /// How many of the pending records, whose offsets are given in order, the next transaction takes: none
    /// only if there are none. It ends before a known breaker, and a breaker that comes first runs alone.
    pub fn take(&self, offsets: impl Iterator<Item = i64>) -> usize {
        let mut offsets = offsets.take(self.limit);
        let Some(first) = offsets.next() else {
            return 0;
        };
        if self.breaker == Some(first) {
            return 1;
        }
        let end = [self.breaker, self.boundary]
            .into_iter()
            .flatten()
            .filter(|at| *at > first)
            .min();
        1 + offsets
            .take_while(|at| end.is_none_or(|end| *at < end))
            .count()
    }

    /// A transaction committed; `next_offset` is where the partition goes on.
    pub fn committed(&mut self, next_offset: i64) {
        self.breaker = self.breaker.filter(|at| *at >= next_offset);
        self.boundary = self.boundary.filter(|at| *at > next_offset);
        self.limit = self.limit.saturating_add(self.step()).min(self.max);
    }

    /// Growing slowly keeps the size near what gets through where one record in a hundred breaks its batch; doubling
    /// would end in such a record each time.
    fn step(&self) -> usize {
        (self.max / 16).max(1)
    }

    /// A transaction of `taken` records from offset `first` on broke: at a record, or at none in particular
    /// (contention, a lost connection). A transaction of one record that keeps breaking is the caller's to
    /// judge: its breaker is that record.
    pub fn broke(&mut self, first: i64, taken: usize, at: Option<i64>) {
        if let Some(at) = at {
            // What is behind is settled; what is ahead of an earlier breaker shows again when it is met.
            let known = self.breaker.filter(|known| *known >= first);
            self.breaker = Some(known.map_or(at, |known| known.min(at)));
        }
        self.limit = (taken.min(self.limit) / 2).max(1);
    }

    /// The next transactions take at most so many records (at least 1), and grow back slowly.
    pub fn at_most(&mut self, records: usize) {
        self.limit = self.limit.min(records.max(1));
    }

    /// The record at `offset` has broken a transaction of an earlier owner's: it runs alone.
    pub fn expect(&mut self, offset: i64) {
        self.breaker = Some(offset);
    }

    /// The next batch ends before `offset`, a later copy of an event whose first copy is not committed as
    /// handled. Batches do not shrink for it.
    pub fn split_before(&mut self, offset: i64) {
        self.boundary = Some(self.boundary.map_or(offset, |known| known.min(offset)));
    }

    /// The verdict on the breaker at `offset` stands: its letter can ride in a normal batch.
    pub fn settled(&mut self, offset: i64) {
        self.breaker = self.breaker.filter(|at| *at != offset);
    }

    /// The earliest offset known to break a batch.
    pub fn breaker(&self) -> Option<i64> {
        self.breaker
    }

    /// The most records that the next transaction may take, breakers aside.
    pub fn limit(&self) -> usize {
        self.limit
    }
}

#[cfg(test)]
mod tests;
