//! A server that speaks German: what the host makes of its errors is what it makes of the English ones.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use tidegate_tests::{
    Host, Ledger, Rec, Server, ServerSpec, TestEnv, test_env_on, wait_eq, wait_for,
};
use tokio_postgres::Client;

use crate::rows::{AccountLock, PATIENCE};

/// What fails, a partition each, and what the host is to make of it.
const FAILING: [(&str, &str); 8] = [
    ("SELECT 1 / 0", "permanent"),
    ("INSERT INTO taken VALUES (1)", "permanent"),
    ("INSERT INTO missing VALUES (1)", "stop"),
    (DEADLOCK, "contention"),
    (LOCKED, "contention"),
    ("SELECT pg_sleep(60)", "transient"),
    (
        "SELECT pg_terminate_backend(pg_backend_pid())",
        "infrastructure",
    ),
    ("SELECT refuse()", "permanent"),
];

/// Waits between two accounts for long enough that a test can come between.
const DEADLOCK: &str = "UPDATE accounts SET balance = balance + 1 WHERE id = 1\n;;\nSELECT pg_sleep(1.25)\n;;\nUPDATE accounts SET balance = balance + 1 WHERE id = 2";
const LOCKED: &str = "UPDATE accounts SET balance = balance + 1 WHERE id = 3";

const TABLES: &str = "
CREATE TABLE taken (n int PRIMARY KEY);
INSERT INTO taken VALUES (1);
CREATE FUNCTION refuse() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$";

/// What became of a failing statement: the letter's code and SQLSTATE, if there is one, and the first verdict.
type Fate = (Option<(String, Option<String>)>, String);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_speaks_german_gets_the_same_verdicts() {
    let spec = ServerSpec {
        name: "german".to_owned(),
        settings: vec!["deadlock_timeout=200ms".to_owned()],
        env: vec![("LOCPATH".to_owned(), locale().display().to_string())],
        ..ServerSpec::default()
    };
    let server = Server::start(spec).await;
    let (english, german) = tokio::join!(fates(&server, "C"), fates(&server, "de_DE.UTF-8"));
    assert_eq!(english, german);
    for (partition, (sql, verdict)) in (0..).zip(FAILING) {
        let fate: &Fate = &german[&partition];
        assert_eq!(fate.1, verdict, "{sql}");
    }
    let letters = german.iter().filter_map(|(partition, fate)| {
        let (code, sqlstate) = fate.0.as_ref()?;
        Some((*partition, code.as_str(), sqlstate.as_deref()?))
    });
    let wanted = [
        (0, "sql-22012", "22012"),
        (1, "sql-23505", "23505"),
        (5, "retries-exhausted", "57014"),
        (7, "sql-P0001", "P0001"),
    ];
    assert_eq!(letters.collect::<Vec<_>>(), wanted);
}

