//! Hosts that die over and over: the record that takes them down is found, and nobody else pays.

use tidegate_tests::{Consumer, Host, HostConfig, wait_for};

use crate::rows::{AccountLock, BLOCKED, PATIENCE, slow_recs, wait_blocked};
use crate::scene::{Counts, Scene, done_and_rejected, pay};

/// The account whose holder dies: the test kills the host whenever it sees it at work there.
const DEADLY: i64 = 7;

fn config(scene: &Scene, consumer: Consumer) -> HostConfig {
    let config = scene.env.config().librdkafka("group.instance.id", "a");
    config.consumer(consumer)
}

/// Waits until the deadly record runs, and kills the host; `false` if the consumer came to the end instead.
async fn kill_at_work(scene: &Scene, host: &Host, end: Counts) -> bool {
    let db = &scene.env.db;
    let deadly = wait_for(PATIENCE, "the deadly record, or the end", async || {
        assert!(host.is_running(), "the host ended by itself");
        if scene.counts().await == end {
            return Some(false);
        }
        (db.query_one_i64(BLOCKED).await > 0).then_some(true)
    })
    .await;
    if deadly {
        host.kill();
        // The server notices within a second, and rolls back.
        wait_blocked(db, 0).await;
    }
    deadly
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_that_takes_the_host_down_is_found_and_dead_lettered_alone() {
    let scene = Scene::new("crash-loop", 1, 20).await;
    let records = (1..=20).map(|n| pay(n, &format!("e{n}"), ""));
    scene.produce(records.collect()).await;
    let consumer = scene.consumer("credit-rust").await;
    let mut host = scene.env.host(config(&scene, consumer)).start().await;
    let lock = AccountLock::take(&scene.env.db, DEADLY).await;
    let mut kills = 0;
    while kill_at_work(&scene, &host, done_and_rejected(19, 1)).await {
        kills += 1;
        assert!(kills < 10, "the record is never found");
        host = host.restart().await;
    }
    // Two to grow suspicious, three under its own mark.
    assert_eq!(kills, 5);
    lock.release().await;
    let letter = scene.letters().await.remove(0);
    assert_eq!(letter.offset, DEADLY - 1);
    assert_eq!((letter.code.as_str(), letter.attempts), ("host-crash", 3));
    assert_eq!(scene.balance(DEADLY).await, 0);
    let others: Vec<i64> = (1..=20).filter(|n| *n != DEADLY).collect();
    assert_eq!(scene.journal().await, others);
    // What comes behind runs in batches again, unannounced.
    let more = (21..=40).map(|n| pay(n - 20, &format!("e{n}"), ""));
    scene.produce(more.collect()).await;
    scene.wait_counts(done_and_rejected(39, 1)).await;
    assert_eq!(host.terminate().await, 0);
}

/// A slow database, an impatient operator: the record at work each time is not to blame.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_kills_for_another_reason_dead_letter_nobody() {
    let scene = Scene::new("crash-three", 1, 20).await;
    let records = (1..=20).map(|n| pay(n, &format!("e{n}"), ""));
    scene.produce(records.collect()).await;
    let consumer = scene.consumer("credit-rust").await;
    let mut host = scene.env.host(config(&scene, consumer)).start().await;
    let lock = AccountLock::take(&scene.env.db, DEADLY).await;
    for _ in 0..3 {
        assert!(kill_at_work(&scene, &host, done_and_rejected(20, 0)).await);
        host = host.restart().await;
    }
    lock.release().await;
    scene.wait_counts(done_and_rejected(20, 0)).await;
    assert_eq!(scene.letters().await, []);
    assert_eq!(scene.journal().await, (1..=20).collect::<Vec<_>>());
    assert_eq!(host.terminate().await, 0);
}

/// The killer's partition crashes the process; the neighbour's records are at work just as often.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_partitions_crashes_dead_letter_no_neighbour() {
    let scene = Scene::new("crash-neighbour", 2, 40).await;
    let neighbours = tidegate_tests::payments(30, 6);
    // The first of them is at work for so long that every crash would find it so, if it ran beside the deadly one.
    let mut slow = slow_recs(&neighbours[..1], 3_000);
    slow.extend(slow_recs(&neighbours[1..], 20));
    let slow = slow.into_iter().map(|rec| rec.to(1));
    scene.produce(slow.collect()).await;
    scene.produce(vec![pay(DEADLY, "deadly", "")]).await;
    let consumer = scene.consumer("slow").await.batch("max_records", 5);
    let mut host = scene.env.host(config(&scene, consumer)).start().await;
    let lock = AccountLock::take(&scene.env.db, DEADLY).await;
    let end = done_and_rejected(30, 1);
    let mut kills = 0;
    while kill_at_work(&scene, &host, end).await {
        kills += 1;
        assert!(kills < 10, "the record is never found");
        host = host.restart().await;
    }
    lock.release().await;
    let letters = scene.letters().await;
    assert_eq!(letters.len(), 1, "{letters:?}");
    assert_eq!(
        (letters[0].partition, letters[0].code.as_str()),
        (0, "host-crash")
    );
    assert_eq!(scene.journal().await.len(), 30);
    assert_eq!(host.terminate().await, 0);
}

/// A partition that is given back in good order, however often, is no crash.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_that_leave_in_good_order_make_nobody_careful() {
    let scene = Scene::new("crash-none", 1, 2).await;
    let consumer = scene.consumer("credit-rust").await;
    let mut host = scene.env.host(config(&scene, consumer)).start().await;
    for _ in 0..4 {
        host.wait_log("position taken", PATIENCE).await;
        assert_eq!(host.terminate().await, 0);
        host = host.restart().await;
    }
    scene.produce(vec![pay(1, "e1", "")]).await;
    scene.wait_counts(done_and_rejected(1, 0)).await;
    assert_eq!(host.log_count("hosts have died"), 0);
    let ends = "SELECT max(unclean_ends) FROM tidegate.progress";
    assert_eq!(scene.env.db.query_one_i64(ends).await, 0);
}
