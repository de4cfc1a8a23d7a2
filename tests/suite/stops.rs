//! Stops: what no record is to blame for waits for an operator, and heals without a restart.

use tidegate_tests::wait_eq;

use crate::scene::{PATIENCE, Scene, done_and_rejected, pay};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_renamed_away_under_load_dead_letters_nothing_and_heals() {
    let scene = Scene::new("stop-table", 2, 400).await;
    let consumer = scene.consumer("credit-rust").await.batch("max_wait", "0ms");
    let config = scene.env.config().watched();
    let config = config.consumer(consumer.batch("max_records", 20));
    let host = scene.env.host(config).start().await;
    host.wait_status("/readyz", 200).await;
    let mut n = 0;
    while n < 200 {
        let records = (n + 1..=n + 20).map(|n| {
            let partition = i32::try_from(n % 2).unwrap();
            pay(n, &format!("e{n}"), "").to(partition)
        });
        scene.produce(records.collect()).await;
        n += 20;
        if n == 100 {
            let away = "ALTER TABLE accounts RENAME TO accounts_away";
            scene.env.db.exec(away).await;
        }
    }
    host.wait_status("/readyz", 503).await;
    let stopped = scene.counts().await;
    assert!(stopped.done < 200);
    assert_eq!(scene.letters().await, []);
    scene
        .env
        .db
        .exec("ALTER TABLE accounts_away RENAME TO accounts")
        .await;
    scene.wait_counts(done_and_rejected(200, 0)).await;
    assert_eq!(scene.letters().await, []);
    assert_eq!(scene.journal().await.len(), 200);
    host.wait_status("/readyz", 200).await;
    assert_eq!(host.terminate().await, 0);
}

/// A login that is taken away while the host runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_taken_away_stops_and_given_back_heals() {
    let scene = Scene::new("stop-login", 1, 40).await;
    let role = format!("app_{:08x}", fastrand::u32(..));
    let db = &scene.env.db;
    db.exec(&format!("CREATE ROLE {role} SUPERUSER LOGIN"))
        .await;
    let url = db.url().replacen("//postgres@", &format!("//{role}@"), 1);
    assert!(url.contains(&role), "{url}");
    let consumer = scene.consumer("credit-rust").await.batch("max_wait", "0ms");
    let config = scene.env.config().postgres(&url).consumer(consumer);
    let host = scene.env.host(config).start().await;
    scene.produce(vec![pay(1, "e1", "")]).await;
    scene.wait_counts(done_and_rejected(1, 0)).await;
    db.exec(&format!("ALTER ROLE {role} NOLOGIN")).await;
    db.exec(&format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{role}'"
    ))
    .await;
    scene.produce(vec![pay(2, "e2", "")]).await;
    host.wait_log("verdict=\"stop\"", PATIENCE).await;
    assert_eq!(scene.counts().await, done_and_rejected(1, 0));
    db.exec(&format!("ALTER ROLE {role} LOGIN")).await;
    scene.wait_counts(done_and_rejected(2, 0)).await;
    assert_eq!(host.terminate().await, 0);
}

/// Another process is told what holds a partition, and which record met it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn offsets_show_tells_of_a_stopped_partition_and_of_the_record_until_it_goes_on() {
    let scene = Scene::new("stop-shown", 1, 40).await;
    let consumer = scene.consumer("credit-rust").await.batch("max_wait", "0ms");
    let config = scene.env.config().consumer(consumer);
    let host = scene.env.host(config.clone()).start().await;
    scene.produce(vec![pay(1, "e1", "")]).await;
    scene.wait_counts(done_and_rejected(1, 0)).await;
    let rename = |from: &str, to: &str| format!("ALTER TABLE {from} RENAME TO {to}");
    scene.env.db.exec(&rename("accounts", "away")).await;
    scene.produce(vec![pay(2, "e2", "")]).await;
    let shown = async || {
        let args = ["offsets", "show", "--format", "json"];
        let shown = scene.env.cli(&args, &config).await;
        let rows: serde_json::Value = serde_json::from_str(&shown.stdout).ok()?;
        let row = &rows[0];
        let why = row["stopped_for"].as_str().map(|why| !why.is_empty());
        Some((
            row["state"].as_str()?.to_owned(),
            row["failing_offset"].as_i64(),
            why,
        ))
    };
    let stopped = Some(("stopped".to_owned(), Some(1), Some(true)));
    wait_eq(PATIENCE, "the stopped partition", stopped, async || {
        shown().await
    })
    .await;
    scene.env.db.exec(&rename("away", "accounts")).await;
    scene.wait_counts(done_and_rejected(2, 0)).await;
    let running = Some(("running".to_owned(), None, None));
    wait_eq(
        PATIENCE,
        "the partition that goes again",
        running,
        async || shown().await,
    )
    .await;
    assert_eq!(host.terminate().await, 0);
}
