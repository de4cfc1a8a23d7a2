//! A letter that cannot be handled now waits by itself: others have their turn, but for those that must not overtake it.

use std::time::Duration;

use tidegate::inbox::{LetterFilter, ReplayRequest, Taken, Turn, Untried, Wall};
use tidegate_core::replay::{Tries, Wait};
use tidegate_tests::{Rec, guest_bytes, wait_eq, wait_for};

use super::letters::HOST;
use crate::inbox_support::{Db, db};
use crate::scene::{PATIENCE, Scene, done_and_rejected};
use crate::swap::replace;
use crate::tenants::{of, tenant_pay};

/// Letters of one partition: offset, tenant and key.
async fn letters(db: &Db, letters: &[(i64, Option<&str>, Option<&str>)]) {
    let quoted = |text: Option<&str>| text.map_or("NULL".to_owned(), |text| format!("'{text}'"));
    for (offset, tenant, key) in letters {
        db.run(&format!(
            "INSERT INTO tidegate.dead_letters (id, consumer_name, cluster_id, topic, partition, \"offset\", scope, key,
                 header_names, header_values, timestamp_type, code, message, attempts, tenant)
             VALUES ('l{offset}', 'c', 'k', 't', 0, {offset}, '', {}, '{{}}', '{{}}', 'none', 'x', '', 0, {})",
            quoted(*key),
            quoted(*tenant)
        ))
        .await;
    }
}

async fn ask(db: &Db) -> i64 {
    ask_for(db, &[]).await
}

/// Asks for these letters, or for all.
async fn ask_for(db: &Db, ids: &[&str]) -> i64 {
    let request = ReplayRequest {
        filter: LetterFilter {
            consumers: vec!["c".into()],
            ids: ids.iter().map(|id| (*id).to_owned()).collect(),
            ..LetterFilter::default()
        },
        consumer: "c".into(),
        by: "me".into(),
        words: String::new(),
        rounds: (5, false),
    };
    let asked = db.inbox.request_replay(&request).await;
    asked.expect("asked").expect("a request")
}

async fn take(db: &Db) -> Option<Turn> {
    match db.inbox.take_turn("c", HOST).await.expect("taken") {
        Some(Taken::Turn(turn)) => Some(turn),
        None => None,
        other => panic!("no turn: {other:?}"),
    }
}

async fn next(db: &Db) -> String {
    take(db).await.map_or("none".to_owned(), |turn| turn.letter)
}

async fn settle(db: &Db, turn: &Turn) {
    let settled = db.inbox.settle_turn(turn, HOST, Untried::Gone).await;
    settled.expect("settled");
}

