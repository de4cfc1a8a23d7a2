//! A host that stands still at some point of a record's life for longer than its session, while another takes its place:
//! what it does when it goes on changes nothing.
//!
//! `dedup` is off: the inbox must not be what saves it.

use futures_util::StreamExt;
use futures_util::stream;
use tidegate_tests::{Action, Fault, Point};

use crate::faulty::{Faulty, RECORDS};
use crate::rows::PATIENCE;

const POINTS: [Point; 7] = [
    Point::BatchCut,
    Point::AfterCall,
    Point::Proved,
    Point::CommitSent,
    Point::Committed,
    Point::OffsetSending,
    Point::LetterPublished,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_stood_still_at_any_point_while_another_took_over_changes_nothing() {
    stream::iter(POINTS)
        .for_each_concurrent(POINTS.len(), stands_still)
        .await;
}

/// Kafka tells an overtaken host so, mostly before it does anything. Here it does not: the test itself takes the position
/// over, and only the fence is left.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_kafka_does_not_tell_that_it_was_overtaken_meets_the_fence() {
    let faulty = Faulty::new("stop-untold", false).await;
    let (first, taken_over) = (0..10, 10..17);
    faulty.produce(first.clone()).await;
    let go = faulty.scene.env.dir().join("go");
    let fault = Fault::new(Point::BatchCut, Action::PauseUntil(go.clone()));
    let host = faulty.start(&[fault.from(taken_over.start)]).await;
    faulty.wait_next(first.end).await;
    faulty.produce(taken_over.clone()).await;
    host.wait_log("fault: ", PATIENCE).await;

    let credits = taken_over.clone().map(|offset| {
        let account = offset + 1;
        format!("UPDATE accounts SET balance = balance + 1 WHERE id = {account};")
    });
    let (credits, n) = (credits.collect::<String>(), taken_over.end);
    let position = format!(
        "UPDATE tidegate.progress SET owner = gen_random_uuid(), next_offset = {n}, done = done + {}",
        taken_over.count()
    );
    let heir = format!("BEGIN; {credits} {position}; COMMIT");
    faulty.scene.env.db.exec(&heir).await;
    std::fs::write(&go, "").unwrap();
    host.wait_log("fenced: another host", PATIENCE).await;
    assert_eq!(faulty.next("overtaken").await, n);
    faulty.produce(n..RECORDS).await;
    faulty.wait_all("at the end").await;
    assert_eq!(host.terminate().await, 0);
}

async fn stands_still(point: Point) {
    let faulty = Faulty::new(&format!("stop-{}", point.name()), false).await;
    faulty.produce(0..RECORDS).await;
    // A stopped host's transaction is ended by the server after nine seconds, about the least that is allowed.
    let config = faulty
        .config()
        .set("postgres", "idle_in_transaction_timeout", "9s");
    let from = match point {
        Point::OffsetSending => 1,
        _ => RECORDS / 2,
    };
    let fault = Fault::new(point, Action::Stop).from(from);
    let sleeper = faulty.start_as(config.clone(), &[fault]).await;
    sleeper.wait_log("fault: ", PATIENCE).await;

    let heir = faulty.start_as(config, &[]).await;
    faulty
        .wait_all(&format!("{} by the heir", point.name()))
        .await;
    sleeper.cont();
    sleeper.wait_log("fenced: ", PATIENCE).await;
    faulty.wait_all(&format!("{} after it", point.name())).await;
    for host in [sleeper, heir] {
        assert_eq!(host.terminate().await, 0, "{}", point.name());
    }
}
