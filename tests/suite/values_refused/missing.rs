//! What is missing for all records stops, whatever has worked before; and a tenant's bad value brakes nobody.

use tidegate_tests::Rec;

use crate::scene::{PATIENCE, Scene, done_and_rejected};
use crate::tenants::{of, state, with_tenants};

fn sql(n: usize, text: &str) -> Rec {
    Rec::new(text)
        .to(0)
        .event_id(&format!("e{n}"))
        .header("mode", "query")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_dropped_for_all_stops_though_it_has_worked_before() {
    let scene = Scene::new("missing-type", 1, 1).await;
    let db = &scene.env.db;
    db.exec("CREATE EXTENSION hstore").await;
    let host = scene
        .run(scene.consumer("sql").await.retry("max", "1s"))
        .await;
    let cast = |n: usize| sql(n, &format!("SELECT 'a=>{n}'::hstore"));
    scene.produce((0..10).map(cast).collect()).await;
    scene.wait_counts(done_and_rejected(10, 0)).await;
    db.exec("DROP EXTENSION hstore").await;
    scene.produce((10..20).map(cast).collect()).await;
    host.wait_log("verdict=\"stop\"", PATIENCE).await;
    assert_eq!(scene.letters().await, []);
    db.exec("CREATE EXTENSION hstore").await;
    scene.wait_counts(done_and_rejected(20, 0)).await;
    assert_eq!(scene.letters().await, []);
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tenants_bad_value_brakes_no_tenant() {
    let scene = Scene::new("tenants-bad-value", 1, 1).await;
    scene.env.db.exec("CREATE EXTENSION hstore").await;
    let values = ["a=>", "a=>1", "b=>", "a=>2"];
    let records = values.iter().enumerate().map(|(n, value)| {
        let tenant = if n < 2 { "a" } else { "b" };
        of(tenant, sql(n, &format!("SELECT '{value}'::hstore")))
    });
    scene.produce(records.collect()).await;
    let host = scene
        .run(with_tenants(&scene, "sql", &["a", "b"]).await)
        .await;
    scene.wait_counts(done_and_rejected(2, 2)).await;
    assert_eq!(scene.codes().await, ["sql-XX000", "sql-XX000"]);
    assert_eq!(state(&scene, "a").await, "running");
    assert_eq!(state(&scene, "b").await, "running");
    assert_eq!(host.terminate().await, 0);
}

/// A host that has seen no record of the module yet: the letter's own code tells whose fault it was.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replayed_bad_value_is_rejected_again_and_holds_nothing_up() {
    let scene = Scene::new("replay-bad-value", 1, 1).await;
    scene.env.db.exec("CREATE EXTENSION hstore").await;
    let records = ["a=>", "a=>1"].iter().enumerate();
    let records = records.map(|(n, value)| sql(n, &format!("SELECT '{value}'::hstore")));
    scene.produce(records.collect()).await;
    let config = scene.env.config().consumer(scene.consumer("sql").await);
    let host = scene.env.host(config.clone()).start().await;
    scene.wait_counts(done_and_rejected(1, 1)).await;
    assert_eq!(host.terminate().await, 0);
    let host = scene.env.host(config.clone()).start().await;
    let said = scene.env.cli(&["dlt", "replay"], &config).await;
    assert_eq!(said.code, 1, "{said:?}");
    let letters = scene.letters().await;
    assert_eq!(letters.len(), 1);
    assert_eq!(
        (letters[0].code.as_str(), letters[0].status.as_str()),
        ("sql-XX000", "open")
    );
    assert_eq!(host.terminate().await, 0);
}