fn hour() -> Wait {
    Wait {
        time: Duration::from_secs(3600),
        words: "stopped: undefined_table".into(),
        stopped: true,
        in_place: false,
        tries: Tries {
            attempts: 3,
            fresh: true,
            waited: Duration::from_millis(70),
            nobodys: 2,
        },
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_letter_that_waits_is_passed_by_all_but_later_ones_of_its_tenant_and_key() {
    let db = db(Wall::Grammar).await;
    let (a, b) = (Some("a"), Some("b"));
    letters(
        &db,
        &[
            (0, None, a),
            (1, None, a),
            (2, None, b),
            (3, Some("x"), a),
            (4, None, None),
            (5, None, a),
        ],
    )
    .await;
    let request = ask(&db).await;
    let first = take(&db).await.expect("a turn");
    assert_eq!((first.letter.as_str(), first.marks), ("l0", 1));
    db.inbox
        .put_off(&first, HOST, &hour())
        .await
        .expect("put off");
    for letter in ["l3", "l2", "l4"] {
        let turn = take(&db).await.expect("a turn");
        assert_eq!(turn.letter, letter);
        settle(&db, &turn).await;
    }
    assert_eq!(next(&db).await, "none");
    assert_eq!(db.inbox.free_strands("c").await.expect("asked"), 0);
    let due = db
        .inbox
        .next_turn("c")
        .await
        .expect("asked")
        .expect("a wait");
    assert!(due > Duration::from_secs(3000), "{due:?}");
    let told = db.inbox.replays(&[request]).await.expect("read").remove(0);
    assert_eq!((told.waiting, told.stopped, told.behind), (1, 1, 2));
    assert!(told.is_stopped());
    assert_eq!(
        told.words().as_deref(),
        Some("letter l0: stopped: undefined_table")
    );

    // Another request is worked on meanwhile, and overtakes nothing either.
    letters(&db, &[(6, None, a), (7, None, Some("c"))]).await;
    ask_for(&db, &["l6", "l7"]).await;
    let turn = take(&db).await.expect("a turn");
    assert_eq!(turn.letter, "l7");
    settle(&db, &turn).await;
    assert_eq!(next(&db).await, "none");

    // What its tries came to is not forgotten, and the mark counts no death.
    db.inbox.wake_replays("c").await.expect("woken");
    let again = take(&db).await.expect("a turn");
    assert_eq!((again.letter.as_str(), again.marks), ("l0", 1));
    assert_eq!(again.tries, hour().tries);
    settle(&db, &again).await;
    for letter in ["l1", "l5", "l6"] {
        let turn = take(&db).await.expect("a turn");
        assert_eq!(turn.letter, letter);
        settle(&db, &turn).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn letters_have_their_first_turn_before_others_have_another_and_requests_take_turns() {
    let db = db(Wall::Grammar).await;
    letters(&db, &[(0, None, None), (1, None, None)]).await;
    ask(&db).await;
    letters(&db, &[(2, None, None), (3, None, None)]).await;
    ask(&db).await;
    let at_once = Wait {
        time: Duration::ZERO,
        ..hour()
    };
    let mut seen = Vec::new();
    for _ in 0..6 {
        let turn = take(&db).await.expect("a turn");
        db.inbox
            .put_off(&turn, HOST, &at_once)
            .await
            .expect("put off");
        seen.push(turn.letter);
    }
    assert_eq!(seen[..4], ["l0", "l2", "l1", "l3"]);
    assert_eq!(seen[4..], ["l0", "l2"]);
}

/// Whoever was behind a letter of a cancelled request has its turn.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_request_holds_nobody_back() {
    let db = db(Wall::Grammar).await;
    letters(&db, &[(0, None, Some("a"))]).await;
    let first = ask(&db).await;
    let turn = take(&db).await.expect("a turn");
    db.inbox
        .put_off(&turn, HOST, &hour())
        .await
        .expect("put off");
    letters(&db, &[(1, None, Some("a"))]).await;
    ask(&db).await;
    assert_eq!(next(&db).await, "none");
    db.inbox.cancel_replay(first).await.expect("cancelled");
    assert_eq!(db.inbox.free_strands("c").await.expect("freed"), 1);
    assert_eq!(next(&db).await, "l1");
}

/// Tenants `evil` and `good` with handlers that reject everything, each in a file of its own.
struct Two {
    scene: Scene,
    config: tidegate_tests::HostConfig,
    host: tidegate_tests::Host,
}

impl Two {
    async fn new(records: Vec<Rec>) -> Self {
        let scene = Scene::new("replay-waits", 2, 9).await;
        let rejected = i64::try_from(records.len()).unwrap();
        let mut toml = "[consumer.tenants]\nfrom = \"header:tenant\"\n".to_owned();
        for tenant in ["evil", "good"] {
            let file = scene
                .env
                .guest_copy("rejects", &format!("{tenant}.wasm"))
                .await;
            let file = file.display().to_string();
            toml.push_str(&format!("[consumer.tenant.{tenant}]\nhandler = {file:?}\n"));
        }
        let consumer = scene
            .consumer("rejects")
            .await
            .raw(&toml)
            .set("brake", "off");
        let consumer = consumer.retry("initial", "100ms").retry("max", "1s");
        let config = scene.env.config().consumer(consumer);
        scene.produce(records).await;
        let host = scene.env.host(config.clone()).start().await;
        scene.wait_counts(done_and_rejected(0, rejected)).await;
        let two = Self {
            scene,
            config,
            host,
        };
        two.mend("evil", "sql").await;
        two.mend("good", "credit-rust").await;
        two
    }

    async fn mend(&self, tenant: &str, guest: &str) {
        let file = self.scene.env.dir().join(format!("{tenant}.wasm"));
        let bytes = guest_bytes(guest).await;
        replace(&file, &bytes);
        let digest = tidegate_tests::digest(&bytes)[..8].to_owned();
        wait_for(PATIENCE, "the module to be active", async || {
            let log = self.host.log();
            log.lines().any(|line| line.contains(&digest)).then_some(())
        })
        .await;
    }

    async fn replay(&self, options: &[&str]) -> (i32, serde_json::Value, String) {
        let args = [&["dlt", "replay", "--format", "json"], options].concat();
        let said = self.scene.env.cli(&args, &self.config).await;
        let rows: serde_json::Value =
            serde_json::from_str(&said.stdout).unwrap_or_else(|_| panic!("{said:?}"));
        (said.code, rows[0].clone(), said.stderr)
    }
}

fn evil(id: &str, key: &str, table: &str) -> Rec {
    let sql = format!("INSERT INTO {table} (effect) VALUES ('reject {id}')");
    of("evil", Rec::new(sql).to(0).event_id(id)).key(key)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_letter_that_is_stopped_holds_up_neither_other_tenants_nor_other_requests() {
    let records = vec![
        evil("e1", "k", "nowhere"),
        evil("e2", "k", "nowhere"),
        evil("e3", "other", "somewhere"),
        tenant_pay("good", 1, "g1", "reject").key("k"),
        tenant_pay("good", 2, "g2", "reject"),
        tenant_pay("good", 3, "g3", "reject").to(1),
    ];
    let two = Two::new(records).await;
    let table = |name: &str| format!("CREATE TABLE {name} (n serial, effect text)");
    two.scene.env.db.exec(&table("somewhere")).await;
    let (code, row, said) = two.replay(&["--partition", "0"]).await;
    assert_eq!((code, &row["status"]), (1, &"open".into()), "{row} {said}");
    let counts = ["letters", "resolved", "rejected", "waiting", "behind"]
        .map(|name| row[name].as_i64().unwrap());
    assert_eq!(counts, [5, 3, 0, 1, 1], "{row}");
    // Who waits and why: in the row, and in the command's words.
    assert_eq!(row["which"][0]["tenant"], "evil");
    assert!(
        row["waits"]
            .as_str()
            .unwrap()
            .contains("stopped: undefined_table"),
        "{row}"
    );
    assert!(
        said.contains("tenant evil")
            && said.contains("--wait 1")
            && said.contains("1 letters of the same keys"),
        "{said}"
    );
    two.host.wait_log("waits by itself", PATIENCE).await;
    assert_eq!(two.scene.journal().await, [1, 2]);

    let (code, row, said) = two.replay(&["--tenant", "good"]).await;
    assert_eq!(
        (code, row["resolved"].as_i64()),
        (0, Some(1)),
        "{row} {said}"
    );
    assert_eq!(two.scene.journal().await, [1, 2, 3]);

    // Once it is there, both are handled without a command, in their order.
    two.scene.env.db.exec(&table("nowhere")).await;
    let (code, row, said) = two.replay(&["--wait", "1"]).await;
    assert_eq!(
        (code, row["resolved"].as_i64()),
        (0, Some(5)),
        "{row} {said}"
    );
    let effects = "SELECT effect FROM nowhere ORDER BY n";
    let effects = two.scene.env.db.query_text(effects).await.concat();
    assert_eq!(
        effects,
        [Some("reject e1".to_owned()), Some("reject e2".to_owned())]
    );
}

/// Somebody else's lock is one letter's wait.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_letter_that_waits_for_a_lock_holds_up_no_other() {
    let records = vec![
        tenant_pay("good", 1, "g1", "reject"),
        tenant_pay("good", 2, "g2", "reject"),
    ];
    let two = Two::new(records).await;
    let other = crate::inbox_support::connect(&two.scene.env.db.url()).await;
    other
        .batch_execute("BEGIN; SELECT 1 FROM accounts WHERE id = 1 FOR UPDATE")
        .await
        .unwrap();
    let (code, ..) = two.replay(&["--detach"]).await;
    assert_eq!(code, 0);
    wait_eq(PATIENCE, "the other letter", vec![2], async || {
        two.scene.journal().await
    })
    .await;
    other.batch_execute("COMMIT").await.unwrap();
    let (code, row, said) = two.replay(&["--wait", "1"]).await;
    assert_eq!(
        (code, row["resolved"].as_i64()),
        (0, Some(2)),
        "{row} {said}"
    );
}
