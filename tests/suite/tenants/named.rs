//! Where a record names its tenant, and what becomes of one whose tenant nobody knows.

use tidegate_tests::{Rec, wait_for};

use super::{letters, of, started, tenant_pay};
use crate::scene::{Counts, PATIENCE, Scene, done_and_rejected, pay};

async fn run(scene: &Scene, tenants: &str) -> tidegate_tests::Host {
    let consumer = scene.consumer("credit-rust").await;
    scene.run(consumer.raw(tenants)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_that_names_no_tenant_or_an_unknown_one_is_a_dead_letter() {
    let scene = Scene::new("tenants-unknown", 1, 9).await;
    let records = vec![
        tenant_pay("a", 1, "e1", ""),
        pay(2, "e2", ""),
        tenant_pay("nobody", 3, "e3", ""),
        tenant_pay("a/b", 4, "e4", ""),
        tenant_pay("a", 5, "e5", "").header("tenant", "b"),
        pay(6, "e6", "").null_header("tenant"),
        of("a", Rec::new("{}").to(0)),
        tenant_pay("a", 7, "e7", ""),
    ];
    scene.produce(records).await;
    let toml =
        "[consumer.tenants]\nfrom = \"header:tenant\"\n[consumer.tenant.a]\n[consumer.tenant.b]\n";
    let host = run(&scene, toml).await;
    scene.wait_counts(done_and_rejected(2, 6)).await;
    let codes: Vec<_> = letters(&scene).await;
    let codes: Vec<_> = codes
        .iter()
        .map(|(_, t, c)| (t.as_str(), c.as_str()))
        .collect();
    let expected = [
        ("-", "bad-tenant"),
        ("nobody", "unknown-tenant"),
        ("-", "bad-tenant"),
        ("-", "bad-tenant"),
        ("-", "bad-tenant"),
        ("a", "bad-event-id"),
    ];
    assert_eq!(codes, expected);
    assert_eq!(host.terminate().await, 0);
}

/// A place that is configured wrongly brakes the consumer, as a bad handler would.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_that_name_no_tenant_do_not_drain_a_topic_into_the_dead_letters() {
    let scene = Scene::new("tenants-nowhere", 1, 99).await;
    scene
        .produce(
            (1..=60)
                .map(|n| tenant_pay("a", n, &format!("e{n}"), ""))
                .collect(),
        )
        .await;
    let toml = "[consumer.tenants]\nfrom = \"header:tennant\"\n[consumer.tenant.a]\n";
    let consumer = scene.consumer("credit-rust").await.raw(toml);
    let host = scene
        .run(consumer.brake("window", 20).batch("max_records", 10))
        .await;
    host.wait_log("the consumer is braked", PATIENCE).await;
    let letters = letters(&scene).await;
    assert!(
        letters.len() <= 10 && letters.iter().all(|l| l.2 == "bad-tenant"),
        "{letters:?}"
    );
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn value_key_and_topic_name_tenants_too() {
    for (source, name) in [("json:/account_id", "7"), ("key:/", "acme")] {
        let scene = Scene::new("tenants-from", 1, 9).await;
        scene.produce(vec![pay(7, "e", "").key("acme/7")]).await;
        let toml = format!("[consumer.tenants]\nfrom = \"{source}\"\n[consumer.tenant.{name}]\n");
        let host = run(&scene, &toml).await;
        scene.wait_counts(done_and_rejected(1, 0)).await;
        assert_eq!(host.terminate().await, 0);
    }
    let scene = Scene::new("tenants-topic", 1, 9).await;
    scene.produce(vec![pay(7, "e", "")]).await;
    let name = scene.topic.split('-').next().unwrap();
    let rest = &scene.topic[name.len()..];
    let toml = format!(
        "[consumer.tenants]\nfrom = \"topic:{{tenant}}{rest}\"\n[consumer.tenant.{name}]\n"
    );
    let host = run(&scene, &toml).await;
    scene.wait_counts(done_and_rejected(1, 0)).await;
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_of_unknown_tenants_are_passed_over_where_that_is_asked_for() {
    let scene = Scene::new("tenants-skip", 1, 9).await;
    scene
        .produce(vec![
            tenant_pay("nobody", 1, "e1", ""),
            tenant_pay("a", 2, "e2", ""),
        ])
        .await;
    let toml =
        "[consumer.tenants]\nfrom = \"header:tenant\"\nunknown = \"skip\"\n[consumer.tenant.a]\n";
    let host = run(&scene, toml).await;
    let skipped = Counts {
        done: 1,
        skipped: 1,
        ..Counts::default()
    };
    scene.wait_counts(skipped).await;
    assert_eq!(scene.journal().await, [2]);
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partition_waits_for_an_unknown_tenant_where_that_is_asked_for() {
    let scene = Scene::new("tenants-wait", 1, 9).await;
    scene
        .produce(vec![
            tenant_pay("a", 1, "e1", ""),
            tenant_pay("late", 2, "e2", ""),
        ])
        .await;
    let toml =
        "[consumer.tenants]\nfrom = \"header:tenant\"\nunknown = \"stop\"\n[consumer.tenant.a]\n";
    let consumer = scene.consumer("credit-rust").await.raw(toml);
    let config = scene.env.config().watched().consumer(consumer);
    let host = started(&scene, &config).await;
    host.wait_status("/readyz", 503).await;
    scene.wait_counts(done_and_rejected(1, 0)).await;
    super::command(&scene, &config, &["tenant", "add", "late"]).await;
    scene.wait_counts(done_and_rejected(2, 0)).await;
    wait_for(PATIENCE, "readiness", async || {
        let ready = host.ask("/readyz").await;
        (ready.status == 200).then_some(())
    })
    .await;
    assert_eq!(host.terminate().await, 0);
}
