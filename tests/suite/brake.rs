//! The brake, pausing and resuming: a bad module must not drain a topic into the dead letters.

use tidegate_tests::{Consumer, HostConfig, digest, guest_bytes, wait_eq, wait_for};

use crate::rows::exists;
use crate::scene::{PATIENCE, Scene, done_and_rejected, pay};
use crate::swap::replace;

/// The brake looks at so many records, of which half may be rejected.
const WINDOW: i64 = 20;

fn braked(consumer: Consumer) -> Consumer {
    consumer
        .brake("window", WINDOW)
        .brake("share", tidegate_tests::Raw("0.5"))
        .batch("max_records", 5)
        .batch("max_wait", "0ms")
}

pub(crate) async fn state(scene: &Scene) -> String {
    if !exists(&scene.env.db, "tidegate.consumers").await {
        return "running".to_owned();
    }
    let sql = format!(
        "SELECT coalesce(max(state), 'running') FROM tidegate.consumers WHERE consumer_name = '{}'",
        scene.consumer
    );
    let rows = scene.env.db.query_text(&sql).await;
    rows[0][0].clone().unwrap()
}

pub(crate) async fn wait_state(scene: &Scene, expected: &str) {
    wait_eq(
        PATIENCE,
        "the consumer's state",
        expected.to_owned(),
        async || state(scene).await,
    )
    .await;
}

async fn command(scene: &Scene, config: &HostConfig, what: &[&str]) -> String {
    let said = scene.env.cli(what, config).await;
    assert_eq!(said.code, 0, "{said:?}");
    said.stdout
}

