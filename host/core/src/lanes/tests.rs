//! Lanes close on proof, never altogether, and open again when it is calm.

use proptest::prelude::*;

use super::*;

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// Lanes with so many batches under way, and the ticket of each.
fn running(batches: usize) -> (Lanes, Vec<Ticket>) {
    let mut lanes = Lanes::default();
    let tickets = (0..batches).map(|_| lanes.began()).collect();
    (lanes, tickets)
}

/// The level after 8 batches, so many of which deadlocked.
fn after(deadlocks: usize) -> Option<usize> {
    let (mut lanes, tickets) = running(8);
    for ticket in &tickets[..deadlocks] {
        lanes.contended(*ticket, true, secs(1));
        lanes.ended();
    }
    lanes.limit()
}

/// Closes all lanes but one, with nothing running.
fn one_lane(now: Duration) -> Lanes {
    let (mut lanes, tickets) = running(2);
    lanes.contended(tickets[0], true, now);
    lanes.ended();
    lanes.ended();
    assert_eq!((lanes.limit(), lanes.is_alone()), (Some(1), false));
    lanes
}

#[test]
fn as_many_lanes_stay_open_as_batches_got_through_and_at_most_half() {
    let levels: Vec<_> = (0..=8).map(after).collect();
    let open = [4, 4, 4, 4, 4, 3, 2, 1, 1].map(Some);
    assert_eq!(levels[0], None);
    assert_eq!(levels[1..], open[1..]);
}

#[test]
fn one_long_wait_is_somebody_elses_lock_and_two_are_our_own() {
    let (mut lanes, tickets) = running(8);
    lanes.contended(tickets[0], false, secs(1));
    lanes.contended(tickets[1], false, secs(4));
    assert_eq!(lanes.limit(), None);
    lanes.contended(tickets[2], false, secs(5));
    assert_eq!(lanes.limit(), Some(4));
}

#[test]
fn a_batch_that_began_before_lanes_were_closed_twice_says_nothing_new() {
    let (mut lanes, tickets) = running(8);
    lanes.contended(tickets[0], true, secs(1));
    let later = lanes.began();
    lanes.contended(later, false, secs(2));
    let level = lanes.limit();
    lanes.contended(tickets[1], true, secs(2));
    assert_eq!(lanes.limit(), level);
}

#[test]
fn contention_in_a_single_lane_is_another_hosts_and_then_a_strangers() {
    let mut lanes = one_lane(secs(1));
    for _ in 0..3 {
        let ticket = lanes.began();
        lanes.contended(ticket, false, secs(2));
        lanes.ended();
        assert_eq!((lanes.limit(), lanes.is_alone()), (Some(1), true));
    }
    lanes.rest(8, secs(7));
    assert_eq!((lanes.limit(), lanes.is_alone()), (Some(1), false));
}

#[test]
fn all_open_again_when_it_stays_calm() {
    let mut lanes = one_lane(secs(0));
    let mut levels = Vec::new();
    for now in 1..=16 {
        lanes.rest(8, secs(now));
        levels.push(lanes.limit());
    }
    levels.dedup();
    assert_eq!(levels, [Some(1), Some(2), Some(4), None]);
}

#[test]
fn what_was_refused_is_tried_later_and_later_until_it_lasts() {
    let (mut lanes, mut now, mut tried) = (one_lane(secs(0)), secs(0), Vec::new());
    for _ in 0..8 {
        let closed = now;
        while lanes.limit() == Some(1) {
            now += secs(1);
            lanes.rest(8, now);
        }
        tried.push((now - closed).as_secs());
        let tickets = [lanes.began(), lanes.began()];
        lanes.contended(tickets[0], false, now);
        lanes.ended();
        lanes.ended();
    }
    assert_eq!(tried, [5, 10, 20, 40, 80, 160, 300, 300]);
    for _ in 0..2_000 {
        now += secs(1);
        lanes.rest(8, now);
    }
    let fresh = Lanes::default();
    assert_eq!((lanes.limit(), lanes.calm), (None, fresh.calm));
}

