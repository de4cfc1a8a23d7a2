//! Replays of dead letters: by another module, by rounds, beside what happened meanwhile.

mod faults;
mod letters;
mod requests;
mod rounds;
mod waits;
mod walls;

use std::path::PathBuf;

use serde_json::Value;
use tidegate_tests::{
    Consumer, Host, HostConfig, Output, Rec, digest, guest_bytes, wait_eq, wait_for,
};

use crate::scene::{PATIENCE, Scene, done_and_rejected, pay};
use crate::swap::replace;

/// A host whose handler has rejected everything, and may be replaced.
pub(crate) struct Rig {
    pub(crate) scene: Scene,
    pub(crate) file: PathBuf,
    pub(crate) config: HostConfig,
    pub(crate) host: Host,
}

impl Rig {
    /// Produces the records and waits until each is a letter.
    async fn new(name: &str, accounts: i64, records: Vec<Rec>) -> Self {
        Self::with(name, accounts, records, |consumer| consumer).await
    }

    async fn with(
        name: &str,
        accounts: i64,
        records: Vec<Rec>,
        adjust: impl FnOnce(Consumer) -> Consumer,
    ) -> Self {
        let scene = Scene::new(name, 2, accounts).await;
        let rejected = i64::try_from(records.len()).unwrap();
        scene.produce(records).await;
        let file = scene.env.guest_copy("rejects", "handler.wasm").await;
        let consumer = scene
            .consumer("rejects")
            .await
            .handler(file.as_path())
            .sql("functions", "pg_sleep");
        let config = scene
            .env
            .config()
            .consumer(adjust(consumer.set("brake", "off")));
        let host = scene.env.host(config.clone()).start().await;
        scene.wait_counts(done_and_rejected(0, rejected)).await;
        Self {
            scene,
            file,
            config,
            host,
        }
    }

    /// Puts another guest in the handler's place, and waits until the host runs it.
    async fn swap(&self, guest: &str) {
        let bytes = guest_bytes(guest).await;
        replace(&self.file, &bytes);
        self.runs(&bytes).await;
    }

    async fn runs(&self, module: &[u8]) {
        let sql = format!(
            "SELECT count(*) FROM tidegate.hosts WHERE encode(module_digest, 'hex') = '{}'
                AND seen_at > now() - interval '10 seconds'",
            digest(module)
        );
        wait_eq(PATIENCE, "the module to be active", 1, async || {
            self.number(&sql).await
        })
        .await;
    }

    async fn cli(&self, args: &[&str]) -> Output {
        self.scene.env.cli(args, &self.config).await
    }

    /// Asks for a replay and waits for its end: exit code, and the one request as JSON.
    async fn replay(&self, options: &[&str]) -> (i32, Value) {
        let args = [&["dlt", "replay", "--format", "json"], options].concat();
        let said = self.cli(&args).await;
        let rows: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|_| panic!("{said:?}"));
        assert_eq!(rows.as_array().map(Vec::len), Some(1), "{said:?}");
        (said.code, rows[0].clone())
    }

    async fn number(&self, sql: &str) -> i64 {
        self.scene.env.db.query_one_i64(sql).await
    }

    /// How many letters have this status.
    async fn letters(&self, status: &str) -> i64 {
        let sql = format!("SELECT count(*) FROM tidegate.dead_letters WHERE status = '{status}'");
        self.number(&sql).await
    }

    /// A column of the only letter.
    async fn letter(&self, column: &str) -> String {
        let sql = format!("SELECT {column} FROM tidegate.dead_letters");
        let rows = self.scene.env.db.query_text(&sql).await;
        assert_eq!(rows.len(), 1, "{rows:?}");
        rows[0][0].clone().unwrap_or_default()
    }

    /// Every fence is sealed, and each turn has its result.
    async fn in_good_order(&self) {
        let open = "SELECT count(*) FROM tidegate.replays WHERE begun <> sealed OR status = 'open'";
        assert_eq!(self.number(open).await, 0);
        let waiting = "SELECT count(*) FROM tidegate.replay_letters WHERE result IS NULL";
        assert_eq!(self.number(waiting).await, 0);
    }
}

/// What of a request's row counts.
fn counts(row: &Value) -> [i64; 5] {
    ["letters", "resolved", "rejected", "duplicate", "gone"].map(|name| row[name].as_i64().unwrap())
}

