//! Cutting batches, and the copies of one event within them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::time::Duration;

/// `[consumer.batch]`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchLimits {
    /// The most records of a batch.
    pub max_records: usize,
    /// The most bytes of a batch; one record may exceed it alone.
    pub max_bytes: usize,
    /// How long to wait for more records before a batch that is not full is cut; zero cuts at once.
    pub max_wait: Duration,
}

impl Default for BatchLimits {
    fn default() -> Self {
        Self {
            max_records: 500,
            max_bytes: 4 << 20,
            max_wait: Duration::ZERO,
        }
    }
}

/// How many of the pending records, whose sizes in bytes are given in order, the next batch takes: at
/// most `cap` (what the planner allows), and at least one if there is one.
pub fn cut(sizes: impl Iterator<Item = usize>, limits: BatchLimits, cap: usize) -> usize {
    let most = limits.max_records.min(cap).max(1);
    let mut bytes = 0usize;
    let fits = |(at, size): &(usize, usize)| {
        bytes = bytes.saturating_add(*size);
        *at == 0 || bytes <= limits.max_bytes
    };
    sizes.take(most).enumerate().take_while(fits).count()
}

/// For each record of a batch, in order, the index of the first record with the same id if it is a later
/// copy. Such a copy is a duplicate only once the first one's outcome stands in the same commit.
pub fn first_copies<K: Eq + Hash>(ids: &[K]) -> Vec<Option<usize>> {
    first_copies_among(ids.iter().map(Some))
}

/// As [`first_copies`], where some records have no id: those are nobody's copy.
pub fn first_copies_among<K: Eq + Hash>(
    ids: impl Iterator<Item = Option<K>>,
) -> Vec<Option<usize>> {
    let mut seen = HashMap::new();
    let first = |(at, id): (usize, Option<K>)| match seen.entry(id?) {
        Entry::Occupied(first) => Some(*first.get()),
        Entry::Vacant(free) => {
            free.insert(at);
            None
        }
    };
    ids.enumerate().map(first).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn limits(max_records: usize, max_bytes: usize) -> BatchLimits {
        BatchLimits {
            max_records,
            max_bytes,
            ..BatchLimits::default()
        }
    }

    #[test]
    fn cuts_by_count_bytes_and_cap() {
        let of = |sizes: &[usize], limits, cap| cut(sizes.iter().copied(), limits, cap);
        assert_eq!(of(&[], limits(3, 10), 9), 0);
        assert_eq!(of(&[99, 1], limits(3, 10), 9), 1);
        assert_eq!(of(&[5, 5, 1], limits(3, 10), 9), 2);
        assert_eq!(of(&[1, 1, 1, 1], limits(3, 10), 9), 3);
        assert_eq!(of(&[1, 1, 1, 1], limits(3, 10), 2), 2);
        assert_eq!(of(&[1, 1], limits(0, 10), 0), 1);
        assert_eq!(of(&[usize::MAX, usize::MAX], limits(3, usize::MAX), 9), 2);
    }

    #[test]
    fn later_copies_name_the_first() {
        let ids = [("", "a"), ("", "b"), ("", "a"), ("t", "a"), ("", "a")];
        assert_eq!(first_copies(&ids), [None, None, Some(0), None, Some(0)]);
        let some = [None, Some("a"), None, Some("a")];
        assert_eq!(
            first_copies_among(some.into_iter()),
            [None, None, None, Some(1)]
        );
    }

    proptest! {
        #[test]
        fn a_cut_fits_and_is_the_longest(
            sizes in prop::collection::vec(0usize..50, 0..20), max_records in 1usize..9,
            max_bytes in 0usize..200, cap in 1usize..9,
        ) {
            let n = cut(sizes.iter().copied(), limits(max_records, max_bytes), cap);
            let bytes = |n: usize| sizes[..n].iter().sum::<usize>();
            prop_assert!(n >= sizes.len().min(1) && n <= max_records.min(cap));
            prop_assert!(n <= 1 || bytes(n) <= max_bytes);
            let more = n < sizes.len() && n < max_records.min(cap);
            prop_assert!(!more || bytes(n + 1) > max_bytes);
        }
    }
}
