//! One partition's offsets: gaps are normal (compaction, markers), unless a batch may have been passed over.

/// The next offset of a partition, and whether a gap before it could be an unreadable batch.
pub(super) struct Sequence {
    expected: i64,
    /// What was said of a batch that nobody's position explains; librdkafka goes on behind such a batch.
    suspicion: Option<String>,
}

/// What a fetched offset is in its partition's order.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// Before what is expected: passed on already.
    Old,
    /// The next record.
    Next,
    /// Behind a gap that may hide an unreadable batch; why.
    Skipped(String),
}

impl Sequence {
    /// Begins at `offset`.
    pub(super) fn new(offset: i64) -> Self {
        Self {
            expected: offset,
            suspicion: None,
        }
    }

    /// The next offset.
    pub(super) fn expected(&self) -> i64 {
        self.expected
    }

    /// Some batch could not be read, for this reason, and it may have been this partition's next.
    pub(super) fn suspect(&mut self, reason: &str) {
        self.suspicion.get_or_insert_with(|| reason.to_owned());
    }

    /// Takes in the offset of a fetched record.
    pub(super) fn arrive(&mut self, offset: i64) -> Arrival {
        if offset < self.expected {
            return Arrival::Old;
        }
        let expected = std::mem::replace(&mut self.expected, offset + 1);
        match self.suspicion.take() {
            Some(reason) if offset != expected => Arrival::Skipped(format!(
                "a batch between offsets {expected} and {offset} may have been passed over unread: {reason}"
            )),
            _ => Arrival::Next,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_normal_and_steps_back_are_old() {
        let mut sequence = Sequence::new(5);
        assert_eq!(sequence.arrive(5), Arrival::Next);
        assert_eq!(sequence.arrive(9), Arrival::Next);
        assert_eq!(sequence.arrive(9), Arrival::Old);
        assert_eq!(sequence.expected(), 10);
    }

    #[test]
    fn a_gap_behind_an_unreadable_batch_is_no_gap_to_go_over() {
        let mut sequence = Sequence::new(5);
        sequence.suspect("bad CRC");
        sequence.suspect("later");
        assert_eq!(sequence.arrive(4), Arrival::Old);
        let Arrival::Skipped(why) = sequence.arrive(7) else {
            panic!("a gap under suspicion");
        };
        assert!(
            why.contains("offsets 5 and 7") && why.ends_with("bad CRC"),
            "{why}"
        );
    }

    #[test]
    fn the_expected_record_clears_a_partition() {
        let mut sequence = Sequence::new(5);
        sequence.suspect("bad CRC");
        assert_eq!(sequence.arrive(5), Arrival::Next);
        assert_eq!(sequence.arrive(8), Arrival::Next);
    }
}
