//! Copies of an event, the first of which is rejected.

use tidegate_tests::{HostConfig, wait_eq, wait_for};

use crate::scene::{Counts, PATIENCE, Scene, done_and_rejected, pay};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_good_second_copy_in_the_same_batch_is_handled() {
    let scene = Scene::new("copies-batch", 1, 3).await;
    let records = vec![
        pay(1, "e", "reject"),
        pay(2, "other", ""),
        pay(1, "e", ""),
        pay(1, "e", ""),
        pay(1, "e", "reject"),
    ];
    scene.produce(records).await;
    let _host = scene.run(scene.consumer("rejects").await).await;
    let expected = Counts {
        done: 2,
        rejected: 1,
        republished: 2,
        ..Counts::default()
    };
    scene.wait_counts(expected).await;
    assert_eq!(scene.journal().await, [2, 1]);
    assert_superseded_at(&scene, 0).await;
    assert_claim(&scene, "e", "done", 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_corrected_republish_in_a_later_batch_supersedes_the_letter() {
    let scene = Scene::new("copies-later", 1, 3).await;
    scene.produce(vec![pay(1, "e", "reject")]).await;
    let _host = scene.run(scene.consumer("rejects").await).await;
    scene.wait_counts(done_and_rejected(0, 1)).await;
    assert_claim(&scene, "e", "rejected", 0).await;
    assert_eq!(scene.letters().await[0].status, "open");

    scene.produce(vec![pay(1, "e", "")]).await;
    scene.wait_counts(done_and_rejected(1, 1)).await;
    assert_superseded_at(&scene, 0).await;
    assert_claim(&scene, "e", "done", 1).await;

    scene.produce(vec![pay(1, "e", "")]).await;
    let expected = Counts {
        republished: 1,
        ..done_and_rejected(1, 1)
    };
    scene.wait_counts(expected).await;
    assert_eq!(scene.journal().await, [1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_bad_copies_leave_two_letters_and_a_good_third_closes_both() {
    let scene = Scene::new("copies-bad", 1, 3).await;
    let bad = || pay(1, "e", "write-then-reject");
    scene.produce(vec![bad(), pay(2, "other", ""), bad()]).await;
    let _host = scene.run(scene.consumer("rejects").await).await;
    scene.wait_counts(done_and_rejected(1, 2)).await;
    assert_eq!(scene.codes().await, ["rejected", "rejected"]);
    scene.produce(vec![pay(1, "e", "")]).await;
    scene.wait_counts(done_and_rejected(2, 2)).await;
    let letters = scene.letters().await;
    assert!(
        letters.iter().all(|l| l.status == "superseded"),
        "{letters:?}"
    );
    assert_eq!(scene.journal().await, [2, 1]);
}

/// The claim of an open letter outlives its TTL and pruning; the corrected record is then handled once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_open_letters_claim_outlives_its_ttl_and_nothing_doubles() {
    let scene = Scene::new("copies-ttl", 1, 3).await;
    let ttl = |rec: tidegate_tests::Rec, seconds: &str| rec.header("event-ttl", seconds);
    let bad = || ttl(pay(1, "e", "reject"), "1");
    scene
        .produce(vec![bad(), ttl(pay(2, "other", ""), "1")])
        .await;
    let consumer = scene.consumer("rejects").await;
    let consumer = consumer
        .dedup("ttl_from", "header:event-ttl")
        .dedup("grace", "0s");
    let config: HostConfig = scene.env.config().set("postgres", "prune_interval", "1s");
    let host = scene.env.host(config.consumer(consumer)).start().await;
    scene.wait_counts(done_and_rejected(1, 1)).await;
    wait_eq(PATIENCE, "the other claim to be pruned", 1, async || {
        let sql = "SELECT count(*) FROM tidegate.processed_events";
        scene.env.db.query_one_i64(sql).await
    })
    .await;
    assert_claim(&scene, "e", "rejected", 0).await;

    scene.produce(vec![ttl(pay(1, "e", ""), "3600")]).await;
    scene.wait_counts(done_and_rejected(2, 1)).await;
    scene
        .produce(vec![ttl(pay(1, "e", ""), "3600"), bad()])
        .await;
    let expected = Counts {
        republished: 2,
        ..done_and_rejected(2, 1)
    };
    scene.wait_counts(expected).await;
    assert_eq!(scene.journal().await, [2, 1]);
    assert_superseded_at(&scene, 0).await;
    assert!(host.is_running());
}

/// A host that dies right after it committed a rejection must not run the rejected record again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rejected_record_that_comes_again_is_a_redelivery() {
    let scene = Scene::new("copies-again", 1, 3).await;
    scene
        .produce(vec![pay(1, "e", "reject"), pay(2, "f", "")])
        .await;
    let consumer = scene.consumer("rejects").await;
    let group = consumer.name.clone();
    let host = scene.run(consumer).await;
    scene.wait_counts(done_and_rejected(1, 1)).await;
    let (kafka, topic) = (&scene.env.kafka, &scene.topic);
    wait_for(PATIENCE, "the group's offset", async || {
        (kafka.group_offset(&group, topic, 0).await == Some(2)).then_some(())
    })
    .await;
    assert_eq!(host.terminate().await, 0);
    kafka.commit_group_offset(&group, topic, 0, 0).await;
    let _host = host.restart().await;
    let expected = Counts {
        redelivered: 2,
        ..done_and_rejected(1, 1)
    };
    scene.wait_counts(expected).await;
    assert_eq!(scene.journal().await, [2]);
    let letters = scene.letters().await;
    assert_eq!((letters.len(), letters[0].status.as_str()), (1, "open"));
}

async fn assert_superseded_at(scene: &Scene, offset: i64) {
    let letters = scene.letters().await;
    let seen: Vec<_> = letters
        .iter()
        .map(|l| (l.offset, l.status.as_str()))
        .collect();
    assert_eq!(seen, [(offset, "superseded")]);
}

async fn assert_claim(scene: &Scene, id: &str, outcome: &str, offset: i64) {
    let sql = format!(
        "SELECT outcome, \"offset\" FROM tidegate.processed_events WHERE event_id = '{id}'"
    );
    let rows = scene.env.db.query_text(&sql).await;
    let expected = vec![vec![Some(outcome.to_owned()), Some(offset.to_string())]];
    assert_eq!(rows, expected);
}