fn rejected(from: i64, to: i64) -> Vec<tidegate_tests::Rec> {
    (from..=to)
        .map(|n| pay(n, &format!("e{n}"), "reject"))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_module_that_rejects_everything_is_stopped_and_another_one_goes_on() {
    let scene = Scene::new("brake-module", 1, 200).await;
    let file = scene.env.guest_copy("rejects", "handler.wasm").await;
    let bad = digest(&guest_bytes("rejects").await);
    scene.produce(rejected(1, 200)).await;
    let consumer = braked(scene.consumer("rejects").await.handler(file.as_path()));
    let config = scene.env.config().consumer(consumer);
    let host = scene.env.host(config.clone()).start().await;
    wait_state(&scene, "braked").await;
    let letters = scene.letters().await.len();
    assert!((1..=10).contains(&letters), "{letters}");
    host.wait_log("the consumer is braked", PATIENCE).await;
    let held = scene.counts().await;

    // A host that starts anew finds the brake on.
    let host = host.restart().await;
    host.wait_log("the consumer is braked", PATIENCE).await;
    host.wait_log("position taken", PATIENCE).await;
    assert_eq!(scene.counts().await, held);

    replace(&file, &guest_bytes("credit-rust").await);
    host.wait_log("the brake is lifted", PATIENCE).await;
    let letters = i64::try_from(letters).unwrap();
    scene
        .wait_counts(done_and_rejected(200 - letters, letters))
        .await;
    let named = format!(
        "SELECT count(*) FROM tidegate.dead_letters
          WHERE status = 'open' AND episode = 1 AND encode(module_digest, 'hex') = '{bad}'"
    );
    assert_eq!(scene.env.db.query_one_i64(&named).await, letters);

    // What the bad module rejected is replayed on the good one: each once, and the next time there is nothing to do.
    let replay = [
        "dlt",
        "replay",
        "--consumer",
        &scene.consumer,
        "--episode",
        "1",
    ];
    let said = scene.env.cli(&replay, &config).await;
    assert_eq!(said.code, 0, "{said:?}");
    let resolved = "SELECT count(*) FROM tidegate.dead_letters WHERE status = 'resolved'";
    assert_eq!(scene.env.db.query_one_i64(resolved).await, letters);
    let again = scene.env.cli(&replay, &config).await;
    assert_eq!(again.code, 0, "{again:?}");
    let mut journal = scene.journal().await;
    journal.sort_unstable();
    assert_eq!(journal, (1..=200).collect::<Vec<_>>());
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_batch_that_trips_the_brake_leaves_no_letters() {
    let scene = Scene::new("brake-batch", 1, 60).await;
    scene.produce(rejected(1, 50)).await;
    let consumer = scene.consumer("rejects").await;
    let consumer = consumer.brake("window", WINDOW).batch("max_records", 50);
    let host = scene.run(consumer).await;
    wait_state(&scene, "braked").await;
    host.wait_log("the consumer is braked", PATIENCE).await;
    // The first ten, which are within the limit, tell what is wrong; the batch behind them leaves nothing.
    assert_eq!(scene.codes().await, ["rejected"; 10]);
    assert_eq!(scene.counts().await, done_and_rejected(0, 10));
    let reason = "SELECT reason FROM tidegate.consumers";
    let reason = scene.env.db.query_text(reason).await[0][0].clone().unwrap();
    assert!(
        reason.contains("with code `rejected`: told to reject"),
        "{reason}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fleet_stops_at_its_next_batch_and_resumes_by_command() {
    let scene = Scene::new("brake-fleet", 2, 100).await;
    let consumer = braked(scene.consumer("rejects").await);
    let config = scene.env.config().consumer(consumer);
    let one = scene.env.host(config.clone()).start().await;
    one.wait_log("position taken", PATIENCE).await;
    let two = scene.env.host(config.clone()).start().await;
    two.wait_log("position taken", PATIENCE).await;
    wait_for(PATIENCE, "both hosts to be known", async || {
        let shown = command(&scene, &config, &["consumer", "list", "--format", "json"]).await;
        let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
        (shown[0]["hosts"].as_array().unwrap().len() == 2).then_some(())
    })
    .await;
    scene.produce(rejected(1, 14)).await;
    wait_state(&scene, "braked").await;
    let held = scene.counts().await;
    // The other partition has good records; its host has heard of the brake by its fence.
    let good = (51..=60).map(|n| pay(n, &format!("g{n}"), "").to(1));
    scene.produce(good.collect()).await;
    one.wait_log("the consumer is braked", PATIENCE).await;
    two.wait_log("the consumer is braked", PATIENCE).await;
    assert_eq!(scene.counts().await, held, "nothing is handled meanwhile");

    let shown = command(&scene, &config, &["consumer", "list"]).await;
    assert!(
        shown.contains("braked") && shown.contains("were rejected"),
        "{shown}"
    );
    let said = command(&scene, &config, &["consumer", "resume", &scene.consumer]).await;
    assert!(said.contains("runs again"), "{said}");
    // The four bad ones that tripped it are too few to trip it again: what was counted before is forgotten.
    scene.wait_counts(done_and_rejected(10, 14)).await;
    scene.produce(rejected(15, 40)).await;
    wait_state(&scene, "braked").await;
    assert!(scene.counts().await.rejected <= 14 + WINDOW);
    let episodes = "SELECT max(episode) FROM tidegate.consumers";
    assert_eq!(scene.env.db.query_one_i64(episodes).await, 2);
    assert_eq!((one.terminate().await, two.terminate().await), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_runs_another_module_than_the_braked_one_goes_on() {
    let scene = Scene::new("brake-owner", 2, 200).await;
    let file = scene.env.guest_copy("rejects", "bad.wasm").await;
    let bad = digest(&guest_bytes("rejects").await);
    let consumer = async |guest: &str| braked(scene.consumer(guest).await);
    let good_config = scene.env.config().consumer(consumer("credit-rust").await);
    let bad_config = scene.env.config();
    let bad_config = bad_config.consumer(consumer("rejects").await.handler(file.as_path()));
    let one = scene.env.host(good_config.clone()).start().await;
    one.wait_log("position taken", PATIENCE).await;
    let two = scene.env.host(bad_config.clone()).start().await;
    two.wait_log("position taken", PATIENCE).await;
    // Each of the two has one of the partitions: the bad module rejects what is in its own.
    let records = (1..=40).flat_map(|n| {
        [0, 1].map(|partition| pay(n, &format!("{partition}-{n}"), "reject").to(partition))
    });
    scene.produce(records.collect()).await;
    wait_state(&scene, "braked").await;
    one.wait_log("this one goes on", PATIENCE).await;
    wait_for(PATIENCE, "the good module's partition", async || {
        (scene.counts().await.done == 40).then_some(())
    })
    .await;
    let shown = command(
        &scene,
        &good_config,
        &["consumer", "list", "--format", "json"],
    )
    .await;
    assert!(shown.contains(&bad) && shown.contains("braked"), "{shown}");

    // The other partition is handled too, once its host is gone, and the module that tripped it stays held back.
    assert_eq!(two.terminate().await, 0);
    let letters = scene.counts().await.rejected;
    assert!((1..=10).contains(&letters), "{letters}");
    scene
        .wait_counts(done_and_rejected(80 - letters, letters))
        .await;
    let again = scene.env.host(bad_config).start().await;
    again.wait_log("the consumer is braked", PATIENCE).await;
    scene.produce(rejected(41, 60)).await;
    assert_eq!(again.terminate().await, 0);
    scene
        .wait_counts(done_and_rejected(100 - letters, letters))
        .await;
    assert_eq!(one.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_records_that_trap_brake_their_module() {
    let scene = Scene::new("brake-traps", 1, 40).await;
    let trick = |n: i64| if n % 4 == 0 { "trap" } else { "" };
    let records = (1..=40).map(|n| pay(n, &format!("e{n}"), trick(n)));
    scene.produce(records.collect()).await;
    let consumer = scene.consumer("trap").await.brake("traps", 3);
    let _host = scene.run(consumer.batch("max_records", 8)).await;
    wait_state(&scene, "braked").await;
    let reason = "SELECT reason FROM tidegate.consumers";
    let reason = scene.env.db.query_text(reason).await[0][0].clone().unwrap();
    assert!(reason.contains("trap"), "{reason}");
    assert_eq!(scene.codes().await, ["trap"; 3]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_consumer_handles_nothing_until_it_is_resumed() {
    let scene = Scene::new("brake-pause", 1, 20).await;
    let consumer = scene.consumer("credit-rust").await.batch("max_wait", "0ms");
    let config = scene.env.config().consumer(consumer);
    let host = scene.env.host(config.clone()).start().await;
    scene.produce(vec![pay(1, "e1", "")]).await;
    scene.wait_counts(done_and_rejected(1, 0)).await;
    let pause = [
        "consumer",
        "pause",
        &scene.consumer,
        "--reason",
        "books closed",
    ];
    let said = command(&scene, &config, &pause).await;
    assert!(said.contains("is paused"), "{said}");
    host.wait_log("books closed", PATIENCE).await;
    scene.produce(vec![pay(2, "e2", "")]).await;
    // Whoever starts meanwhile is held back too, and its partition is taken all the same.
    let host = host.restart().await;
    host.wait_log("position taken", PATIENCE).await;
    host.wait_log("the consumer is paused", PATIENCE).await;
    assert_eq!(scene.counts().await, done_and_rejected(1, 0));
    let again = command(&scene, &config, &pause).await;
    assert!(again.contains("paused already"), "{again}");
    command(&scene, &config, &["consumer", "resume", &scene.consumer]).await;
    scene.wait_counts(done_and_rejected(2, 0)).await;
    let unknown = scene
        .env
        .cli(&["consumer", "pause", "nobody"], &config)
        .await;
    assert_eq!(unknown.code, 2, "{unknown:?}");
    assert_eq!(host.terminate().await, 0);
}

/// Without a brake everything is dead-lettered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_brake_that_is_off_holds_nobody_back() {
    let scene = Scene::new("brake-off", 1, 400).await;
    scene.produce(rejected(1, 400)).await;
    let consumer = scene.consumer("rejects").await.set("brake", "off");
    let _host = scene.run(consumer).await;
    scene.wait_counts(done_and_rejected(0, 400)).await;
    assert_eq!(state(&scene).await, "running");
}
