//! What a guest calls its rejections is shown, and decides nothing.

use tidegate_tests::{Consumer, Raw, Rec};

use crate::brake::{state, wait_state};
use crate::scene::{PATIENCE, Scene, done_and_rejected, pay};

/// Words that mean something to the host.
const OWNED: [&str; 24] = [
    "skipped",
    "trap",
    "escape",
    "tenant-braked",
    "tenant-disabled",
    "tenant-unavailable",
    "unknown-tenant",
    "memory-limit",
    "cpu-limit",
    "wall-limit",
    "random-bytes-limit",
    "statement-limit",
    "host-crash",
    "bad-header",
    "bad-event-id",
    "bad-ttl",
    "bad-tenant",
    "retries-exhausted",
    "retry",
    "sql-23505",
    "sql-refused",
    "role-refused",
    "handler",
    "other",
];

/// A record that its handler rejects with this code, the first time.
fn called(code: &str, account: i64) -> Rec {
    let value = serde_json::json!({
        "amount_minor": 1, "account_id": account, "trick": "reject", "code": code, "until_round": 1,
    });
    Rec::new(value.to_string())
        .to(0)
        .event_id(code)
        .header(code, code)
}

fn braked(consumer: Consumer, traps: i64) -> Consumer {
    consumer
        .brake("window", 100)
        .brake("share", Raw("0.5"))
        .brake("traps", traps)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_code_that_is_spelled_like_one_of_the_hosts_is_the_handlers_and_can_be_replayed() {
    let scene = Scene::new("words-replay", 1, 100).await;
    let records = OWNED
        .iter()
        .zip(1..)
        .map(|(code, account)| called(code, account));
    scene.produce(records.collect()).await;
    let count = i64::try_from(OWNED.len()).unwrap();
    let consumer = braked(scene.consumer("rejects").await, 1).brake("window", 1000);
    let config = scene.env.config().consumer(consumer);
    let host = scene.env.host(config.clone()).start().await;
    scene.wait_counts(done_and_rejected(0, count)).await;
    assert_eq!(scene.codes().await, OWNED);
    let kinds = "SELECT DISTINCT kind FROM tidegate.dead_letters";
    assert_eq!(
        scene.env.db.query_text(kinds).await,
        [[Some("handler".to_owned())]]
    );

    let said = scene
        .env
        .cli(&["dlt", "replay", "--consumer", &scene.consumer], &config)
        .await;
    assert_eq!(said.code, 0, "{said:?}");
    let mut journal = scene.journal().await;
    journal.sort_unstable();
    assert_eq!(journal, (1..=count).collect::<Vec<_>>());
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rejections_that_call_themselves_an_absent_tenants_trip_the_brake() {
    let scene = Scene::new("words-brake", 1, 500).await;
    let rejected = |n: i64| {
        let value =
            serde_json::json!({ "account_id": n, "trick": "reject", "code": "tenant-braked" });
        Rec::new(value.to_string()).to(0).event_id(&format!("e{n}"))
    };
    scene.produce((1..=400).map(rejected).collect()).await;
    let host = scene.run(braked(scene.consumer("rejects").await, 10)).await;
    wait_state(&scene, "braked").await;
    host.wait_log("the consumer is braked", PATIENCE).await;
    assert!(scene.letters().await.len() <= 50);
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rejections_that_call_themselves_traps_are_none() {
    let scene = Scene::new("words-traps", 1, 100).await;
    let records = (1..=80).map(|n| match n % 4 {
        0 => {
            let code = if n % 8 == 0 { "trap" } else { "memory-limit" };
            let value = serde_json::json!({ "account_id": n, "trick": "reject", "code": code });
            Rec::new(value.to_string()).to(0).event_id(&format!("e{n}"))
        }
        _ => pay(n, &format!("e{n}"), ""),
    });
    scene.produce(records.collect()).await;
    let host = scene.run(braked(scene.consumer("rejects").await, 3)).await;
    scene.wait_counts(done_and_rejected(60, 20)).await;
    assert_eq!(state(&scene).await, "running");
    assert_eq!(host.terminate().await, 0);
}
