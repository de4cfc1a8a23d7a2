//! What the core decides holds for batches that run, wait and are dropped half-way.

use std::time::Duration;

use futures_util::FutureExt;

use tidegate_core::failure::{Broken, Failure};
use tidegate_core::sqlstate::DEADLOCK;

use super::*;
use crate::worker::attempt::Attempt;

fn lanes() -> (Arc<Lanes>, watch::Sender<bool>) {
    (Lanes::new("c".into()), watch::channel(true).0)
}

async fn enter(lanes: &Arc<Lanes>, may_begin: &watch::Sender<bool>) -> Option<Lane> {
    lanes.enter(500, &mut may_begin.subscribe()).await
}

/// Enters at once, or does not.
fn at_once(lanes: &Arc<Lanes>, may_begin: &watch::Sender<bool>) -> Option<Lane> {
    enter(lanes, may_begin).now_or_never().flatten()
}

fn several(n: usize, lanes: &Arc<Lanes>, may_begin: &watch::Sender<bool>) -> Vec<Lane> {
    (0..n).map_while(|_| at_once(lanes, may_begin)).collect()
}

fn deadlocked() -> Attempt {
    let failure = Failure::Sql {
        sqlstate: DEADLOCK.to_owned(),
        message: String::new().into(),
        constraint: None,
        named: Box::default(),
    };
    Attempt::Broken(Broken {
        offset: None,
        failure,
    })
}

#[test]
fn batches_that_run_when_lanes_close_are_waited_for() {
    let (lanes, may_begin) = lanes();
    let mut running = several(8, &lanes, &may_begin);
    assert_eq!(running.len(), 8);
    running.pop().unwrap().leave(&deadlocked());
    for left in (0..7).rev() {
        let more = at_once(&lanes, &may_begin).is_some();
        assert_eq!(more, left < 3, "beside {}", left + 1);
        running.pop();
    }
    assert_eq!(several(8, &lanes, &may_begin).len(), 4);
}

#[test]
fn a_single_record_takes_no_lane() {
    let (lanes, may_begin) = lanes();
    several(2, &lanes, &may_begin)
        .pop()
        .unwrap()
        .leave(&deadlocked());
    let _held = at_once(&lanes, &may_begin).unwrap();
    assert!(at_once(&lanes, &may_begin).is_none());
    let lone = lanes.enter(1, &mut may_begin.subscribe()).now_or_never();
    assert_eq!(lone.flatten().unwrap().locks, Locks::default());
}

#[tokio::test]
async fn who_waits_comes_in_turn_and_goes_when_no_batch_may_begin() {
    let (lanes, may_begin) = lanes();
    several(2, &lanes, &may_begin)
        .pop()
        .unwrap()
        .leave(&deadlocked());
    let held = at_once(&lanes, &may_begin).unwrap();
    let revoked = watch::channel(true).0;
    let (mut first, mut second) = (
        Box::pin(enter(&lanes, &revoked)),
        Box::pin(enter(&lanes, &may_begin)),
    );
    assert!(first.as_mut().now_or_never().is_none());
    assert!(second.as_mut().now_or_never().is_none());
    revoked.send_replace(false);
    assert!(first.await.is_none());
    drop(held);
    assert!(second.await.is_some());
}

/// However lanes close while others wait and are dropped, none is lost and none is made up.
#[test]
fn permits_neither_leak_nor_multiply() {
    let (lanes, may_begin) = lanes();
    for n in [8, 2, 5, 3] {
        let mut running = several(n, &lanes, &may_begin);
        if let Some(lane) = running.pop() {
            lane.leave(&deadlocked());
        }
        let mut waiting = Box::pin(enter(&lanes, &may_begin));
        let _lane = waiting.as_mut().now_or_never();
    }
    let mut state = lanes.state();
    assert_eq!((state.permits, state.excess), (1, 0));
    assert_eq!(lanes.permits.available_permits(), 1);
    let mut now = Duration::ZERO;
    while state.permits != ALL {
        now += Duration::from_secs(600);
        state.decisions.rest(8, now);
        lanes.adjust(&mut state);
    }
    assert_eq!(lanes.permits.available_permits(), ALL);
}
