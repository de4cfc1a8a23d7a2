//! The planner against a model: all commit once, in order, whatever breaks.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn take(planner: &Planner, offsets: std::ops::Range<i64>) -> usize {
    planner.take(offsets)
}

#[test]
fn the_prefix_then_the_breaker_then_the_rest() {
    let mut planner = Planner::new(8);
    assert_eq!(take(&planner, 0..0), 0);
    assert_eq!(take(&planner, 0..20), 8);
    planner.broke(0, 8, Some(3));
    assert_eq!(take(&planner, 0..20), 3);
    planner.committed(3);
    assert_eq!(take(&planner, 3..20), 1);
    planner.committed(4);
    assert_eq!(planner.breaker(), None);
    assert_eq!(take(&planner, 4..20), 6);
    planner.committed(10);
    planner.committed(17);
    assert_eq!(take(&planner, 17..40), 8);
}

#[test]
fn an_earlier_breaker_takes_the_place_of_a_later_one() {
    let mut planner = Planner::new(8);
    planner.broke(0, 8, Some(5));
    planner.broke(0, 4, Some(2));
    assert_eq!(planner.breaker(), Some(2));
    planner.broke(0, 2, Some(6));
    assert_eq!(planner.breaker(), Some(2));
}

#[test]
fn a_failure_of_no_record_halves() {
    let mut planner = Planner::new(8);
    planner.broke(0, 8, None);
    assert_eq!(take(&planner, 0..20), 4);
    for _ in 0..9 {
        planner.broke(0, take(&planner, 0..20), None);
    }
    assert_eq!(take(&planner, 0..20), 1);
    planner.committed(1);
    assert_eq!(planner.limit(), 2);
}

#[test]
fn a_boundary_splits_once_and_shrinks_nothing() {
    let mut planner = Planner::new(8);
    planner.split_before(5);
    assert_eq!(take(&planner, 0..20), 5);
    planner.committed(5);
    assert_eq!(take(&planner, 5..20), 8);
    planner.split_before(5);
    assert_eq!(take(&planner, 5..20), 8);
}

#[test]
fn a_settled_breaker_rides_along() {
    let mut planner = Planner::new(8);
    planner.broke(0, 8, Some(3));
    planner.settled(4);
    assert_eq!(planner.breaker(), Some(3));
    planner.settled(3);
    assert_eq!(take(&planner, 0..20), 4);
}

/// What a partition went through.
#[derive(Default)]
struct Run {
    committed: Vec<i64>,
    rejected: BTreeSet<i64>,
    attempts: usize,
}

/// Runs every offset to its end. A poisoned batch breaks at its earliest poison, known (`named`) or not.
fn run(
    offsets: &[i64],
    poison: &BTreeSet<i64>,
    max: usize,
    mut named: impl FnMut() -> bool,
) -> Run {
    let (mut planner, mut run, mut at) = (Planner::new(max), Run::default(), 0);
    while at < offsets.len() && run.attempts < 100_000 {
        run.attempts += 1;
        let taken = planner.take(offsets[at..].iter().copied());
        let batch = &offsets[at..at + taken];
        match batch.iter().find(|o| poison.contains(o)) {
            Some(breaker) if taken > 1 => {
                planner.broke(batch[0], taken, named().then_some(*breaker))
            }
            breaker => {
                run.rejected.extend(breaker);
                run.committed.extend(batch);
                at += taken;
                planner.committed(batch[taken - 1] + 1);
            }
        }
    }
    run
}

proptest! {
    #[test]
    fn all_commit_once_in_order_and_poison_alone_is_rejected(
        gaps in prop::collection::vec(1i64..4, 0..600),
        poison in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        max in 1usize..600,
        coins in prop::collection::vec(any::<bool>(), 1..50),
    ) {
        let offsets: Vec<i64> = gaps.iter().scan(0, |at, gap| { *at += gap; Some(*at) }).collect();
        let poison: BTreeSet<i64> = if offsets.is_empty() { BTreeSet::new() } else {
            poison.iter().map(|i| *i.get(&offsets)).collect()
        };
        let mut coins = coins.iter().cycle();
        let run = run(&offsets, &poison, max, || *coins.next().unwrap());
        prop_assert_eq!(&run.committed, &offsets);
        prop_assert_eq!(&run.rejected, &poison);
        // Each poison costs a bisection at worst; what it shrank grows back in sixteen steps.
        let bound = offsets.len().div_ceil(max) + (poison.len() + 1) * 80;
        prop_assert!(run.attempts <= bound, "{} attempts, {bound} allowed", run.attempts);
    }

    #[test]
    fn named_poison_costs_few_attempts(at in 0i64..500) {
        let offsets: Vec<i64> = (0..500).collect();
        let run = run(&offsets, &BTreeSet::from([at]), 500, || true);
        prop_assert_eq!(&run.committed, &offsets);
        prop_assert!(run.attempts <= 6, "{}", run.attempts);
    }

    #[test]
    fn take_is_sound_in_any_state(
        steps in prop::collection::vec((0u8..4, 0i64..40), 0..30), pending in 1i64..40, max in 1usize..20,
    ) {
        let mut planner = Planner::new(max);
        for (step, at) in steps {
            match step {
                0 => planner.broke(0, planner.take(0..40), Some(at)),
                1 => planner.broke(0, planner.take(0..40), None),
                2 => planner.split_before(at),
                _ => planner.committed(at),
            }
            let taken = planner.take(pending..pending + 30);
            prop_assert!((1..=max).contains(&taken));
            let end = pending + i64::try_from(taken).unwrap();
            let crosses = planner.breaker().is_some_and(|b| pending <= b && b < end);
            prop_assert!(!crosses || taken == 1);
        }
    }
}
