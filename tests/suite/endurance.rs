//! Attempts that outlive a host, and failures that outlast a poll interval.

use tidegate_tests::{secs, wait_for};

use crate::rows::{exists, wait_owned};
use crate::scene::{Counts, PATIENCE, Scene, done_and_rejected, pay};

/// How often the record that blocks a partition has failed, as the row has it.
async fn attempts(scene: &Scene, partition: i32) -> i64 {
    if !exists(&scene.env.db, "tidegate.progress.failing_attempts").await {
        return 0;
    }
    let sql = format!(
        "SELECT coalesce(max(failing_attempts), 0) FROM tidegate.progress
          WHERE partition = {partition} AND failing_offset >= next_offset"
    );
    scene.env.db.query_one_i64(&sql).await
}

async fn wait_attempts(scene: &Scene, partition: i32, at_least: i64) {
    let what = format!("attempt {at_least} in partition {partition}");
    wait_for(PATIENCE, &what, async || {
        (attempts(scene, partition).await >= at_least).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attempts_go_on_counting_after_a_kill() {
    let scene = Scene::new("attempts-kill", 1, 3).await;
    scene
        .produce(vec![
            pay(1, "e1", "always"),
            pay(2, "e2", ""),
            pay(3, "e3", "at-once"),
        ])
        .await;
    let consumer = scene.consumer("retries-twice").await;
    // The third wait is long: the host is killed in it.
    let consumer = consumer
        .retry("initial", "200ms")
        .retry("max", "2s")
        .retry("max_attempts", 5)
        .retry("max_elapsed", "10m");
    let host = scene.run(consumer).await;
    wait_attempts(&scene, 0, 3).await;
    host.kill();
    let before = attempts(&scene, 0).await;
    let host = host.restart().await;
    scene.wait_counts(done_and_rejected(2, 1)).await;
    let letter = scene.letters().await.remove(0);
    assert_eq!(
        (letter.offset, letter.code.as_str()),
        (0, "retries-exhausted")
    );
    assert_eq!(letter.attempts, 5);
    // The guest was told the number, and the next record began at 1: it asks for two more calls.
    assert!(letter.message.contains("at attempt 5"), "{letter:?}");
    assert!((3..5).contains(&before), "killed too late: {before}");
    assert!(host.log_count("hosts have died") == 0);
    assert_eq!(scene.journal().await, [2, 3]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attempts_go_with_the_partition_to_another_host() {
    let scene = Scene::new("attempts-move", 1, 1).await;
    scene.produce(vec![pay(1, "e1", "always")]).await;
    let consumer = scene.consumer("retries-twice").await;
    let consumer = consumer
        .retry("initial", "200ms")
        .retry("max", "2s")
        .retry("max_attempts", 5)
        .retry("max_elapsed", "10m");
    let leaver = scene.run(consumer.clone()).await;
    wait_attempts(&scene, 0, 2).await;
    let stayer = scene.run(consumer).await;
    assert_eq!(leaver.terminate().await, 0);
    let before = attempts(&scene, 0).await;
    assert!(before < 5, "it was to end at the other host");
    scene.wait_counts(done_and_rejected(0, 1)).await;
    assert_eq!(scene.letters().await[0].attempts, 5);
    stayer.wait_log("position taken", PATIENCE).await;
}

/// Success in one partition must not reset another's attempts, nor one's failures count for the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_that_fail_in_turn_each_reach_their_own_limit() {
    let scene = Scene::new("attempts-turn", 2, 60).await;
    for n in 1..=10 {
        let odd = pay(
            n,
            &format!("a{n}"),
            if n == 5 { "always" } else { "at-once" },
        );
        let even = pay(
            n + 10,
            &format!("b{n}"),
            if n == 6 { "always" } else { "at-once" },
        );
        scene.produce(vec![odd, even.to(1)]).await;
    }
    let consumer = scene.consumer("retries-twice").await;
    let consumer = consumer
        .retry("max_attempts", 4)
        .retry("max_elapsed", "10m");
    let host = scene.run(consumer).await;
    wait_attempts(&scene, 0, 2).await;
    // The other partition goes on succeeding between this one's failures.
    let more = (11..=30).map(|n| pay(n + 20, &format!("b{n}"), "at-once").to(1));
    scene.produce(more.collect()).await;
    scene.wait_counts(done_and_rejected(38, 2)).await;
    let letters = scene.letters().await;
    let seen: Vec<_> = letters
        .iter()
        .map(|l| (l.partition, l.offset, l.attempts))
        .collect();
    assert_eq!(seen, [(0, 4, 4), (1, 5, 4)]);
    assert_eq!(host.terminate().await, 0);
}

/// A transient failure of three times `max.poll.interval.ms` moves no partition and slows no other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_far_longer_than_the_poll_interval_costs_no_rebalance() {
    let scene = Scene::new("attempts-long", 2, 400).await;
    scene.env.db.exec("CREATE TABLE gate (open boolean)").await;
    scene
        .produce(vec![pay(1, "e1", "until-open"), pay(2, "e2", "at-once")])
        .await;
    let consumer = scene.consumer("waits-for-gate").await;
    let consumer = consumer
        .retry("max_elapsed", "10m")
        .batch("max_wait", "0ms");
    let config = scene.env.config().consumer(consumer);
    let config = config
        .librdkafka("max.poll.interval.ms", "2000")
        .librdkafka("session.timeout.ms", "1500");
    let host = scene.env.host(config).start().await;
    wait_owned(&scene.env.db, 2).await;
    wait_attempts(&scene, 0, 1).await;
    // The other partition's records keep coming, and are done while the first one waits.
    let began = std::time::Instant::now();
    let mut n = 2;
    while began.elapsed() < secs(6) {
        n += 1;
        scene
            .produce(vec![pay(n, &format!("e{n}"), "at-once").to(1)])
            .await;
        scene.wait_counts(done_and_rejected(n - 2, 0)).await;
    }
    assert!(attempts(&scene, 0).await > 3);
    scene.env.db.exec("INSERT INTO gate VALUES (true)").await;
    let all = Counts {
        done: n,
        ..Counts::default()
    };
    scene.wait_counts(all).await;
    assert_eq!(host.log_count("position taken"), 2, "a partition moved");
    assert_eq!(scene.letters().await, []);
}