fn rejected(account: i64, id: &str) -> Rec {
    pay(account, id, "reject")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn letters_of_a_bad_module_are_all_handled_once_by_a_good_one() {
    let records =
        (1..=60).map(|n: i64| rejected(n, &format!("e{n}")).to(i32::try_from(n % 2).unwrap()));
    let rig = Rig::new("replay-swap", 60, records.collect()).await;
    rig.swap("credit-rust").await;
    let (code, row) = rig.replay(&[]).await;
    assert_eq!((code, counts(&row)), (0, [60, 60, 0, 0, 0]), "{row}");
    assert_eq!(rig.letters("resolved").await, 60);
    let mut journal = rig.scene.journal().await;
    // Partition by partition, in the order of the log.
    let order: Vec<i64> = (1..=60)
        .filter(|n| n % 2 == 0)
        .chain((1..=60).filter(|n| n % 2 == 1))
        .collect();
    assert_eq!(journal, order);
    journal.sort_unstable();
    assert_eq!(journal, (1..=60).collect::<Vec<_>>());
    let claims = format!(
        "SELECT count(*) FROM tidegate.processed_events WHERE outcome = 'done' AND encode(module_digest, 'hex') = '{}'",
        digest(&guest_bytes("credit-rust").await)
    );
    assert_eq!(rig.number(&claims).await, 60);

    let again = rig.cli(&["dlt", "replay"]).await;
    assert!(
        again.code == 0 && again.stdout.contains("nothing to replay"),
        "{again:?}"
    );
    // What comes from the topic again is a duplicate of what the replay handled.
    rig.scene.produce(vec![rejected(1, "e1")]).await;
    wait_eq(PATIENCE, "the copy to be a duplicate", 1, async || {
        rig.scene.counts().await.republished
    })
    .await;
    assert_eq!(rig.scene.balance(1).await, 1);
    rig.in_good_order().await;
}

/// `rejects` looks at the round that it is told.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_letter_that_is_rejected_again_goes_on_to_its_next_round_and_is_parked_at_the_last() {
    let value = serde_json::json!({ "amount_minor": 1, "account_id": 1, "trick": "reject", "until_round": 3 });
    let record = Rec::new(value.to_string()).to(0).event_id("e");
    let rig = Rig::with("replay-rounds", 3, vec![record], |c| {
        c.dead_letter("max_replays", 2)
    })
    .await;
    let first = rig.letter("id").await;
    let mut ids = vec![first.clone()];
    for round in 1..=2 {
        let (code, row) = rig.replay(&[]).await;
        assert_eq!((code, counts(&row)), (1, [1, 0, 1, 0, 0]), "{row}");
        assert_eq!(rig.letter("replay_round").await, round.to_string());
        assert_eq!(rig.letter("status").await, "open");
        ids.push(rig.letter("id").await);
    }
    assert!(ids[0] != ids[1] && ids[1] != ids[2]);
    // Each round is published under an id of its own.
    let topic = format!("{}.dlt", rig.scene.topic);
    let got = wait_for(PATIENCE, "three letters", async || {
        let got = rig.scene.env.kafka.consume_all(&topic).await;
        (got.len() == 3).then_some(got)
    })
    .await;
    let said = |name: &str| {
        got.iter()
            .map(|got| got.header(name).unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(said("tidegate-dead-letter-id"), ids);
    assert_eq!(said("tidegate-replay-round"), ["0", "1", "2"]);
    // The first id is still known.
    let shown = rig.cli(&["dlt", "show", &first, "--format", "json"]).await;
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(
        (&shown["id"], &shown["state"]),
        (&ids[2].as_str().into(), &"parked".into())
    );
    assert_eq!(shown["former_ids"], serde_json::json!(ids[..2]));

    let refused = rig.cli(&["dlt", "replay"]).await;
    assert!(
        refused.code == 0 && refused.stdout.contains("nothing to replay"),
        "{refused:?}"
    );
    assert!(refused.stderr.contains("are parked"), "{refused:?}");
    let (code, row) = rig.replay(&["--force", "--id", &first]).await;
    assert_eq!((code, counts(&row)), (0, [1, 1, 0, 0, 0]), "{row}");
    assert_eq!(rig.scene.balance(1).await, 1);
    assert_eq!(rig.letter("status").await, "resolved");
    rig.in_good_order().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_that_was_handled_meanwhile_is_a_duplicate_and_its_letter_is_closed() {
    let records = ["claimed", "superseded", "discarded", "plain"];
    let records = records.map(|id| rejected(1, id)).to_vec();
    let rig = Rig::new("replay-meanwhile", 3, records).await;
    rig.swap("credit-rust").await;
    rig.cli(&["consumer", "pause", &rig.consumer()]).await;
    let asked = rig.cli(&["dlt", "replay", "--detach"]).await;
    assert_eq!(asked.code, 0, "{asked:?}");
    rig.scene
        .env
        .db
        .exec(
            "UPDATE tidegate.processed_events SET outcome = 'done', \"offset\" = 99 WHERE event_id = 'claimed';
             UPDATE tidegate.dead_letters SET status = event_id, closed_at = now()
              WHERE event_id IN ('superseded', 'discarded')",
        )
        .await;
    rig.cli(&["consumer", "resume", &rig.consumer()]).await;
    let (code, row) = rig.replay(&["--wait", "1"]).await;
    assert_eq!((code, counts(&row)), (0, [4, 1, 0, 2, 1]), "{row}");
    let status = "SELECT event_id || '=' || status FROM tidegate.dead_letters ORDER BY event_id";
    let status = rig.scene.env.db.query_text(status).await.concat();
    let expected = [
        "claimed=superseded",
        "discarded=discarded",
        "plain=resolved",
        "superseded=superseded",
    ];
    assert_eq!(status, expected.map(|s| Some(s.to_owned())));
    assert_eq!(rig.scene.balance(1).await, 1);
    rig.in_good_order().await;
}

/// Only one of the event's letters is asked for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replay_that_is_handled_closes_the_events_other_letters_too() {
    let rig = Rig::new("replay-copies", 3, vec![rejected(1, "e"), rejected(1, "e")]).await;
    rig.swap("credit-rust").await;
    let ids = "SELECT id FROM tidegate.dead_letters ORDER BY \"offset\"";
    let ids = rig.scene.env.db.query_text(ids).await.concat();
    let (code, row) = rig.replay(&["--id", ids[1].as_deref().unwrap()]).await;
    assert_eq!((code, counts(&row)), (0, [1, 1, 0, 0, 0]), "{row}");
    let status = |letters: Vec<crate::scene::Letter>| {
        letters
            .into_iter()
            .map(|letter| letter.status)
            .collect::<Vec<_>>()
    };
    let status = status(rig.scene.letters().await);
    assert_eq!(status, ["superseded", "resolved"]);
    assert_eq!(rig.scene.journal().await, [1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replay_waits_while_its_consumer_is_paused_and_says_so() {
    let rig = Rig::new("replay-paused", 3, vec![rejected(1, "e")]).await;
    rig.swap("credit-rust").await;
    rig.cli(&[
        "consumer",
        "pause",
        &rig.consumer(),
        "--reason",
        "month end",
    ])
    .await;
    let command = rig
        .scene
        .env
        .host(rig.config.clone())
        .args(&["dlt", "replay"])
        .start()
        .await;
    command.wait_log("month end", PATIENCE).await;
    assert_eq!(rig.letters("open").await, 1);
    rig.cli(&["consumer", "resume", &rig.consumer()]).await;
    assert_eq!(command.wait_exit(PATIENCE).await, 0);
    assert_eq!(rig.scene.balance(1).await, 1);
}

impl Rig {
    /// The consumer's name.
    fn consumer(&self) -> String {
        self.scene.consumer.clone()
    }
}

/// A letter that was decided before any handler saw its record is looked at by today's configuration.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_event_id_is_read_again_by_the_configuration_of_the_day() {
    let record = |id: Option<&str>| {
        let value = serde_json::json!({ "amount_minor": 1, "account_id": 1, "id": id });
        Rec::new(value.to_string()).to(0)
    };
    let records = vec![record(Some("a")), record(None)];
    let rig = Rig::new("replay-ids", 3, records).await;
    assert_eq!(rig.scene.codes().await, ["bad-event-id"; 2]);
    rig.host.kill();
    let consumer = rig
        .scene
        .consumer("credit-rust")
        .await
        .dedup("id", "json:/id");
    let config = rig.scene.env.config().consumer(consumer);
    let _host = rig.scene.env.host(config.clone()).start().await;
    rig.runs(&guest_bytes("credit-rust").await).await;
    let rig = Rig { config, ..rig };
    let (code, row) = rig.replay(&[]).await;
    assert_eq!((code, counts(&row)), (1, [2, 1, 1, 0, 0]), "{row}");
    let letters = rig.scene.letters().await;
    let seen = |n: usize| (letters[n].status.as_str(), letters[n].code.as_str());
    assert_eq!(
        (seen(0), seen(1)),
        (("resolved", "bad-event-id"), ("open", "bad-event-id"))
    );
    let claims =
        "SELECT count(*) FROM tidegate.processed_events WHERE event_id = 'a' AND outcome = 'done'";
    assert_eq!(rig.number(claims).await, 1);
    assert_eq!(rig.scene.balance(1).await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transient_failure_is_retried_in_place_and_to_a_bound() {
    let records = vec![
        rejected(1, "twice"),
        pay(2, "always", "reject always"),
        rejected(3, "behind"),
    ];
    let rig = Rig::with("replay-transient", 3, records, |c| {
        c.retry("max_elapsed", "300ms")
    })
    .await;
    rig.swap("retries-twice").await;
    let (code, row) = rig.replay(&[]).await;
    assert_eq!((code, counts(&row)), (1, [3, 2, 1, 0, 0]), "{row}");
    assert_eq!(rig.scene.journal().await, [1, 3]);
    let open =
        "SELECT code || ' ' || (attempts > 3) FROM tidegate.dead_letters WHERE status = 'open'";
    let open = rig.scene.env.db.query_text(open).await.concat();
    assert_eq!(open, [Some("retries-exhausted true".to_owned())]);
    rig.in_good_order().await;
}
