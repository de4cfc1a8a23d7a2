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
