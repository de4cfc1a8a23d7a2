//! A partition's life, and what no order of events may do to it.

use proptest::prelude::*;

use super::*;

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

const REVOKED: Event = Event::Revoked { grace: s(5) };

fn draining(deadline: u64) -> Partition {
    Partition::Draining {
        deadline: s(deadline),
    }
}

#[test]
fn an_ordinary_life() {
    let (partition, actions) = Partition::assigned();
    assert_eq!(actions, [Action::FindPosition]);
    let (partition, actions) = partition.on(Event::Placed { at: 7 }, s(1));
    assert_eq!(
        (partition, actions),
        (Partition::Consuming, vec![Action::Fetch { at: 7 }])
    );
    let (partition, actions) = partition.on(REVOKED, s(10));
    assert_eq!(
        (partition, actions),
        (
            draining(15),
            vec![Action::BeginNoBatch, Action::DropBuffers]
        )
    );
    let (partition, actions) = partition.on(Event::Drained, s(11));
    let handed_over = vec![Action::CommitOffset { deadline: s(15) }, Action::Unassign];
    assert_eq!((partition, actions), (Partition::Closed, handed_over));
}

#[test]
fn a_batch_that_outlasts_the_deadline_is_given_up() {
    assert_eq!(draining(15).on(Event::Tick, s(14)), (draining(15), vec![]));
    let given_up = vec![Action::AbandonBatch, Action::DropBuffers, Action::Unassign];
    assert_eq!(
        draining(15).on(Event::Tick, s(15)),
        (Partition::Closed, given_up.clone())
    );
    assert_eq!(
        draining(15).on(Event::Fenced, s(1)),
        (Partition::Closed, given_up.clone())
    );
    assert_eq!(
        Partition::Consuming.on(Event::Lost, s(1)),
        (Partition::Closed, given_up)
    );
    assert_eq!(draining(15).on(REVOKED, s(1)), (draining(6), vec![]));
    assert_eq!(draining(15).on(REVOKED, s(14)), (draining(15), vec![]));
}

#[test]
fn fenced_while_assigned_takes_up_work_again() {
    let (partition, actions) = Partition::Consuming.on(Event::Fenced, s(1));
    assert_eq!(partition, Partition::Assigned);
    assert_eq!(
        actions,
        [
            Action::AbandonBatch,
            Action::DropBuffers,
            Action::FindPositionLater
        ]
    );
    let (partition, actions) = partition.on(Event::Refused, s(1));
    assert_eq!(
        (partition, actions),
        (Partition::Assigned, vec![Action::ShowStopped])
    );
    let (partition, actions) = partition.on(Event::Again, s(1));
    assert_eq!(
        (partition, actions),
        (Partition::Assigned, vec![Action::FindPosition])
    );
    let (partition, actions) = partition.on(REVOKED, s(1));
    assert_eq!(
        (partition, actions),
        (
            Partition::Closed,
            vec![Action::CancelPosition, Action::Unassign]
        )
    );
}

fn any_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        (0i64..9).prop_map(|at| Event::Placed { at }),
        Just(Event::Refused),
        Just(Event::Again),
        Just(Event::Fenced),
        (0u64..9).prop_map(|grace| Event::Revoked { grace: s(grace) }),
        Just(Event::Lost),
        Just(Event::Drained),
        Just(Event::Tick),
    ]
}

proptest! {
    #[test]
    fn handed_over_once_and_never_taken_up_again(events in prop::collection::vec((any_event(), 0u64..4), 0..40)) {
        let (mut partition, mut actions) = Partition::assigned();
        let mut now = s(0);
        for (event, passed) in events {
            now += s(passed);
            let (before, (next, todo)) = (partition, partition.on(event, now));
            let leaves = |p| matches!(p, Partition::Draining { .. } | Partition::Closed);
            let fetches = todo.iter().any(|a| matches!(a, Action::Fetch { .. }));
            prop_assert!(!leaves(before) || (leaves(next) && !fetches));
            partition = next;
            actions.extend(todo);
        }
        let unassigned = actions.iter().filter(|a| **a == Action::Unassign).count();
        prop_assert_eq!(unassigned, usize::from(partition == Partition::Closed));
        prop_assert!(actions.iter().position(|a| *a == Action::Unassign).is_none_or(|at| at + 1 == actions.len()));
    }
}
