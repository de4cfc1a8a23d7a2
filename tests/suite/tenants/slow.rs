//! A tenant that takes a partition's time, and stays below every other threshold, has its share of it and no more.

use tidegate_tests::{Consumer, Rec, wait_for};

use super::{letters, of, tenant_pay};
use crate::scene::{PATIENCE, Scene, pay};

/// Two tenants, and the window of their shares.
async fn two(scene: &Scene, guest: &str, window: &str) -> Consumer {
    let toml = format!(
        "[consumer.tenants]\nfrom = \"header:tenant\"\nshare_window = {window:?}\n\
         [consumer.tenant.good]\n[consumer.tenant.slow]\n"
    );
    scene.consumer(guest).await.raw(&toml)
}

/// Records of the good tenant that are handled.
async fn good(scene: &Scene) -> usize {
    let journal = scene.journal().await;
    journal.iter().filter(|account| **account % 2 == 0).count()
}

async fn wait_good(scene: &Scene, records: usize) {
    wait_for(PATIENCE, "the good tenant's records", async || {
        (good(scene).await == records).then_some(())
    })
    .await;
}

fn sleeps(n: i64) -> Rec {
    let value = serde_json::json!({ "amount_minor": 1, "account_id": n, "sleep_ms": 2700 });
    of(
        "slow",
        Rec::new(value.to_string()).to(0).event_id(&format!("e{n}")),
    )
}

/// The bound of docs/tenants.md, by counts: half of two seconds at once, and one record more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tenant_that_sleeps_nine_tenths_of_its_limit_runs_a_record_or_two_before_its_neighbours()
{
    let scene = Scene::new("tenants-sleeps", 1, 80).await;
    let consumer = two(&scene, "slow", "2s").await.limits("wall", "3s");
    let record = |n: i64| match n % 2 {
        0 => tenant_pay("good", n, &format!("e{n}"), ""),
        _ => sleeps(n),
    };
    scene.produce((1..=80).map(record).collect()).await;
    let host = scene.run(consumer).await;
    wait_good(&scene, 40).await;
    let slow = scene.journal().await.len() - 40;
    assert!(slow <= 4, "{slow} records of the slow tenant came first");
    let letters = letters(&scene).await;
    assert!(
        letters.iter().any(|l| l.2 == "tenant-slow") && letters.iter().all(|l| l.1 == "slow"),
        "{letters:?}"
    );
    host.kill();
}

/// One record of three is asked for again until `max_elapsed`, which is longer than the test.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tenant_that_asks_for_retries_in_one_record_of_three_holds_up_nobody_beyond_its_share() {
    let scene = Scene::new("tenants-asks", 1, 60).await;
    let consumer = two(&scene, "retries-twice", "2s").await;
    let consumer = consumer
        .retry("initial", "200ms")
        .retry("max_elapsed", "10m");
    let record = |n: i64| match n % 2 {
        0 => tenant_pay("good", n, &format!("e{n}"), "at-once"),
        _ => {
            let trick = if n % 6 == 1 { "always" } else { "at-once" };
            tenant_pay("slow", n, &format!("e{n}"), trick)
        }
    };
    scene.produce((1..=60).map(record).collect()).await;
    let host = scene.run(consumer).await;
    wait_good(&scene, 30).await;
    let letters = scene.letters().await;
    let tried = letters.iter().filter(|l| l.attempts > 0).count();
    assert!((1..=4).contains(&tried), "{letters:?}");
    assert!(
        letters.iter().all(|l| l.code == "tenant-slow"),
        "{letters:?}"
    );
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_tenant_is_never_held_back_where_nobody_else_waits() {
    let scene = Scene::new("tenants-alone", 1, 6).await;
    let consumer = two(&scene, "slow", "1s").await;
    scene
        .produce((1..=3).map(|n| sleeps(2 * n - 1)).collect())
        .await;
    let host = scene.run(consumer).await;
    wait_for(PATIENCE, "all its records", async || {
        (scene.journal().await.len() == 3).then_some(())
    })
    .await;
    let good = of("good", pay(2, "g", ""));
    scene.produce(vec![good]).await;
    wait_good(&scene, 1).await;
    assert!(letters(&scene).await.is_empty());
    assert_eq!(host.terminate().await, 0);
}
