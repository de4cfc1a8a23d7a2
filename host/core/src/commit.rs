//! Committing Kafka's offset of one partition: one commit in flight, never backwards.

/// Which offset to commit next. With one commit in flight, acknowledgements cannot overtake each other,
/// so that the group's offset never goes back by itself, and going back is always an operator's doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Committer {
    acknowledged: Option<i64>,
    wanted: Option<i64>,
    in_flight: Option<i64>,
}

impl Committer {
    /// A committer for a partition whose progress row says `c`; nothing is in flight.
    pub fn new(c: Option<i64>) -> Self {
        Self {
            acknowledged: c,
            ..Self::default()
        }
    }

    /// The partition has come to `next`. Returns the offset to send now, if any: none while another is in
    /// flight, or when Kafka holds as much already. Asking again after `failed` sends again.
    pub fn want(&mut self, next: i64) -> Option<i64> {
        self.wanted = self.wanted.max(Some(next));
        self.send()
    }

    /// Kafka acknowledged `offset`. Returns the next one to send, if any. An answer to anything but the
    /// commit in flight is too late to count.
    pub fn acknowledged(&mut self, offset: i64) -> Option<i64> {
        if self.in_flight != Some(offset) {
            return None;
        }
        self.in_flight = None;
        self.acknowledged = self.acknowledged.max(Some(offset));
        self.send()
    }

    /// The commit in flight failed, which costs nothing. Returns the offset to `want` again after a pause,
    /// if there still is one.
    pub fn failed(&mut self) -> Option<i64> {
        self.in_flight = None;
        self.due()
    }

    /// The offset in flight.
    pub fn in_flight(&self) -> Option<i64> {
        self.in_flight
    }

    /// C: the last offset that Kafka acknowledged; rides in the next batch's transaction.
    pub fn c(&self) -> Option<i64> {
        self.acknowledged
    }

    /// Whether nothing is in flight and nothing is left to send.
    pub fn settled(&self) -> bool {
        self.in_flight.is_none() && self.due().is_none()
    }

    fn send(&mut self) -> Option<i64> {
        if self.in_flight.is_none() {
            self.in_flight = self.due();
            return self.in_flight;
        }
        None
    }

    /// What is wanted beyond what Kafka holds. None sorts before every offset.
    fn due(&self) -> Option<i64> {
        self.wanted.filter(|_| self.wanted > self.acknowledged)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_at_a_time_and_the_newest_next() {
        let mut committer = Committer::new(Some(5));
        assert_eq!(committer.want(5), None);
        assert!(committer.settled());
        assert_eq!(committer.want(8), Some(8));
        assert_eq!(committer.want(9), None);
        assert_eq!(committer.want(12), None);
        assert_eq!(committer.c(), Some(5));
        assert_eq!(committer.acknowledged(7), None);
        assert_eq!(committer.acknowledged(8), Some(12));
        assert_eq!((committer.c(), committer.in_flight()), (Some(8), Some(12)));
        assert_eq!(committer.acknowledged(12), None);
        assert!(committer.settled());
    }

    #[test]
    fn a_failure_is_tried_again_when_asked() {
        let mut committer = Committer::new(None);
        assert_eq!(committer.failed(), None);
        assert_eq!(committer.want(0), Some(0));
        assert_eq!(committer.failed(), Some(0));
        assert!(!committer.settled());
        assert_eq!(committer.want(0), Some(0));
        // The answer to the first one, late: it says the same of the same offset.
        assert_eq!(committer.acknowledged(0), None);
        assert_eq!(committer.c(), Some(0));
        assert!(committer.settled());
    }

    proptest! {
        #[test]
        fn never_backwards_never_two(steps in prop::collection::vec((0u8..4, 0i64..30), 0..60)) {
            let mut committer = Committer::new(None);
            let (mut sent, mut wanted) = (None, None);
            for (step, offset) in steps {
                let (before, c) = (committer.in_flight(), committer.c());
                let send = match step {
                    0 => { wanted = wanted.max(Some(offset)); committer.want(offset) }
                    1 => committer.acknowledged(before.unwrap_or(offset)),
                    2 => committer.acknowledged(offset),
                    _ => { committer.failed(); None }
                };
                prop_assert!(committer.c() >= c && committer.c() <= wanted);
                if send.is_some() {
                    prop_assert!(send >= sent && send > c && send <= wanted);
                    prop_assert!(step != 0 || before.is_none());
                    sent = send;
                }
            }
        }
    }
}
