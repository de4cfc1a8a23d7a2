use proptest::prelude::*;

use super::*;

fn brake(window: usize, share: f64, traps: usize) -> Brake {
    Brake::new(BrakePolicy {
        window,
        share,
        traps,
    })
}

fn all(ended: Ended, n: usize) -> impl Iterator<Item = Ended> {
    std::iter::repeat_n(ended, n)
}

#[test]
fn half_may_be_rejected_and_not_one_more() {
    let mut brake = brake(10, 0.5, 10);
    assert_eq!(brake.trips(all(Ended::Rejected, 5)), None);
    brake.committed(all(Ended::Rejected, 5));
    let trip = brake.trips(all(Ended::Rejected, 1));
    assert_eq!(
        trip,
        Some(Trip::Rejected {
            rejected: 6,
            window: 10
        })
    );
    assert_eq!(
        trip.map(|t| t.to_string()).as_deref(),
        Some("6 of the latest 10 records were rejected")
    );
    brake.committed(all(Ended::Well, 6));
    assert_eq!(brake.trips(all(Ended::Rejected, 1)), None);
}

#[test]
fn a_batch_longer_than_the_window_trips_by_its_own_middle() {
    let brake = brake(4, 0.5, 4);
    let batch = all(Ended::Rejected, 3).chain(all(Ended::Well, 9));
    assert!(brake.trips(batch).is_some());
}

#[test]
fn traps_count_apart_and_clearing_forgets() {
    let mut brake = brake(100, 1.0, 2);
    brake.committed(all(Ended::Trapped, 2));
    assert_eq!(brake.trips(all(Ended::Rejected, 1)), None);
    assert_eq!(
        brake.trips(all(Ended::Trapped, 1)),
        Some(Trip::Trapped {
            trapped: 3,
            window: 100
        })
    );
    brake.clear();
    assert_eq!(brake.trips(all(Ended::Trapped, 2)), None);
}

fn ended() -> impl Strategy<Value = Ended> {
    prop_oneof![
        3 => Just(Ended::Well),
        2 => Just(Ended::Rejected),
        1 => Just(Ended::Trapped)
    ]
}

proptest! {
    /// Whatever the batches, no window of committed records ever holds more than allowed, and what is refused would have.
    #[test]
    fn no_window_holds_more_than_allowed(
        batches in prop::collection::vec(prop::collection::vec(ended(), 1..12), 1..20),
        window in 1usize..12, share in 0.1f64..1.0, traps in 0usize..4,
    ) {
        let mut brake = brake(window, share, traps);
        let policy = brake.policy;
        let bad = |records: &[Ended]| {
            let rejected = records.iter().filter(|e| **e != Ended::Well).count();
            let trapped = records.iter().filter(|e| **e == Ended::Trapped).count();
            rejected > policy.most_rejected() || trapped > policy.traps
        };
        let mut committed: Vec<Ended> = Vec::new();
        for batch in batches {
            let with: Vec<Ended> = committed.iter().chain(&batch).copied().collect();
            let some_bad = (committed.len() + 1..=with.len())
                .any(|end| bad(&with[end.saturating_sub(window)..end]));
            let trips = brake.trips(batch.iter().copied()).is_some();
            prop_assert_eq!(trips, some_bad);
            if !trips {
                brake.committed(batch.iter().copied());
                committed = with;
            }
        }
    }
}
