//! Brake, stop and quarantine hold back one tenant, never its neighbours.

use std::path::Path;

use tidegate_tests::{guest_bytes, wait_for};

use super::{command, letters, started, tenant_pay, wait_state, with_tenants};
use crate::scene::{PATIENCE, Scene, done_and_rejected};
use crate::swap::replace;

/// So many records of each of two tenants, in turn; those of `bad` are to be rejected.
fn mixed(from: i64, to: i64) -> Vec<tidegate_tests::Rec> {
    let record = |n: i64| match n % 2 {
        0 => tenant_pay("good", n, &format!("e{n}"), ""),
        _ => tenant_pay("bad", n, &format!("e{n}"), "reject"),
    };
    (from..=to).map(record).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tenant_that_rejects_everything_is_braked_alone_and_goes_on_with_another_module() {
    let scene = Scene::new("tenants-brake", 1, 200).await;
    let file = scene.env.guest_copy("rejects", "bad.wasm").await;
    let toml = format!(
        "[consumer.tenants]\nfrom = \"header:tenant\"\n[consumer.tenant.good]\n\
         [consumer.tenant.bad]\nhandler = {:?}\n",
        file.display().to_string()
    );
    let consumer = scene.consumer("credit-rust").await.raw(&toml);
    let consumer = consumer.brake("window", 20).batch("max_records", 10);
    let config = scene.env.config().consumer(consumer);
    scene.produce(mixed(1, 100)).await;
    let host = started(&scene, &config).await;
    wait_state(&scene, "bad", "braked").await;
    // Every good record is handled; every bad one is a letter: some rejected by the module, the others put aside unseen.
    scene.wait_counts(done_and_rejected(50, 50)).await;
    let codes: Vec<String> = letters(&scene).await.into_iter().map(|l| l.2).collect();
    let rejected = codes.iter().filter(|code| *code == "rejected").count();
    assert!((1..=10).contains(&rejected), "{codes:?}");
    assert!(codes[rejected..].iter().all(|code| code == "tenant-braked"));
    let episode =
        "SELECT count(*) FROM tidegate.dead_letters WHERE episode = 1 AND code = 'rejected'";
    let named = scene.env.db.query_one_i64(episode).await;
    assert_eq!(named, i64::try_from(rejected).unwrap());

    // A replay leaves a braked tenant's letters as they are.
    let replay = ["dlt", "replay", "--tenant", "bad"];
    let said = command(&scene, &config, &replay).await;
    assert!(said.contains("50"), "{said}");
    let open =
        "SELECT count(*) FROM tidegate.dead_letters WHERE status = 'open' AND replay_round = 0";
    assert_eq!(scene.env.db.query_one_i64(open).await, 50);

    replace(&file, &guest_bytes("credit-rust").await);
    wait_state(&scene, "bad", "running").await;
    host.wait_log("another module of the tenant is active", PATIENCE)
        .await;
    command(&scene, &config, &replay).await;
    let resolved = "SELECT count(*) FROM tidegate.dead_letters WHERE status = 'resolved'";
    assert_eq!(scene.env.db.query_one_i64(resolved).await, 50);
    let mut journal = scene.journal().await;
    journal.sort_unstable();
    assert_eq!(journal, (1..=100).collect::<Vec<_>>());
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tenant_whose_table_is_missing_is_braked_and_no_partition_stops() {
    let scene = Scene::new("tenants-stop", 1, 20).await;
    let toml = "[consumer.tenants]\nfrom = \"header:tenant\"\n[consumer.tenant.good]\n";
    let sql = tidegate_tests::guest("sql").await;
    let toml = format!(
        "{toml}[consumer.tenant.bad]\nhandler = {:?}\n",
        sql.display().to_string()
    );
    let consumer = scene.consumer("credit-rust").await.raw(&toml);
    let config = scene.env.config().watched().consumer(consumer);
    let bad = |n: i64| {
        let rec = tidegate_tests::Rec::new("INSERT INTO nowhere VALUES (1)").to(0);
        super::of("bad", rec.event_id(&format!("b{n}")))
    };
    let good = |n: i64| tenant_pay("good", n, &format!("g{n}"), "");
    let records = (1..=20).map(|n| if n % 4 == 0 { bad(n) } else { good(n) });
    scene.produce(records.collect()).await;
    let host = started(&scene, &config).await;
    scene.wait_counts(done_and_rejected(15, 5)).await;
    wait_state(&scene, "bad", "braked").await;
    let codes = letters(&scene).await;
    assert!(
        codes.iter().all(|l| l.1 == "bad" && l.2 == "tenant-braked"),
        "{codes:?}"
    );
    let ready = host.wait_status("/readyz", 200).await;
    assert_eq!(ready.status, 200);
    let shown = command(&scene, &config, &["tenant", "list"]).await;
    assert!(shown.contains("nowhere"), "{shown}");
    assert_eq!(host.terminate().await, 0);
}

/// Functions of the server refuse values with codes that else mean a bad statement.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_value_that_a_function_of_the_server_refuses_is_its_records_own() {
    let scene = Scene::new("tenants-value", 1, 1).await;
    let sql = |id: &str, sql: &str| {
        let rec = tidegate_tests::Rec::new(sql).to(0).event_id(id);
        super::of("a", rec.header("mode", "query"))
    };
    let records = vec![
        sql("1", "SELECT 1"),
        sql("2", "SELECT to_tsquery('english', 'new york')"),
        sql(
            "3",
            "SELECT jsonb_path_query('{}', ('$.' || 'a b c')::jsonpath)",
        ),
        sql("4", "SELECT to_tsvector(('no' || 'where')::regconfig, 'x')"),
        sql("5", "SELECT 2"),
    ];
    scene.produce(records).await;
    let consumer = with_tenants(&scene, "sql", &["a"]).await;
    let host = scene.run(consumer).await;
    scene.wait_counts(done_and_rejected(2, 3)).await;
    let codes: Vec<String> = letters(&scene).await.into_iter().map(|l| l.2).collect();
    assert_eq!(codes, ["sql-42601", "sql-42601", "sql-42704"]);
    assert!(!host.log().contains("new york"), "{}", host.log());
    assert_eq!(super::state(&scene, "a").await, "running");
    assert_eq!(host.terminate().await, 0);
}

/// The host without its first wall.
const WITHOUT_WALL: &str = env!("CARGO_BIN_EXE_tidegate-without-wall");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_module_that_leaves_its_transaction_is_quarantined_for_its_tenant_alone() {
    let scene = Scene::new("tenants-escape", 1, 20).await;
    let sql = tidegate_tests::guest("sql").await;
    let toml = format!(
        "[consumer.tenants]\nfrom = \"header:tenant\"\n[consumer.tenant.good]\n\
         [consumer.tenant.bad]\nhandler = {:?}\n",
        sql.display().to_string()
    );
    let consumer = scene.consumer("credit-rust").await.raw(&toml);
    let config = scene.env.config().consumer(consumer);
    let bad = |n: i64| {
        let rec = tidegate_tests::Rec::new("COMMIT").to(0);
        super::of("bad", rec.event_id(&format!("b{n}")))
    };
    let good = |n: i64| tenant_pay("good", n, &format!("g{n}"), "");
    let records = (1..=20).map(|n| if n % 5 == 0 { bad(n) } else { good(n) });
    scene.produce(records.collect()).await;
    let host = scene
        .env
        .host(config.clone())
        .bin(Path::new(WITHOUT_WALL))
        .start()
        .await;
    scene.wait_counts(done_and_rejected(16, 4)).await;
    wait_state(&scene, "bad", "braked").await;
    let codes = letters(&scene).await;
    assert_eq!(codes[0], (4, "bad".to_owned(), "escape".to_owned()));
    assert!(
        codes[1..].iter().all(|l| l.2 == "tenant-braked"),
        "{codes:?}"
    );
    wait_for(PATIENCE, "all good payments", async || {
        (scene.journal().await.len() == 16).then_some(())
    })
    .await;
    assert_eq!(host.terminate().await, 0);
}

/// What a tenant that burns time can cost its partition is counted: two tries a record, and no record once it is braked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tenant_that_burns_time_has_two_tries_a_record_until_it_is_braked() {
    let scene = Scene::new("tenants-burn", 1, 40).await;
    let consumer = with_tenants(&scene, "endless-loop", &["good", "bad"]).await;
    let consumer = consumer.limits("cpu", "100ms").brake("traps", 3);
    let record = |n: i64| match n % 2 {
        0 => tenant_pay("good", n, &format!("e{n}"), ""),
        _ => tenant_pay("bad", n, &format!("e{n}"), "loop"),
    };
    scene.produce((1..=40).map(record).collect()).await;
    let host = scene.run(consumer).await;
    scene.wait_counts(done_and_rejected(20, 20)).await;
    wait_state(&scene, "bad", "braked").await;
    let all = scene.letters().await;
    let (burnt, aside): (Vec<_>, Vec<_>) = all.iter().partition(|l| l.code == "cpu-limit");
    // Three are allowed; the one that is one too many has been tried and keeps its cause.
    assert_eq!(burnt.len(), 4, "{all:?}");
    assert!(burnt.iter().all(|letter| letter.attempts == 2), "{burnt:?}");
    assert!(
        aside
            .iter()
            .all(|l| l.code == "tenant-braked" && l.attempts == 0),
        "{aside:?}"
    );
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tenant_that_asks_to_retry_holds_up_its_partition_for_no_longer_than_its_time() {
    let scene = Scene::new("tenants-retry", 1, 10).await;
    let consumer = with_tenants(&scene, "retries-twice", &["good", "bad"]).await;
    let consumer = consumer.retry("initial", "50ms").retry("max_elapsed", "1s");
    let record = |n: i64| match n {
        3 => tenant_pay("bad", n, "bad", "always"),
        n => tenant_pay("good", n, &format!("e{n}"), "at-once"),
    };
    scene.produce((1..=10).map(record).collect()).await;
    let host = scene.run(consumer).await;
    wait_for(PATIENCE, "the good tenant's records", async || {
        (scene.journal().await.len() >= 9).then_some(())
    })
    .await;
    assert_eq!(host.terminate().await, 0);
}
