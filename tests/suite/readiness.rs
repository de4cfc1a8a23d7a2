//! Ready means that records are handled: whatever keeps an assigned partition from that is named, and passes.

use serde_json::Value;
use tidegate_core::readiness::Problem;
use tidegate_tests::{
    Answer, Host, Ledger, Pattern, Server, ServerSpec, payments, secs, test_env_on, wait_for,
};

use crate::reader::{ACCOUNTS, Reader};
use crate::rows::{Counts, PATIENCE, settled};
use crate::scene::pay;

fn kinds(answer: &Answer) -> Vec<String> {
    let body: Value = serde_json::from_str(&answer.body).unwrap();
    let kinds = body["kinds"].as_array().unwrap().iter();
    kinds
        .map(|kind| kind.as_str().unwrap().to_owned())
        .collect()
}

/// Waits until readiness fails for this kind of reason; the whole answer.
async fn wait_kind(host: &Host, problem: Problem) -> Answer {
    let what = format!("readiness to fail with {:?}", problem.name());
    wait_for(PATIENCE, &what, async || {
        let answer = host.ask("/readyz").await;
        let named = kinds(&answer).iter().any(|kind| kind == problem.name());
        named.then_some(answer)
    })
    .await
}

async fn shown(host: &Host, problem: Problem) -> Option<f64> {
    let labels = [("problem", problem.name())];
    host.scrape()
        .await
        .get("tidegate_readiness_problems", &labels)
}

#[test]
fn the_documentation_lists_every_problem() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/metrics.md");
    let text = std::fs::read_to_string(file).unwrap();
    let table = text.split("| kind | meaning |").nth(1).unwrap();
    let rows = table.lines().skip(2).take_while(|l| l.starts_with('|'));
    let row = |p: &Problem| format!("| `{}` | {} |", p.name(), p.meaning());
    let wanted: Vec<_> = Problem::ALL.iter().map(row).collect();
    assert_eq!(rows.collect::<Vec<_>>(), wanted);
    // The table of states names no kind that does not exist, and each that there is.
    let states = text.split("| state |").nth(1).unwrap();
    let states: Vec<_> = states
        .lines()
        .skip(2)
        .take_while(|l| l.starts_with('|'))
        .collect();
    let named = |row: &&str| {
        let cell = row.split('|').nth(2).unwrap().trim().to_owned();
        let (kind, _) = cell.strip_prefix("503 `")?.split_once('`')?;
        Some(kind.to_owned())
    };
    let named: Vec<_> = states.iter().filter_map(named).collect();
    for kind in &named {
        assert!(Problem::ALL.iter().any(|p| p.name() == kind), "{kind}");
    }
    for problem in Problem::ALL {
        assert!(named.iter().any(|k| k == problem.name()), "{problem:?}");
    }
}

/// Nothing fails then: the server waits for a standby that does not exist, and so does the host.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_hangs_is_named_and_passes_with_its_cause() {
    let spec = ServerSpec {
        name: "no-standby".to_owned(),
        ..ServerSpec::default()
    };
    let server = Server::start(spec).await;
    let env = test_env_on("ready-commit", Some(&server), None).await;
    let (topic, _ledger) = (env.topic("t", 1).await, Ledger::create(&env.db, 10).await);
    let consumer = env.consumer(&topic, "credit-rust").await;
    let consumer = consumer.limits("wall", "1s").limits("cpu", "500ms");
    let config = env.config().watched().consumer(consumer);
    let config = config.set("postgres", "idle_in_transaction_timeout", "30s");
    let host = env.host(config).start().await;
    host.wait_status("/readyz", 200).await;

    env.db
        .exec("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        .await;
    env.db.exec("SELECT pg_reload_conf()").await;
    wait_for(PATIENCE, "the setting", async || {
        let rows = env.db.query_text("SHOW synchronous_standby_names").await;
        (rows[0][0].as_deref() == Some("nobody")).then_some(())
    })
    .await;
    env.kafka.produce(&topic, vec![pay(1, "a", "")]).await;
    let answer = wait_kind(&host, Problem::NoProgress).await;
    assert!(answer.body.contains(&topic), "{answer:?}");
    assert_eq!(kinds(&answer), ["no-progress"]);
    assert_eq!(shown(&host, Problem::NoProgress).await, Some(1.0));
    assert_eq!(
        host.ask("/livez").await.status,
        200,
        "no restart would help"
    );
    host.wait_log("no batch of it has been committed", PATIENCE)
        .await;

    env.db
        .exec("ALTER SYSTEM RESET synchronous_standby_names")
        .await;
    env.db.exec("SELECT pg_reload_conf()").await;
    host.wait_status("/readyz", 200).await;
    settled(&env.db, Counts::done(1)).await;
    assert_eq!(shown(&host, Problem::NoProgress).await, Some(0.0));
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_offset_that_kafka_does_not_return_is_named() {
    let reader = Reader::new("ready-offset", 2).await;
    let (ledger, paid) = (reader.ledger().await, payments(10, ACCOUNTS));
    reader.pay(&paid).await;
    let proxy = reader.env.kafka_proxy().await;
    proxy.cut_on_reply_after(Pattern::KafkaApi(9), usize::MAX);
    let config = reader.config().watched().bootstrap(&proxy.addr());
    let host = reader.env.host(config).start().await;
    let answer = wait_kind(&host, Problem::NoPosition).await;
    assert_eq!(answer.status, 503);
    assert!(answer.body.contains(&reader.topic), "{answer:?}");
    assert!(shown(&host, Problem::NoPosition).await > Some(0.0));
    assert_eq!(host.ask("/livez").await.status, 200);
    host.wait_log("the position cannot be taken now", secs(60))
        .await;
    proxy.cut_on_reply_after(Pattern::KafkaApi(9), 0);
    host.wait_status("/readyz", 200).await;
    reader.wait_place(0, 10, 10).await;
    ledger.assert_exact(&paid).await;
    assert_eq!(host.terminate().await, 0);
}