#[test]
fn slow_records_run_by_themselves_where_lanes_are_closed() {
    let mut lanes = one_lane(secs(0));
    let commit = |lanes: &mut Lanes, time| {
        let ticket = lanes.began();
        lanes.committed(ticket, 100, time);
        lanes.ended();
        lanes.most_records()
    };
    let (slow, quick) = (secs(1), Duration::from_millis(10));
    assert_eq!(commit(&mut lanes, slow), usize::MAX);
    assert_eq!(commit(&mut lanes, slow), usize::MAX);
    assert_eq!(commit(&mut lanes, slow), 1);
    assert_eq!(commit(&mut lanes, quick), usize::MAX);
    assert_eq!(lanes.locks(1).wait, Some(LOCK_WAIT));
}

#[test]
fn a_lock_is_waited_for_as_long_as_a_few_batches_take() {
    let mut lanes = Lanes::default();
    lanes.rest(1, secs(0));
    assert_eq!(lanes.locks(500), Locks::default());
    lanes.rest(2, secs(0));
    assert_eq!(lanes.locks(500).wait, Some(LOCK_WAIT));
    let ticket = lanes.began();
    lanes.committed(ticket, 500, secs(1));
    assert_eq!(lanes.locks(500).wait, Some(secs(4)));
    lanes.committed(ticket, 500, secs(9));
    assert!(lanes.locks(500).wait < Some(secs(5)));
}

#[derive(Clone, Debug)]
enum Step {
    Begin,
    End(usize),
    Break(usize, bool),
    Pass(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        Just(Step::Begin),
        (0usize..16).prop_map(Step::End),
        (0usize..16, any::<bool>()).prop_map(|(which, deadlock)| Step::Break(which, deadlock)),
        (0u64..20_000).prop_map(Step::Pass),
    ]
}

/// Plays the steps as a host would; answers the lanes and the time.
fn play(steps: Vec<Step>, partitions: usize) -> Result<(Lanes, Duration), TestCaseError> {
    let (mut lanes, mut now, mut under_way) = (Lanes::default(), secs(0), Vec::new());
    for step in steps {
        lanes.rest(partitions, now);
        let before = lanes.limit();
        match step {
            Step::Begin if under_way.len() < partitions.min(before.unwrap_or(partitions)) => {
                under_way.push(lanes.began());
            }
            Step::End(which) | Step::Break(which, _) if which < under_way.len() => {
                let ticket = under_way.swap_remove(which);
                if let Step::Break(_, deadlock) = step {
                    lanes.contended(ticket, deadlock, now);
                }
                lanes.ended();
                let shrunk = lanes.limit().unwrap_or(OPEN) <= before.unwrap_or(OPEN);
                prop_assert!(shrunk, "contention opens nothing");
            }
            Step::Pass(ms) => now += Duration::from_millis(ms),
            Step::Begin | Step::End(_) | Step::Break(..) => {}
        }
        prop_assert!(lanes.limit() != Some(0));
        prop_assert!(!lanes.is_alone() || lanes.limit() == Some(1));
        prop_assert!(lanes.calm >= CALM && lanes.calm <= LONGEST_CALM);
        prop_assert_eq!(lanes.running, under_way.len());
    }
    Ok((lanes, now))
}

proptest! {
    #[test]
    fn some_lane_is_always_open_and_in_the_end_all_are(
        steps in prop::collection::vec(step(), 0..200), partitions in 1usize..16,
    ) {
        let (mut lanes, mut now) = play(steps, partitions)?;
        for _ in 0..6 {
            now += LONGEST_CALM;
            lanes.rest(partitions, now);
        }
        prop_assert_eq!(lanes.limit(), None);
        now += LONGEST_CALM;
        lanes.rest(partitions, now);
        prop_assert_eq!((lanes.calm, lanes.trying), (CALM, false));
    }

    #[test]
    fn contention_without_end_leaves_one_lane_within_a_few_breaks(partitions in 2usize..200) {
        let (mut lanes, tickets) = running(partitions);
        let mut breaks = 0;
        let mut under_way = tickets;
        while lanes.limit() != Some(1) {
            lanes.contended(under_way.remove(0), false, secs(1));
            lanes.ended();
            breaks += 1;
            if under_way.is_empty() {
                under_way = (0..lanes.limit().unwrap_or(1)).map(|_| lanes.began()).collect();
            }
        }
        prop_assert!(breaks <= partitions, "{breaks} breaks of {partitions} batches");
    }
}