/// Builds the one locale that is needed into a directory of its own, which the server can read.
fn locale() -> PathBuf {
    let dir = std::env::temp_dir().join("tidegate-tests-locale");
    let built = dir.join("de_DE.UTF-8");
    if !built.join("LC_MESSAGES").exists() {
        std::fs::create_dir_all(&dir).unwrap();
        let fresh = dir.join(format!("new-{:08x}", fastrand::u32(..)));
        let output = Command::new("localedef")
            .args(["--no-archive", "-i", "de_DE", "-f", "UTF-8"])
            .arg(&fresh)
            .output()
            .expect("localedef is missing: run `make setup`");
        assert!(
            fresh.join("LC_MESSAGES").exists(),
            "the German locale cannot be built; run `make setup`: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        // Another run may have been quicker: then its locale is as good.
        if std::fs::rename(&fresh, &built).is_err() {
            std::fs::remove_dir_all(&fresh).unwrap();
        }
    }
    dir
}

/// Runs all that fails on a database of this language.
async fn fates(server: &Server, language: &str) -> BTreeMap<i32, Fate> {
    let name = format!("speaks-{}", &language[..1].to_lowercase());
    let mut env = test_env_on(&name, Some(server), None).await;
    let speak = format!(
        "ALTER DATABASE \"{}\" SET lc_messages = '{language}'",
        env.db.name()
    );
    env.db.exec(&speak).await;
    env.db.reconnect().await;
    let words = env.db.try_exec("SELECT 1 / 0").await.unwrap_err();
    let words = words.as_db_error().unwrap().message().to_owned();
    assert_eq!(
        words.contains("durch Null"),
        language != "C",
        "the server says {words:?} in {language}; its messages are missing: run `make setup`"
    );
    Ledger::create(&env.db, 3).await;
    env.db.exec(TABLES).await;
    let (host, topic) = start(&env).await;
    let lock = AccountLock::take(&env.db, 3).await;
    let rival = rival(&env).await;
    let records = (0..).zip(FAILING);
    let records = records.map(|(partition, (sql, _))| {
        let rec = Rec::new(sql).to(partition).event_id(&partition.to_string());
        rec.header("mode", "query")
    });
    env.kafka.produce(&topic, records.collect()).await;
    deadlock(&env, &rival).await;
    let verdicts = wait_for(PATIENCE, "a verdict on every partition", async || {
        let verdicts = verdicts(&host, &topic);
        (verdicts.len() == FAILING.len()).then_some(verdicts)
    })
    .await;
    lock.release().await;
    let letters = "SELECT count(*) FROM tidegate.dead_letters";
    let count = async || env.db.query_one_i64(letters).await;
    wait_eq(PATIENCE, "dead letters", 4, count).await;
    let done = "SELECT sum(done) FROM tidegate.progress";
    let count = async || env.db.query_one_i64(done).await;
    wait_eq(PATIENCE, "records that got through later", 2, count).await;
    let fates = with_letters(&env, verdicts).await;
    assert_eq!(host.terminate().await, 3, "a partition is stopped");
    fates
}

async fn start(env: &TestEnv) -> (Host, String) {
    let topic = env.topic("t", i32::try_from(FAILING.len()).unwrap()).await;
    let consumer = env.consumer(&topic, "sql").await;
    let functions = r#"["pg_sleep", "pg_terminate_backend", "pg_backend_pid", "refuse"]"#;
    let consumer = consumer.sql("functions", tidegate_tests::Raw(functions));
    let consumer = consumer.retry("max_elapsed", "20ms");
    let config = env
        .config()
        .set("postgres", "statement_timeout", "2s")
        .set("postgres", "lock_timeout", "1s")
        .consumer(consumer.set("dead_letter", "off"));
    (env.host(config).start().await, topic)
}

/// A session that holds the second account and never looks for deadlocks: the host's session is the victim.
async fn rival(env: &TestEnv) -> Client {
    let rival = env.db.client().await;
    let hold =
        "SET deadlock_timeout = '1h'; BEGIN; UPDATE accounts SET balance = balance WHERE id = 2";
    rival.batch_execute(hold).await.unwrap();
    rival
}

/// Asks for the first account once the host's session holds it, until that session has lost.
async fn deadlock(env: &TestEnv, rival: &Client) {
    let holds = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' \
                 AND query LIKE 'SELECT pg_sleep(1.25)%'";
    wait_for(PATIENCE, "the host to hold the first account", async || {
        (env.db.query_one_i64(holds).await > 0).then_some(())
    })
    .await;
    let ask = "UPDATE accounts SET balance = balance WHERE id = 1; ROLLBACK";
    rival.batch_execute(ask).await.unwrap();
}

/// The first verdict on each partition that is no question of caches: a `stop` is one on a second, fresh connection.
fn verdicts(host: &Host, topic: &str) -> BTreeMap<i32, String> {
    let mut verdicts = BTreeMap::new();
    for line in host.log().lines().filter(|line| line.contains("verdict=")) {
        let after = |mark: &str| line.split_once(mark).map(|(_, rest)| rest);
        let number = after(&format!("{topic}[")).and_then(|rest| rest.split_once(']'));
        let verdict = after("verdict=").map(|rest| rest.split_whitespace().next().unwrap_or(""));
        if let (Some((number, _)), Some(verdict)) = (number, verdict) {
            let verdict = verdict.trim_matches('"').to_owned();
            if verdict != "reconnect" {
                verdicts.entry(number.parse().unwrap()).or_insert(verdict);
            }
        }
    }
    verdicts
}

async fn with_letters(env: &TestEnv, verdicts: BTreeMap<i32, String>) -> BTreeMap<i32, Fate> {
    let letters = "SELECT partition, code, sqlstate FROM tidegate.dead_letters";
    let mut letters: BTreeMap<i32, _> = env
        .db
        .query_text(letters)
        .await
        .into_iter()
        .map(|row| {
            let number = row[0].as_ref().unwrap().parse().unwrap();
            (number, (row[1].clone().unwrap(), row[2].clone()))
        })
        .collect();
    let fate = |(partition, verdict)| (partition, (letters.remove(&partition), verdict));
    verdicts.into_iter().map(fate).collect()
}
