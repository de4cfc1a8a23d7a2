//! Two hosts that reach for the same expired claims at once.

use tidegate_tests::{Rec, wait_for};

use crate::scene::{Counts, PATIENCE, Scene, done_and_rejected, pay};

const EVENTS: i64 = 200;

/// Both partitions carry every event, in opposite orders, so that the claims cross.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_hosts_racing_for_an_expired_claim_one_wins() {
    let scene = Scene::new("ttl-race", 2, EVENTS).await;
    let events = |partition: i32| {
        let one = move |n: i64| pay(n, &format!("e{n:03}"), "").to(partition);
        (1..=EVENTS).map(one).collect::<Vec<Rec>>()
    };
    let consumer = scene.consumer("rejects").await.batch("max_records", 50);
    let (one, two) = tokio::join!(scene.run(consumer.clone()), scene.run(consumer.clone()));
    scene.produce(events(0)).await;
    scene.wait_counts(done_and_rejected(EVENTS, 0)).await;
    wait_for(PATIENCE, "each host to have a partition", async || {
        let members = scene.env.kafka.group_members(&consumer.name).await;
        let placed = |host: &tidegate_tests::Host| host.log_count("position taken") > 0;
        (members == 2 && placed(&one) && placed(&two)).then_some(())
    })
    .await;
    scene.expire_all().await;

    let mut backwards = events(1);
    backwards.reverse();
    tokio::join!(scene.produce(events(0)), scene.produce(backwards));
    let expected = Counts {
        done: 2 * EVENTS,
        republished: EVENTS,
        taken_over: EVENTS,
        ..Counts::default()
    };
    scene.wait_counts(expected).await;
    let mut journal = scene.journal().await;
    journal.sort_unstable();
    let twice = (1..=EVENTS).flat_map(|n| [n, n]);
    assert_eq!(journal, twice.collect::<Vec<_>>());
    assert_eq!(scene.letters().await, []);
    assert!(one.is_running() && two.is_running());
}
