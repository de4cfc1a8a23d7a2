//! The commands, as scripts and people meet them.

mod dev;

use serde_json::Value;
use tidegate_tests::{Output, TestEnv, secs, test_env};

use crate::scene::{Scene, done_and_rejected, pay};

/// Five mistakes, each on a line of its own.
const FIVE: &str = r#"
[kafka]
bootstrap_servers = "localhost:9092"
[kafka.librdkafka]
"enable.auto.commit" = "true"

[postgres]
url = "postgresql://nobody@localhost/nothing"
max_conections = 4

[[consumer]]
name = "one"
topics = ["a"]
handler = "one.wasm"
start = "middle"
[consumer.dedup]
ttl = "soon"
[consumer.batch]
max_records = -1
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn check_and_run_report_all_five_mistakes_of_a_file_with_their_lines() {
    let env = test_env("cli-five").await;
    let file = env.dir().join("five.toml");
    std::fs::write(&file, FIVE).unwrap();
    let file = file.to_string_lossy();
    let said = env.cli_raw(&["check", "-c", &file]).await;
    assert_eq!(said.code, 2, "{said:?}");
    let marks = [
        "enable.auto.commit",
        "max_conections",
        "start = ",
        "ttl = ",
        "max_records",
    ];
    for mark in marks {
        let line = FIVE.lines().position(|line| line.contains(mark)).unwrap() + 1;
        let place = format!("five.toml:{line}: ");
        let found = said.stderr.lines().filter(|text| text.contains(&place));
        assert_eq!(found.count(), 1, "{mark} at line {line}:\n{}", said.stderr);
    }
    assert_eq!(said.stderr.lines().count(), 5, "{}", said.stderr);
    let ran = env.cli_raw(&["run", "-c", &file]).await;
    assert_eq!((ran.code, ran.stderr), (2, said.stderr));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_missing_or_no_toml_is_said_so() {
    let env = test_env("cli-file").await;
    let said = env.cli_raw(&["check", "-c", "nowhere.toml"]).await;
    assert!(
        said.code == 2 && said.stderr.contains("nowhere.toml"),
        "{said:?}"
    );
    std::fs::write(env.dir().join("bad.toml"), "[kafka\nx = 1\n").unwrap();
    let said = env.cli_raw(&["check", "-c", "bad.toml"]).await;
    assert!(
        said.code == 2 && said.stderr.contains("bad.toml:1: "),
        "{said:?}"
    );
    let said = env.cli_raw(&["frobnicate"]).await;
    assert_eq!(said.code, 2, "{said:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn run_refuses_a_schema_that_is_not_migrated_and_migrate_brings_it_up() {
    let scene = Scene::new("cli-schema", 1, 1).await;
    let config = scene.env.config().consumer(scene.consumer("rejects").await);
    let host = scene.env.host(config.clone()).args(&["run"]).start().await;
    let code = host.wait_exit(secs(30)).await;
    let log = host.log();
    assert_eq!(code, 2, "{log}");
    assert!(
        log.contains("is not migrated") && log.contains("tidegate migrate"),
        "{log}"
    );

    let said = scene.env.cli(&["migrate"], &config).await;
    assert_eq!(said.code, 0, "{said:?}");
    let again = scene.env.cli(&["migrate"], &config).await;
    assert!(
        again.code == 0 && again.stdout.contains("up to date"),
        "{again:?}"
    );
    scene.produce(vec![pay(1, "e1", "")]).await;
    let host = scene.env.host(config.clone()).args(&["run"]).start().await;
    scene.wait_counts(done_and_rejected(1, 0)).await;
    assert_eq!(host.terminate().await, 0);

    // A schema from the future is not touched.
    let newer = "INSERT INTO tidegate.schema_history (version, name, applied_on, checksum)
                 SELECT 1000, 'future', applied_on, checksum FROM tidegate.schema_history LIMIT 1";
    scene.env.db.exec(newer).await;
    for args in [&["run"][..], &["run", "--migrate"]] {
        let host = scene.env.host(config.clone()).args(args).start().await;
        assert_eq!(host.wait_exit(secs(30)).await, 2);
        let log = host.log();
        assert!(log.contains("newer than this binary"), "{args:?}: {log}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dead_letters_inbox_and_offsets_are_shown_as_tables_and_as_json() {
    let scene = Scene::new("cli-show", 1, 3).await;
    let records = vec![
        pay(1, "e1", ""),
        pay(2, "e2", "reject")
            .key("k2")
            .header("bin", b"\xff\x00".to_vec()),
        pay(3, "e3", "").null_header("event-id"),
        pay(1, "e1", ""),
    ];
    scene.produce(records).await;
    let config = scene.env.config().consumer(scene.consumer("rejects").await);
    let host = scene.env.host(config.clone()).start().await;
    let expected = crate::scene::Counts {
        republished: 1,
        ..done_and_rejected(1, 2)
    };
    scene.wait_counts(expected).await;
    assert_eq!(host.terminate().await, 0);
    let show = async |args: &[&str]| shown(&scene.env, args, &config).await;

    shows_letters(&show).await;
    shows_claims_and_offsets(&scene, &show).await;
}

async fn shows_letters(show: &impl AsyncFn(&[&str]) -> String) {
    let list = json(&show(&["dlt", "list", "--format", "json"]).await);
    let codes: Vec<_> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|l| l["code"].clone())
        .collect();
    assert_eq!(codes.len(), 2, "{list}");
    let rejected = list
        .as_array()
        .unwrap()
        .iter()
        .find(|l| l["code"] == "rejected")
        .unwrap();
    assert_eq!(
        (&rejected["event_id"], &rejected["offset"]),
        (&"e2".into(), &1.into())
    );
    let id = rejected["id"].as_str().unwrap();
    let letter = json(&show(&["dlt", "show", id, "--format", "json"]).await);
    assert_eq!((&letter["id"], &letter["key"]), (&id.into(), &"k2".into()));
    let bin = serde_json::json!(["bin", { "hex": "ff00" }]);
    assert_eq!(letter["headers"][1], bin, "{letter}");
    let table = show(&["dlt", "list"]).await;
    assert_eq!(table.lines().count(), 3, "{table}");
    assert!(
        table.contains("bad-event-id") && table.contains("rejected"),
        "{table}"
    );
    let table = show(&["dlt", "show", id]).await;
    assert!(
        table.contains("told to reject") && table.contains("k2"),
        "{table}"
    );
}

async fn shows_claims_and_offsets(scene: &Scene, show: &impl AsyncFn(&[&str]) -> String) {
    let claims = json(&show(&["inbox", "show", "e1", "--format", "json"]).await);
    assert_eq!(claims[0]["outcome"], "done", "{claims}");
    assert_eq!(claims[0]["offset"], 0);
    assert!(show(&["inbox", "show", "e2"]).await.contains("rejected"));

    let offsets = json(&show(&["offsets", "show", "--format", "json"]).await);
    let row = &offsets[0];
    for (name, value) in [
        ("kafka_committed", 4),
        ("next_offset", 4),
        ("high", 4),
        ("lag", 0),
        ("rejected", 2),
    ] {
        assert_eq!(row[name], value, "{name}: {offsets}");
    }
    let table = show(&["offsets", "show"]).await;
    assert!(
        table.contains("LAG") && table.contains(&scene.topic),
        "{table}"
    );
}

/// What is not there is said, not shown as nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_there_is_said_so() {
    let scene = Scene::new("cli-none", 1, 1).await;
    let config = scene.env.config().consumer(scene.consumer("rejects").await);
    let unready = scene.env.cli(&["dlt", "list"], &config).await;
    assert!(
        unready.code == 2 && unready.stderr.contains("migrate"),
        "{unready:?}"
    );
    assert_eq!(scene.env.cli(&["migrate"], &config).await.code, 0);
    let letter = scene.env.cli(&["dlt", "show", "0123abcd"], &config).await;
    assert!(
        letter.code == 1 && letter.stderr.contains("0123abcd"),
        "{letter:?}"
    );
    let list = shown(&scene.env, &["dlt", "list", "--format", "json"], &config).await;
    assert_eq!(json(&list), serde_json::json!([]));
    let stranger = ["dlt", "list", "--consumer", "stranger"];
    let stranger = scene.env.cli(&stranger, &config).await;
    assert!(
        stranger.code == 2 && stranger.stderr.contains("stranger"),
        "{stranger:?}"
    );
}

async fn shown(env: &TestEnv, args: &[&str], config: &tidegate_tests::HostConfig) -> String {
    let said: Output = env.cli(args, config).await;
    assert_eq!(said.code, 0, "{args:?}: {said:?}");
    said.stdout
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}
