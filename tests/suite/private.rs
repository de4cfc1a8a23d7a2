//! Values of rows stay where rows are: none reaches the log, the metrics, the published letters or the commands' lists.

use tidegate_tests::{Consumer, Got, Host, HostConfig, Raw, Rec, wait_eq, wait_for};

use crate::scene::{Counts, PATIENCE, Scene, done_and_rejected};

/// Whatever is looked for: it stands in each statement below, and in what the server says of most.
const SECRETS: [&str; 4] = ["ada@secret.example", "98765432109", "2024-77-88", "hunter2"];

/// What fails, its SQLSTATE, what its letter names, and whether the server's main message holds the value.
const FAILING: [(&str, &str, &str, bool); 9] = [
    (
        "INSERT INTO users VALUES (2, 'ada@secret.example', 1, '')",
        "23505",
        "table `public.users`, constraint `users_email_key`",
        false,
    ),
    (
        "INSERT INTO users VALUES (3, NULL, 1, 'hunter2')",
        "23502",
        "table `public.users`, column `email`",
        false,
    ),
    (
        "INSERT INTO users VALUES (4, 'e4', -7, 'hunter2')",
        "23514",
        "table `public.users`, constraint `users_age_check`",
        false,
    ),
    ("SELECT 'hunter2'::bigint", "22P02", "", true),
    ("SELECT '98765432109'::integer", "22003", "", true),
    ("SELECT 'hunter2'::date", "22007", "", true),
    ("SELECT '2024-77-88'::date", "22008", "", true),
    (
        "INSERT INTO guarded VALUES ('P0001', 'hunter2')",
        "P0001",
        "",
        true,
    ),
    (
        "INSERT INTO guarded VALUES ('23505', 'hunter2')",
        "23505",
        "",
        true,
    ),
];

/// A table with constraints, and one whose trigger raises what it is told, a notice before it.
const TABLES: &str = "
    CREATE TABLE users (id bigint PRIMARY KEY, email text NOT NULL UNIQUE, age integer CHECK (age > 0), note text);
    INSERT INTO users VALUES (1, 'ada@secret.example', 1, 'hunter2');
    CREATE TABLE guarded (code text, value text);
    CREATE FUNCTION guard() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE WARNING 'value %', NEW.value;
        RAISE EXCEPTION 'value % is bad', NEW.value
            USING ERRCODE = NEW.code, DETAIL = NEW.value, HINT = NEW.value;
    END $$;
    CREATE TRIGGER guard BEFORE INSERT ON guarded FOR EACH ROW EXECUTE FUNCTION guard();";

const MODES: [&str; 3] = ["execute", "query", "stage"];

async fn scene(name: &str) -> Scene {
    let scene = Scene::new(name, 1, 1).await;
    scene.env.db.exec(TABLES).await;
    scene
}

fn statement(sql: &str, mode: &str, id: &str) -> Rec {
    Rec::new(sql).to(0).event_id(id).header("mode", mode)
}

/// Every failure in every mode of call.
fn failing() -> Vec<Rec> {
    let mut records = Vec::new();
    for mode in MODES {
        for (n, (sql, ..)) in FAILING.iter().enumerate() {
            records.push(statement(sql, mode, &format!("{mode}-{n}")));
        }
    }
    records
}

async fn start(scene: &Scene, consumer: Consumer) -> (Host, HostConfig) {
    let config = scene.env.config().watched().consumer(consumer);
    // The driver's own lines at that level are the statements themselves.
    let host = scene.env.host(config.clone());
    let host = host
        .env("TIDEGATE_LOG", "info,tidegate=trace")
        .start()
        .await;
    (host, config)
}

fn holds_none(what: &str, text: &str) {
    for secret in SECRETS {
        assert!(!text.contains(secret), "{what} hold {secret}: {text}");
    }
}

/// What can be read of a host from outside.
async fn watched(host: &Host) {
    for path in ["/metrics", "/readyz", "/livez"] {
        holds_none(path, &host.ask(path).await.body);
    }
    holds_none("the log's lines", &host.log());
}

