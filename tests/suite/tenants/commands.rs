//! `tidegate tenant`: what it changes holds at every host's next batch.

use super::{command, letters, started, tenant_pay, wait_state};
use crate::scene::{PATIENCE, Scene, done_and_rejected};

const TENANTS: &str = "[consumer.tenants]\nfrom = \"header:tenant\"\n[consumer.tenant.listed]\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tenants_are_added_disabled_and_enabled_under_running_hosts() {
    let scene = Scene::new("tenants-live", 2, 99).await;
    let consumer = scene.consumer("credit-rust").await.raw(TENANTS);
    let config = scene
        .env
        .config()
        .consumer(consumer.batch("max_wait", "0ms"));
    let one = started(&scene, &config).await;
    let two = started(&scene, &config).await;
    let both = |from: i64| {
        let of = |n| tenant_pay("new", n, &format!("n{n}"), "").to(i32::try_from(n % 2).unwrap());
        (from..from + 4).map(of).collect::<Vec<_>>()
    };
    scene.produce(both(1)).await;
    scene.wait_counts(done_and_rejected(0, 4)).await;
    assert!(
        letters(&scene)
            .await
            .iter()
            .all(|l| l.2 == "unknown-tenant")
    );

    // No host runs a batch by an older word than the command's: what is produced after it is handled by it.
    command(
        &scene,
        &config,
        &["tenant", "add", "new", "--set", "currency=USD"],
    )
    .await;
    scene.produce(both(5)).await;
    scene.wait_counts(done_and_rejected(4, 4)).await;
    command(&scene, &config, &["dlt", "replay", "--tenant", "new"]).await;
    let resolved = "SELECT count(*) FROM tidegate.dead_letters WHERE status = 'resolved'";
    assert_eq!(scene.env.db.query_one_i64(resolved).await, 4);

    command(
        &scene,
        &config,
        &["tenant", "disable", "new", "--reason", "unpaid"],
    )
    .await;
    scene.produce(both(9)).await;
    scene.wait_counts(done_and_rejected(4, 8)).await;
    let shown = command(&scene, &config, &["tenant", "list", "--format", "json"]).await;
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown[0]["tenant"], "listed");
    assert_eq!(shown[0]["defined"], "file");
    assert_eq!(shown[1]["state"], "disabled");
    assert_eq!(shown[1]["reason"], "unpaid");
    let listed = [
        "dlt",
        "list",
        "--tenant",
        "new",
        "--code",
        "tenant-disabled",
        "--format",
        "json",
    ];
    let listed: serde_json::Value =
        serde_json::from_str(&command(&scene, &config, &listed).await).unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 4);
    assert_eq!(listed[0]["tenant"], "new");

    command(&scene, &config, &["tenant", "enable", "new"]).await;
    wait_state(&scene, "new", "running").await;
    command(&scene, &config, &["dlt", "replay", "--tenant", "new"]).await;
    command(&scene, &config, &["tenant", "remove", "new"]).await;
    scene.produce(both(13)).await;
    scene.wait_counts(done_and_rejected(4, 12)).await;
    let mut journal = scene.journal().await;
    journal.sort_unstable();
    assert_eq!(journal, (1..=12).collect::<Vec<_>>());
    assert_eq!(one.terminate().await, 0);
    assert_eq!(two.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_definition_is_refused_with_what_is_wrong_with_it() {
    let scene = Scene::new("tenants-bad", 1, 1).await;
    let consumer = scene.consumer("credit-rust").await.raw(TENANTS);
    let config = scene.env.config().consumer(consumer);
    let host = started(&scene, &config).await;
    let refused = async |arguments: &[&str], words: &str| {
        let said = scene
            .env
            .cli(&[&["tenant"], arguments].concat(), &config)
            .await;
        assert_eq!(said.code, 2, "{said:?}");
        assert!(
            said.stderr.contains(words),
            "{words:?} is not in {}",
            said.stderr
        );
    };
    refused(&["add", "a/b"], "letters, digits").await;
    refused(&["add", "listed"], "configuration file").await;
    refused(&["add", "x", "--limit", "cpu=soon"], "limits.cpu").await;
    refused(&["add", "x", "--limit", "cpu=9s"], "the consumer's own").await;
    refused(&["add", "x", "--limit", "cpuu=1s"], "did you mean cpu?").await;
    refused(
        &["add", "x", "--dead-letter-topic", "no/topic"],
        "dead_letter_topic",
    )
    .await;
    refused(
        &["add", "x", "--dead-letter-topic", &scene.topic],
        "handled as events",
    )
    .await;
    refused(&["remove", "listed"], "configuration file").await;
    refused(&["add", "x", "--consumer", "nobody"], "no consumer").await;
    let failed = async |arguments: &[&str], words: &str| {
        let said = scene
            .env
            .cli(&[&["tenant"], arguments].concat(), &config)
            .await;
        assert_eq!(said.code, 1, "{said:?}");
        assert!(
            said.stderr.contains(words),
            "{words:?} is not in {}",
            said.stderr
        );
    };
    for what in ["disable", "enable", "remove"] {
        failed(&[what, "lsited"], "has no tenant \"lsited\"").await;
    }
    failed(&["add", "x", "--role", "nobody-s"], "does not exist").await;
    failed(
        &["add", "x", "--role", "pg_read_all_data"],
        "no handler may have it",
    )
    .await;
    let noted = command(
        &scene,
        &config,
        &["tenant", "add", "x", "--handler", "nowhere.wasm"],
    )
    .await;
    assert!(noted.contains("nowhere.wasm is not here"), "{noted}");
    assert_eq!(host.terminate().await, 0);
}

/// A handler that is not there puts its tenant's records aside, and nobody else's; once it is there they are replayed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tenant_whose_handler_is_missing_holds_up_nobody() {
    let scene = Scene::new("tenants-missing", 1, 9).await;
    let consumer = scene.consumer("credit-rust").await.raw(TENANTS);
    let config = scene.env.config().consumer(consumer);
    let host = started(&scene, &config).await;
    let file = scene.env.dir().join("late.wasm").display().to_string();
    command(
        &scene,
        &config,
        &["tenant", "add", "late", "--handler", &file],
    )
    .await;
    let records = vec![
        tenant_pay("late", 1, "e1", ""),
        tenant_pay("listed", 2, "e2", ""),
    ];
    scene.produce(records).await;
    scene.wait_counts(done_and_rejected(1, 1)).await;
    assert_eq!(letters(&scene).await[0].2, "tenant-unavailable");
    host.wait_log("a tenant's handler cannot be loaded", PATIENCE)
        .await;
    scene.env.guest_copy("credit-rust", "late.wasm").await;
    // It is tried again every few seconds; a replay meanwhile leaves the letter as it is.
    tidegate_tests::wait_for(PATIENCE, "the late handler", async || {
        command(&scene, &config, &["dlt", "replay", "--tenant", "late"]).await;
        let open = "SELECT count(*) FROM tidegate.dead_letters WHERE status = 'open'";
        (scene.env.db.query_one_i64(open).await == 0).then_some(())
    })
    .await;
    assert_eq!(scene.journal().await, [2, 1]);
    assert_eq!(host.terminate().await, 0);
}
