//! What one tenant's records come to is nothing to another's.

use tidegate_tests::{digest, guest, guest_bytes, wait_for};

use super::{letters, tenant_pay, with_tenants};
use crate::scene::{Counts, PATIENCE, Scene, done_and_rejected};

const FIVE: [&str; 5] = ["a", "b", "c", "d", "e"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trap_in_a_batch_of_five_tenants_costs_that_record_alone() {
    let scene = Scene::new("tenants-trap", 1, 50).await;
    let record = |n: i64| {
        let trick = if n == 22 { "trap" } else { "" };
        let tenant = FIVE[usize::try_from(n % 5).unwrap()];
        tenant_pay(tenant, n, &format!("e{n}"), trick)
    };
    scene.produce((1..=50).map(record).collect()).await;
    let host = scene.run(with_tenants(&scene, "trap", &FIVE).await).await;
    scene.wait_counts(done_and_rejected(49, 1)).await;
    assert_eq!(
        letters(&scene).await,
        [(21, "c".to_owned(), "trap".to_owned())]
    );
    let mut journal = scene.journal().await;
    journal.sort_unstable();
    let but_one: Vec<i64> = (1..=50).filter(|n| *n != 22).collect();
    assert_eq!(journal, but_one);
    assert_eq!(host.terminate().await, 0);
}

/// Records of a tenant keep their order, those of several tenants run one tenant after the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_runs_one_tenant_after_the_other_each_in_its_order() {
    let scene = Scene::new("tenants-order", 1, 9).await;
    let record = |n: i64| {
        let tenant = FIVE[usize::try_from(n % 3).unwrap()];
        tenant_pay(tenant, n, &format!("e{n}"), "")
    };
    scene.produce((1..=9).map(record).collect()).await;
    let host = scene
        .run(with_tenants(&scene, "credit-rust", &FIVE).await)
        .await;
    scene.wait_counts(done_and_rejected(9, 0)).await;
    assert_eq!(scene.journal().await, [1, 4, 7, 2, 5, 8, 3, 6, 9]);
    assert_eq!(host.terminate().await, 0);
}

/// What a guest keeps in a global is gone before another tenant's record, and before the next batch.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guest_that_keeps_secrets_in_globals_finds_nothing_of_anybodys() {
    let scene = Scene::new("tenants-globals", 1, 1).await;
    let table = "CREATE TABLE seen (\"offset\" bigint, counter bigint)";
    scene.env.db.exec(table).await;
    let round = |from: i64| {
        let record = move |n: i64| {
            let tenant = FIVE[usize::try_from(n % 2).unwrap()];
            tenant_pay(tenant, 1, &format!("e{}", from + n), "")
        };
        (0..6).map(record).collect::<Vec<_>>()
    };
    scene.produce(round(0)).await;
    let host = scene
        .run(with_tenants(&scene, "keeps-state", &FIVE).await)
        .await;
    scene.wait_counts(done_and_rejected(6, 0)).await;
    scene.produce(round(6)).await;
    scene.wait_counts(done_and_rejected(12, 0)).await;
    // Both tenants' counters, which are in one global of one module, start anew in each of the two batches.
    let sql = "SELECT string_agg(counter::text, ' ' ORDER BY \"offset\") FROM seen";
    let seen = scene.env.db.query_text(sql).await[0][0].clone().unwrap();
    assert_eq!(seen, "1 1 2 2 3 3 1 1 2 2 3 3");
    assert_eq!(host.terminate().await, 0);
}

/// No tenant can suppress another's event by taking its id; within one tenant a copy is a copy.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn event_ids_are_each_tenants_own() {
    let scene = Scene::new("tenants-ids", 1, 4).await;
    let records = vec![
        tenant_pay("a", 1, "same", ""),
        tenant_pay("b", 2, "same", ""),
        tenant_pay("a", 3, "same", ""),
        tenant_pay("b", 4, "other", ""),
    ];
    scene.produce(records).await;
    let host = scene
        .run(with_tenants(&scene, "credit-rust", &FIVE).await)
        .await;
    let republished = Counts {
        done: 3,
        republished: 1,
        ..Counts::default()
    };
    scene.wait_counts(republished).await;
    assert_eq!(scene.journal().await, [1, 2, 4]);
    let sql = "SELECT string_agg(scope || ':' || event_id, ' ' ORDER BY scope, event_id) FROM tidegate.processed_events";
    let claims = scene.env.db.query_text(sql).await[0][0].clone().unwrap();
    assert_eq!(claims, "a:same b:other b:same");
    assert_eq!(host.terminate().await, 0);
}

/// Each record names the module that handled it, in the inbox and in its letter; each letter goes where its tenant wants
/// it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_tenant_has_its_module_its_settings_and_its_dead_letter_topic() {
    let scene = Scene::new("tenants-modules", 1, 4).await;
    let own = scene.env.topic("own-dlt", 1).await;
    let rejects = guest("rejects").await;
    let toml = format!(
        "[consumer.tenants]\nfrom = \"header:tenant\"\n\
         [consumer.tenant.a]\n\
         [consumer.tenant.b]\nhandler = {:?}\ndead_letter_topic = {own:?}\n",
        rejects.display().to_string()
    );
    let consumer = scene.consumer("credit-rust").await.raw(&toml);
    let records = vec![
        tenant_pay("a", 1, "e1", "reject"),
        tenant_pay("b", 2, "e2", "reject"),
        tenant_pay("a", 3, "e3", ""),
        tenant_pay("b", 4, "e4", ""),
    ];
    scene.produce(records).await;
    let host = scene.run(consumer).await;
    scene.wait_counts(done_and_rejected(3, 1)).await;
    let (a, b) = (
        digest(&guest_bytes("credit-rust").await),
        digest(&guest_bytes("rejects").await),
    );
    let sql = "SELECT event_id, encode(module_digest, 'hex') FROM tidegate.processed_events ORDER BY event_id";
    let rows = scene.env.db.query_text(sql).await;
    let digests: Vec<_> = rows.iter().map(|row| row[1].clone().unwrap()).collect();
    assert_eq!(digests, [&*a, &*b, &*a, &*b]);
    let letter = wait_for(PATIENCE, "the letter in its topic", async || {
        scene.env.kafka.consume_all(&own).await.pop()
    })
    .await;
    assert_eq!(letter.header("tidegate-tenant").as_deref(), Some("b"));
    let sql = "SELECT encode(module_digest, 'hex') FROM tidegate.dead_letters WHERE tenant = 'b'";
    let of_letter = scene.env.db.query_text(sql).await[0][0].clone().unwrap();
    assert_eq!(of_letter, b);
    assert_eq!(host.terminate().await, 0);
}
