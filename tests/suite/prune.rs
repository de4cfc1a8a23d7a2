//! Pruning: what goes, what stays, and that it disturbs nobody.

use tidegate_tests::{Consumer, HostConfig, Rec, wait_eq, wait_for};

use crate::scene::{PATIENCE, Scene, done_and_rejected, pay};

/// Of two consumers with the same TTL, only the one whose grace is over loses its claims; an open letter's stays.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claims_go_after_ttl_and_grace_but_for_those_of_open_letters() {
    let scene = Scene::new("prune", 1, 10).await;
    let trick = |n: i64| if n == 4 { "reject" } else { "" };
    let records = (1..=10).map(|n| pay(n, &format!("e{n}"), trick(n)));
    scene.produce(records.collect()).await;
    let graceful = scene.env.unique("graceful");
    let second = Consumer::new(&graceful)
        .topic(&scene.topic)
        .set("start", "earliest");
    let second = second
        .handler(tidegate_tests::guest("rejects").await)
        .dedup("ttl", "1s")
        .dedup("grace", "1h");
    let config = config(&scene).consumer(short_lived(&scene).await);
    let _host = scene.env.host(config.consumer(second)).start().await;
    scene.wait_counts(done_and_rejected(9, 1)).await;
    wait_eq(
        PATIENCE,
        "the second consumer",
        done_and_rejected(9, 1),
        async || scene.counts_of(&graceful).await,
    )
    .await;
    wait_claims(&scene, 1).await;
    let expired = "SELECT count(*) FROM tidegate.processed_events WHERE processed_until < now()
                      AND consumer_name = ";
    wait_eq(PATIENCE, "the second's to expire", 10, async || {
        scene
            .env
            .db
            .query_one_i64(&format!("{expired}'{graceful}'"))
            .await
    })
    .await;
    let left = format!(
        "SELECT event_id, outcome FROM tidegate.processed_events WHERE consumer_name = '{}'",
        scene.consumer
    );
    let expected = ["e4", "rejected"].map(|text| Some(text.to_owned()));
    assert_eq!(scene.env.db.query_text(&left).await, [expected]);
    // Another round of pruning has passed when a later claim has come and gone.
    scene.produce(vec![pay(1, "later", "")]).await;
    scene.wait_counts(done_and_rejected(10, 1)).await;
    wait_claims(&scene, 1).await;
    let sql = format!(
        "SELECT count(*) FROM tidegate.processed_events WHERE consumer_name = '{graceful}'"
    );
    assert_eq!(scene.env.db.query_one_i64(&sql).await, 11);
}

/// The rows of a topic that has left the configuration go like all others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claims_of_a_topic_that_left_the_configuration_go_too() {
    let scene = Scene::new("prune-left", 1, 1).await;
    let records = (0..2_000).map(|n| pay(1, &format!("e{n}"), ""));
    scene.produce(records.collect()).await;
    let patient = scene.consumer("rejects").await.dedup("ttl", "1s");
    let host = scene.run(patient.dedup("grace", "1h")).await;
    scene.wait_counts(done_and_rejected(2_000, 0)).await;
    assert_eq!(host.terminate().await, 0);
    assert_eq!(claims(&scene).await, 2_000);

    let other = scene.env.topic("other", 1).await;
    scene
        .env
        .kafka
        .create_topic(&format!("{other}.dlt"), 1, &[])
        .await;
    let consumer = scene.env.consumer(&other, "rejects").await;
    let consumer = consumer.dedup("ttl", "1s").dedup("grace", "0s");
    let _host = scene
        .env
        .host(config(&scene).consumer(consumer))
        .start()
        .await;
    wait_claims(&scene, 0).await;
}

/// A consumer that has left the configuration leaves rows behind; they are not kept for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claims_of_a_consumer_that_left_the_configuration_go_too() {
    let scene = Scene::new("prune-gone", 1, 1).await;
    scene.produce(vec![pay(1, "e1", "")]).await;
    let host = scene.run(scene.consumer("rejects").await).await;
    scene.wait_counts(done_and_rejected(1, 0)).await;
    assert_eq!(host.terminate().await, 0);
    let long_ago =
        "UPDATE tidegate.processed_events SET processed_at = now() - interval '10 years',
                    processed_until = now() - interval '9 years'";
    scene.env.db.exec(long_ago).await;

    let other = Consumer::new(&scene.env.unique("newcomer")).topic(&scene.topic);
    let other = other.handler(tidegate_tests::guest("rejects").await);
    let other = other.set("start", "latest");
    let _host = scene.env.host(config(&scene).consumer(other)).start().await;
    wait_claims(&scene, 0).await;
}

