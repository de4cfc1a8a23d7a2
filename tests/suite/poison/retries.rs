//! Records whose handler asks for a retry.

use tidegate_tests::{secs, wait_for};

use crate::scene::{Counts, PATIENCE, Scene, done_and_rejected, pay};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_that_fails_twice_succeeds_at_its_third_attempt() {
    let scene = Scene::new("retries-twice", 1, 5).await;
    let mut records: Vec<_> = (1..=5)
        .map(|n| pay(n, &format!("e{n}"), "at-once"))
        .collect();
    records[2] = pay(3, "e3", "");
    scene.produce(records).await;
    let consumer = scene.consumer("retries-twice").await;
    let _host = scene.run(consumer.retry("max_elapsed", "60s")).await;
    scene.wait_counts(done_and_rejected(5, 0)).await;
    assert_eq!(scene.journal().await, [1, 2, 3, 4, 5]);
    assert_eq!(scene.letters().await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endless_retries_end_as_a_dead_letter_and_hold_up_their_own_partition_alone() {
    let scene = Scene::new("retries-always", 2, 40).await;
    scene
        .produce(vec![pay(1, "e1", "always"), pay(2, "e2", "at-once")])
        .await;
    let consumer = scene.consumer("retries-twice").await;
    let consumer = consumer.retry("max_elapsed", "8s").batch("max_wait", "0ms");
    let host = scene.run(consumer).await;
    host.wait_log("an attempt broke", PATIENCE).await;
    let others = (3..=40).map(|n| pay(n, &format!("e{n}"), "at-once").to(1));
    scene.produce(others.collect()).await;
    wait_for(secs(7), "the other partition", async || {
        (scene.counts().await.done == 38).then_some(())
    })
    .await;
    assert_eq!(scene.counts().await, done_and_rejected(38, 0));

    scene.wait_counts(done_and_rejected(39, 1)).await;
    let letter = scene.letters().await.remove(0);
    assert_eq!((letter.partition, letter.offset), (0, 0));
    assert_eq!(letter.code, "retries-exhausted");
    assert!(letter.message.contains("not yet, at attempt"), "{letter:?}");
    assert!(letter.attempts >= 4, "{letter:?}");
    assert_eq!(scene.balance(1).await, 0);
    assert_eq!(scene.journal().await.last(), Some(&2));
}

/// The neighbours of a record that is being retried are handled once, whatever order failures come in.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retried_records_among_others_keep_the_partitions_order() {
    let scene = Scene::new("retries-mixed", 1, 60).await;
    let trick = |n: i64| if n % 20 == 7 { "" } else { "at-once" };
    let records = (1..=60).map(|n| pay(n, &format!("e{n}"), trick(n)));
    scene.produce(records.collect()).await;
    let consumer = scene.consumer("retries-twice").await;
    let _host = scene.run(consumer.retry("max_elapsed", "60s")).await;
    scene
        .wait_counts(Counts {
            done: 60,
            ..Counts::default()
        })
        .await;
    assert_eq!(scene.journal().await, (1..=60).collect::<Vec<_>>());
}