async fn published(scene: &Scene, expected: usize) -> Vec<Got> {
    let topic = format!("{}.dlt", scene.topic);
    wait_for(PATIENCE, "the letters' topic", async || {
        let got = scene.env.kafka.consume_all(&topic).await;
        (got.len() == expected).then_some(got)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_are_in_the_letters_rows_alone() {
    for profile in ["tidegate", "spring", "connect"] {
        let scene = scene(&format!("private-{profile}")).await;
        scene.produce(failing()).await;
        let consumer = scene.consumer("sql").await.dead_letter("headers", profile);
        let (host, config) = start(&scene, consumer).await;
        let all = MODES.len() * FAILING.len();
        scene.wait_counts(rejected(all)).await;
        for got in published(&scene, all).await {
            let texts = got.headers.iter().filter_map(|(_, value)| value.as_deref());
            let text = String::from_utf8_lossy(&texts.collect::<Vec<_>>().join(&b' ')).into_owned();
            holds_none("a published letter's headers", &text);
            assert!(text.contains("(SQLSTATE "), "{text}");
        }
        watched(&host).await;
        let letters = scene.letters().await;
        let modes = FAILING.iter().cycle();
        for (letter, (_, sqlstate, names, tells)) in letters.iter().zip(modes) {
            assert_eq!(letter.sqlstate.as_deref(), Some(*sqlstate), "{letter:?}");
            let (line, server) = letter.message.split_once('\n').unwrap();
            holds_none("a message's first line", line);
            assert!(line.ends_with(names), "{letter:?}");
            let told = SECRETS.iter().any(|secret| server.contains(secret));
            assert_eq!(told, *tells, "{letter:?}");
        }
        shown(&scene, &config).await;
    }
}

/// The list is for everybody, one letter for whoever asks for it.
async fn shown(scene: &Scene, config: &HostConfig) {
    let run = async |args: &[&str]| {
        let said = scene.env.cli(args, config).await;
        assert_eq!(said.code, 0, "{said:?}");
        said.stdout
    };
    let list = run(&["dlt", "list", "--format", "json"]).await;
    holds_none("the list", &list);
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    let of = |letter: &&serde_json::Value| letter["sqlstate"] == "22P02";
    let id = list.as_array().unwrap().iter().find(of).unwrap()["id"].clone();
    let one = run(&["dlt", "show", id.as_str().unwrap()]).await;
    assert!(one.contains("server said"), "{one}");
    assert!(one.contains("type bigint: \"hunter2\""), "{one}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_codes_alone_not_even_the_rows_hold_values() {
    let scene = scene("private-codes").await;
    scene.produce(failing()).await;
    let consumer = scene.consumer("sql").await.dead_letter("messages", "codes");
    let (host, _) = start(&scene, consumer).await;
    scene
        .wait_counts(rejected(MODES.len() * FAILING.len()))
        .await;
    for letter in scene.letters().await {
        holds_none("a letter", &letter.message);
        assert!(letter.message.contains("(SQLSTATE "), "{letter:?}");
    }
    watched(&host).await;
}

/// The reason of a brake, in the log and in PostgreSQL.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_brakes_reason_holds_no_value() {
    let scene = scene("private-brake").await;
    scene.produce(failing()).await;
    let consumer = scene.consumer("sql").await.brake("window", 4);
    let consumer = consumer.brake("share", Raw("0.5"));
    let (host, _) = start(&scene, consumer).await;
    host.wait_log("the consumer is braked", PATIENCE).await;
    let rows = scene
        .env
        .db
        .query_text("SELECT reason FROM tidegate.consumers")
        .await;
    let reason = rows[0][0].clone().unwrap();
    holds_none("the reason", &reason);
    assert!(reason.contains("SQLSTATE"), "{reason}");
    watched(&host).await;
}

/// What stops a partition is told to whoever looks, with names where the server speaks of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_stops_a_partition_names_tables_and_no_value() {
    let words = "undefined_table (SQLSTATE 42P01): relation \"nowhere\" does not exist";
    let scene = scene("private-stop").await;
    let sql = "SELECT 'hunter2' FROM nowhere";
    scene.produce(vec![statement(sql, "execute", "e")]).await;
    let (host, _) = start(&scene, scene.consumer("sql").await).await;
    host.wait_log("verdict=\"stop\"", PATIENCE).await;
    let answer = host.wait_status("/readyz", 503).await;
    wait_eq(PATIENCE, "the reason in the log", true, async || {
        host.log().contains(words) || host.log().contains(&words.replace('"', "\\\""))
    })
    .await;
    holds_none("what is not ready", &answer.body);
    watched(&host).await;
}

/// A trigger's code is told, and nothing of what it says.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_trigger_says_is_told_nowhere() {
    let scene = scene("private-trigger").await;
    let sql = "INSERT INTO guarded VALUES ('42P01', 'hunter2')";
    scene.produce(vec![statement(sql, "execute", "e")]).await;
    let (host, _) = start(&scene, scene.consumer("sql").await).await;
    scene.wait_counts(rejected(1)).await;
    host.wait_log("undefined_table (SQLSTATE 42P01)", PATIENCE)
        .await;
    watched(&host).await;
}

fn rejected(n: usize) -> Counts {
    done_and_rejected(0, i64::try_from(n).unwrap())
}
