//! The host killed at every point of a record's life, early, in the middle and at the end: nothing is missing
//! afterwards, nothing is doubled, nothing that was committed runs again.
//!
//! Of every second run `dedup` is off, so that the position alone must save it.

use std::collections::BTreeSet;

use futures_util::StreamExt;
use futures_util::stream;
use tidegate_tests::{Action, FAULTS, Fault, Point, millis};

use crate::faulty::{Faulty, POISON, RECORDS};
use crate::rows::{PATIENCE, counts};

/// Chains under way at the same time, and records that each kill is put among.
const AT_A_TIME: usize = 6;
const THIRD: i64 = RECORDS / 3;

/// Where the kills of a chain are put: at the first record, in the middle, at the last one.
const EARLY_TO_LATE: [i64; 3] = [0, RECORDS / 2, RECORDS - 1];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_any_point_of_a_batch() {
    chains(&[
        Point::Queued,
        Point::BatchCut,
        Point::Begun,
        Point::BeforeCall,
        Point::AfterCall,
        Point::GuestsDone,
        Point::Proved,
        Point::CommitSent,
        Point::Committed,
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_any_point_of_a_position() {
    chains(&[
        Point::TokenTaken,
        Point::Placed,
        Point::OffsetSending,
        Point::OffsetAcknowledged,
        Point::AcknowledgedWriting,
        Point::GivenBack,
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_any_point_of_a_dead_letter() {
    chains(&[
        Point::LetterPublishing,
        Point::LetterPublished,
        Point::LettersMarked,
    ])
    .await;
}

/// A COMMIT that has had time to reach the server: its answer is lost with the host.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_with_the_answer_to_commit_unread() {
    let faulty = Faulty::new("kill-answered", false).await;
    let mut landed = 0;
    for (stage, from) in EARLY_TO_LATE.into_iter().enumerate() {
        let fault = Fault::new(Point::CommitSent, Action::KillAfter(millis(200))).from(from);
        faulty.produce(third(stage)).await;
        let before = counts(&faulty.scene.env.db).await.next;
        let host = faulty.start(&[fault]).await;
        assert_eq!(host.wait_exit(PATIENCE).await, -1);
        landed += i32::from(faulty.next("killed").await > before);
    }
    assert!(landed > 0, "no COMMIT landed before its host was gone");
    let host = faulty.start(&[]).await;
    faulty.wait_all("at the end").await;
    assert_eq!(host.terminate().await, 0);
}

/// A record that runs alone because hosts died at its place, and is announced: one more death is not its end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_with_a_record_announced() {
    let faulty = Faulty::new("kill-marked", false).await;
    faulty.produce(0..RECORDS).await;
    let at = |point| Fault::kill(point).from(RECORDS / 2);
    let mut announced = false;
    for _ in 0..6 {
        let host = faulty
            .start(&[at(Point::Marked), at(Point::BeforeCall)])
            .await;
        assert_eq!(host.wait_exit(PATIENCE).await, -1);
        faulty.next("killed").await;
        if host.log_count("fault: marked") > 0 {
            announced = true;
            break;
        }
    }
    assert!(announced, "the record was never announced");
    let host = faulty.start(&[]).await;
    faulty.wait_all("at the end").await;
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_panics_in_mid_batch_costs_nothing() {
    let faulty = Faulty::new("panics", false).await;
    faulty.produce(0..RECORDS).await;
    let fault = Fault::new(Point::AfterCall, Action::Panic).from(RECORDS / 2);
    let host = faulty.start(&[fault]).await;
    host.wait_log("a fault was to panic here", PATIENCE).await;
    let next = faulty.next("after the panic").await;
    assert!(next < RECORDS, "it was to be in mid load");
    host.kill();
    let host = faulty.start(&[]).await;
    faulty.wait_all("at the end").await;
    assert_eq!(host.terminate().await, 0);
}

/// A point that holds the host up holds nothing else up, and goes on where it stood.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_that_is_paused_before_its_commit_commits_when_it_goes_on() {
    let faulty = Faulty::new("pauses", false).await;
    faulty.produce(0..RECORDS).await;
    let go = faulty.scene.env.dir().join("go");
    let fault = Fault::new(Point::Proved, Action::PauseUntil(go.clone())).from(RECORDS / 2);
    let host = faulty.start(&[fault]).await;
    host.wait_log("fault: proved", PATIENCE).await;
    assert!(faulty.next("paused").await < RECORDS / 2 + 7);
    std::fs::write(&go, "").unwrap();
    faulty.wait_all("at the end").await;
    assert_eq!(host.terminate().await, 0);
}

/// The product's own binary is deaf to what arms the points.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_products_binary_has_no_faults_to_arm() {
    let faulty = Faulty::new("deaf", true).await;
    faulty.produce(0..RECORDS).await;
    let all: Vec<Fault> = Point::ALL.into_iter().map(Fault::kill).collect();
    let host = faulty.scene.env.host(faulty.config());
    let host = host.env(FAULTS, &Fault::show(&all));
    let host = host.env("FAILPOINTS", "committed=panic").start().await;
    faulty.wait_all("at the end").await;
    assert_eq!(host.terminate().await, 0);
}

#[test]
fn a_fault_reads_as_it_shows() {
    let shown =
        "commit-sent@137=kill,placed#2=stop,queued@0#3=panic,begun=kill:50,proved=pause:/go";
    let faults = Fault::list(shown).unwrap();
    assert_eq!(Fault::show(&faults), shown);
    for wrong in [
        "commit=kill",
        "begun",
        "begun@x=kill",
        "begun=die",
        "begun=pause",
    ] {
        assert!(Fault::list(wrong).is_err(), "{wrong}");
    }
}

async fn chains(points: &[Point]) {
    stream::iter(points.iter().copied().enumerate())
        .for_each_concurrent(AT_A_TIME, |(i, point)| chain(point, i % 2 == 0))
        .await;
}

/// A third of the records, a host that is killed at `point` among them, three times; then a host that ends well.
async fn chain(point: Point, dedup: bool) {
    let faulty = Faulty::new(&format!("kill-{}", point.name()), dedup).await;
    for (stage, from) in EARLY_TO_LATE.into_iter().enumerate() {
        if stage > 0 && is_at_the_start(point) {
            // The start that is killed goes on in the midst of the log.
            let so_far = third(stage).start;
            die(&faulty, Fault::kill(Point::Committed).from(so_far)).await;
        }
        faulty.produce(third(stage)).await;
        let fault = Fault::kill(point);
        let fault = match point {
            _ if is_at_the_start(point) || point == Point::LettersMarked => fault,
            Point::LetterPublishing | Point::LetterPublished => fault.from(POISON[stage]),
            _ => fault.from(from),
        };
        die(&faulty, fault).await;
    }
    let host = faulty.start(&[]).await;
    let when = format!("{} at the end, dedup {dedup}", point.name());
    faulty.wait_all(&when).await;
    let published = faulty.published().await;
    let distinct: BTreeSet<i64> = published.iter().copied().collect();
    assert_eq!(distinct, POISON.into(), "{when}: letters published");
    // A kill between publishing and marking publishes a round of letters again.
    assert!(published.len() <= POISON.len() * 4, "{when}: {published:?}");
    assert_eq!(host.terminate().await, 0, "{when}");
}

fn third(stage: usize) -> std::ops::Range<i64> {
    let first = THIRD * i64::try_from(stage).unwrap();
    first..first + THIRD
}

fn is_at_the_start(point: Point) -> bool {
    matches!(point, Point::TokenTaken | Point::Placed)
}

/// Runs a host to its death at `fault` and looks at what it left.
async fn die(faulty: &Faulty, fault: Fault) {
    let host = faulty.start(std::slice::from_ref(&fault)).await;
    if fault.point == Point::GivenBack {
        faulty.wait_next(fault.from / THIRD * THIRD + THIRD).await;
        assert_eq!(host.terminate().await, -1, "{fault}");
    } else {
        assert_eq!(host.wait_exit(PATIENCE).await, -1, "{fault}");
    }
    assert!(host.log_count("fault: ") == 1, "{fault} was not met");
    faulty.next(&format!("killed at {fault}")).await;
}