/// Claims expire, are taken over and are pruned all at once, in two partitions that carry the same events.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pruning_runs_beside_load_without_a_deadlock() {
    const EVENTS: i64 = 300;
    let scene = Scene::new("prune-load", 2, EVENTS).await;
    let consumer = short_lived(&scene).await.batch("max_wait", "0ms");
    let host = scene
        .env
        .host(config(&scene).consumer(consumer))
        .start()
        .await;
    let producer = scene.env.kafka.producer();
    let (mut produced, mut rounds) = (0, 0);
    let began = std::time::Instant::now();
    // Several rounds of pruning pass while records keep coming.
    while rounds < 4 || began.elapsed() < tidegate_tests::secs(6) {
        let one = |n: i64| {
            let record = move |partition| pay(n, &format!("e{n:03}"), "").to(partition);
            [record(0), record(1)]
        };
        let mut records: Vec<Rec> = (1..=EVENTS).flat_map(one).collect();
        if rounds % 2 == 1 {
            records.reverse();
        }
        produced += 2 * EVENTS;
        rounds += 1;
        producer.send(&scene.topic, records).await;
        wait_for(PATIENCE, "this round", async || {
            let c = scene.counts().await;
            (c.done + c.republished == produced).then_some(())
        })
        .await;
    }
    wait_claims(&scene, 0).await;
    let counts = scene.counts().await;
    assert_eq!(counts.done + counts.republished, produced, "{counts:?}");
    assert_eq!(counts.rejected + counts.skipped + counts.redelivered, 0);
    let journal = i64::try_from(scene.journal().await.len()).unwrap();
    assert_eq!(
        journal, counts.done,
        "each handled record has its effect once"
    );
    assert!(counts.done > EVENTS, "events were handled anew: {counts:?}");
    let sql = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    assert_eq!(scene.env.db.query_one_i64(sql).await, 0);
    assert!(host.is_running());
}

/// The progress row remembers what the inbox has forgotten.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_redoes_nothing_although_all_claims_were_pruned_while_it_was_down() {
    let scene = Scene::new("prune-down", 2, 400).await;
    let records = (1..=400).map(|n| {
        let partition = i32::try_from(n % 2).unwrap();
        pay(n, &format!("e{n}"), "").to(partition)
    });
    scene.produce(records.collect()).await;
    let consumer = scene.consumer("rejects").await.batch("max_records", 50);
    let group = consumer.name.clone();
    let host = scene.run(consumer).await;
    scene.wait_counts(done_and_rejected(400, 0)).await;
    host.kill();
    // An expired group: Kafka has forgotten where it was, too.
    scene.env.kafka.delete_group(&group).await;
    scene
        .env
        .db
        .exec("DELETE FROM tidegate.processed_events")
        .await;

    let host = host.restart().await;
    let more = [pay(1, "new-0", ""), pay(2, "new-1", "").to(1)];
    scene.produce(more.to_vec()).await;
    scene.wait_counts(done_and_rejected(402, 0)).await;
    assert_eq!(claims(&scene).await, 2);
    let mut journal = scene.journal().await;
    journal.sort_unstable();
    let expected = [1, 1, 2, 2].into_iter().chain(3..=400);
    assert_eq!(journal, expected.collect::<Vec<_>>());
    assert!(host.is_running());
}

fn config(scene: &Scene) -> HostConfig {
    scene.env.config().set("postgres", "prune_interval", "1s")
}

async fn short_lived(scene: &Scene) -> Consumer {
    let consumer = scene.consumer("rejects").await;
    consumer.dedup("ttl", "1s").dedup("grace", "0s")
}

async fn claims(scene: &Scene) -> i64 {
    let sql = format!(
        "SELECT count(*) FROM tidegate.processed_events WHERE consumer_name = '{}'",
        scene.consumer
    );
    scene.env.db.query_one_i64(&sql).await
}

async fn wait_claims(scene: &Scene, expected: i64) {
    wait_eq(PATIENCE, "claims left", expected, async || {
        claims(scene).await
    })
    .await;
}
