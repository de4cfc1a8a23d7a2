//! How long dead letters are kept: open ones for ever, and closed ones until they have nothing more to tell.

use tidegate_tests::{HostConfig, wait_eq};

use crate::scene::{PATIENCE, Scene, done_and_rejected, pay};

fn often(config: HostConfig) -> HostConfig {
    config.set("postgres", "prune_interval", "1s")
}

async fn left(scene: &Scene) -> Vec<String> {
    let sql = "SELECT event_id FROM tidegate.dead_letters ORDER BY event_id";
    let rows = scene.env.db.query_text(sql).await;
    rows.into_iter()
        .map(|mut row| row.remove(0).unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closed_and_published_letters_go_and_all_others_stay() {
    let scene = Scene::new("keep", 1, 9).await;
    let ids = ["closed", "open", "unpublished", "unpublishable", "young"];
    scene
        .produce(ids.map(|id| pay(1, id, "reject")).to_vec())
        .await;
    let consumer = scene
        .consumer("rejects")
        .await
        .dead_letter("keep_closed", "1h");
    // No relay has a place to publish to: what is published here, the test says.
    let consumer = consumer.dead_letter("topic", scene.env.unique("nowhere"));
    let config = often(scene.env.config()).consumer(consumer);
    let host = scene.env.host(config).start().await;
    scene.wait_counts(done_and_rejected(0, 5)).await;
    let replay = "INSERT INTO tidegate.replays (consumer_name, requested_by, filter, status, finished_at)
                  VALUES ('c', 'me', '', 'done', now() - interval '2 hours'), ('c', 'me', '', 'done', now())";
    scene.env.db.exec(replay).await;
    let close = |ids: &str, more: &str| {
        format!("UPDATE tidegate.dead_letters SET status = 'discarded', closed_at = now() - interval '2 hours'{more}
                  WHERE event_id IN ({ids})")
    };
    for sql in [
        close("'unpublished'", ""),
        close("'unpublishable'", ", unpublishable = 'too large'"),
        close("'young'", ", published_at = now()"),
        "UPDATE tidegate.dead_letters SET closed_at = now() WHERE event_id = 'young'".to_owned(),
        "UPDATE tidegate.dead_letters SET published_at = now() - interval '1 year' WHERE event_id = 'open'".to_owned(),
        close("'closed'", ", published_at = now()"),
    ] {
        scene.env.db.exec(&format!("BEGIN; {sql}; COMMIT")).await;
    }
    wait_eq(
        PATIENCE,
        "letters left",
        vec!["open".to_owned(), "unpublished".into(), "young".into()],
        async || left(&scene).await,
    )
    .await;
    host.wait_log("closed dead letters removed", PATIENCE).await;
    host.wait_log("finished replays removed", PATIENCE).await;
    let replays = "SELECT count(*) FROM tidegate.replays";
    assert_eq!(scene.env.db.query_one_i64(replays).await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_dead_letter_topic_a_closed_letter_waits_for_no_publishing() {
    let scene = Scene::new("keep-off", 1, 9).await;
    scene
        .produce(vec![pay(1, "closed", "reject"), pay(1, "open", "reject")])
        .await;
    let consumer = scene.consumer("rejects").await.set("dead_letter", "off");
    let config = often(scene.env.config()).consumer(consumer);
    let _host = scene.env.host(config).start().await;
    scene.wait_counts(done_and_rejected(0, 2)).await;
    let close = "UPDATE tidegate.dead_letters SET status = 'discarded', closed_at = now() - interval '31 days'
                  WHERE event_id = 'closed'";
    scene.env.db.exec(close).await;
    wait_eq(
        PATIENCE,
        "letters left",
        vec!["open".to_owned()],
        async || left(&scene).await,
    )
    .await;
}
