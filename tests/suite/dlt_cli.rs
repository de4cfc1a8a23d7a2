//! The commands on dead letters: filters, export, discard.

use serde_json::Value;
use tidegate_tests::{HostConfig, Output, Rec, wait_eq};

use crate::scene::{PATIENCE, Scene, done_and_rejected, pay};

/// Letters of every kind, and the file that their host ran with.
struct Letters {
    scene: Scene,
    config: HostConfig,
}

impl Letters {
    /// Partition 0: two `malformed`, one `unexpected-row-count`; partition 1: one with the code `mine`.
    async fn new(name: &str) -> Self {
        let scene = Scene::new(name, 2, 9).await;
        let own = serde_json::json!({ "trick": "reject", "code": "mine" }).to_string();
        let records = vec![
            Rec::new(b"{".to_vec()).to(0).event_id("m1"),
            Rec::new(b"\xff".to_vec())
                .to(0)
                .event_id("m2")
                .key(b"\0k".to_vec()),
            pay(77, "nobody", ""),
            Rec::new(own).to(1).event_id("mine").null_header("n"),
        ];
        scene.produce(records).await;
        let config = scene.env.config().consumer(scene.consumer("rejects").await);
        let host = scene.env.host(config.clone()).start().await;
        scene.wait_counts(done_and_rejected(0, 4)).await;
        assert_eq!(host.terminate().await, 0);
        Self { scene, config }
    }

    async fn run(&self, args: &[&str]) -> Output {
        self.scene.env.cli(args, &self.config).await
    }

    /// The event ids that `dlt list` shows with these options.
    async fn listed(&self, options: &[&str]) -> Vec<String> {
        let args = [&["dlt", "list", "--format", "json"], options].concat();
        let said = self.run(&args).await;
        assert_eq!(said.code, 0, "{said:?}");
        let list: Value = serde_json::from_str(&said.stdout).unwrap();
        let id = |letter: &Value| letter["event_id"].as_str().unwrap().to_owned();
        let mut ids: Vec<_> = list.as_array().unwrap().iter().map(id).collect();
        ids.sort();
        ids
    }

    async fn one(&self, sql: &str) -> String {
        let rows = self.scene.env.db.query_text(sql).await;
        rows[0][0].clone().unwrap()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_filter_picks_its_letters() {
    let letters = Letters::new("dlt-filter").await;
    let scene = &letters.scene;
    let id =
        |event: &str| format!("SELECT id FROM tidegate.dead_letters WHERE event_id = '{event}'");
    let (first, second) = (letters.one(&id("m1")).await, letters.one(&id("mine")).await);
    let digest =
        "SELECT encode(module_digest, 'hex') FROM tidegate.dead_letters WHERE event_id = 'mine'";
    let digest = letters.one(digest).await;
    scene
        .env
        .db
        .exec("UPDATE tidegate.dead_letters SET created_at = now() - interval '3 hours', sqlstate = '22012' WHERE event_id = 'm1';
               UPDATE tidegate.dead_letters SET status = 'discarded', closed_at = now() WHERE event_id = 'm2'")
        .await;
    let all: &[&str] = &["m1", "mine", "nobody"];
    let cases: &[(&[&str], &[&str])] = &[
        (&[], all),
        (&["--all"], &["m1", "m2", "mine", "nobody"]),
        (&["--consumer", &scene.consumer], all),
        (&["--code", "malformed"], &["m1"]),
        (&["--code", "malformed", "--code", "mine"], &["m1", "mine"]),
        (&["--sqlstate", "22012"], &["m1"]),
        (&["--topic", &scene.topic, "--partition", "1"], &["mine"]),
        (&["--topic", "another"], &[]),
        (&["--since", "2h"], &["mine", "nobody"]),
        (&["--until", "2h"], &["m1"]),
        (
            &["--since", "2020-01-01T00:00:00Z", "--code", "mine"],
            &["mine"],
        ),
        (&["--until", "2020-01-01T00:00:00Z"], &[]),
        (&["--module", &digest[..8].to_uppercase()], all),
        (&["--module", "0000000000"], &[]),
        (&["--id", &first, "--id", &second], &["m1", "mine"]),
    ];
    for (options, expected) in cases {
        assert_eq!(letters.listed(options).await, *expected, "{options:?}");
    }
    for bad in [
        ["--since", "soon"],
        ["--module", "xyz"],
        ["--partition", "-1"],
        ["--consumer", "stranger"],
    ] {
        let said = letters.run(&["dlt", "list", bad[0], bad[1]]).await;
        assert_eq!(said.code, 2, "{said:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_holds_every_byte_and_spares_existing_files() {
    let letters = Letters::new("dlt-export").await;
    let said = letters.run(&["dlt", "export"]).await;
    assert_eq!(said.code, 0, "{said:?}");
    let lines: Vec<Value> = said
        .stdout
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert_eq!(lines.len(), 4);
    let of = |id: &str| lines.iter().find(|line| line["event_id"] == id).unwrap();
    let m2 = of("m2");
    assert_eq!((&m2["key"], &m2["value"]), (&"AGs=".into(), &"/w==".into()));
    assert_eq!(m2["headers"], serde_json::json!([["event-id", "bTI="]]));
    assert_eq!(
        (&m2["code"], &m2["state"]),
        (&"malformed".into(), &"open".into())
    );
    let mine = of("mine");
    assert_eq!(mine["key"], Value::Null);
    assert_eq!(mine["headers"][1], serde_json::json!(["n", null]));

    let file = letters.scene.env.dir().join("letters.jsonl");
    let file = file.to_str().unwrap();
    let export = ["dlt", "export", "--code", "malformed", "--output", file];
    assert_eq!(letters.run(&export).await.code, 0);
    assert_eq!(std::fs::read_to_string(file).unwrap().lines().count(), 2);
    let again = letters.run(&export).await;
    assert!(
        again.code == 1 && again.stderr.contains("does not exist"),
        "{again:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_of_many_pages_holds_each_letter_once_in_order() {
    let letters = Letters::new("dlt-export-pages").await;
    let copies = "INSERT INTO tidegate.dead_letters (id, consumer_name, cluster_id, topic, partition, \"offset\", scope,
            event_id, header_names, header_values, timestamp_type, code, message, attempts, created_at)
        SELECT 'x' || n, p.consumer_name, 'k', 't', 0, n, '', 'x' || n, '{}', '{}', 'none', 'copy', '', 0,
               now() - (n / 3) * interval '1 second'
          FROM generate_series(1, 333) n, (SELECT DISTINCT consumer_name FROM tidegate.dead_letters) p";
    letters.scene.env.db.exec(copies).await;
    let said = letters.run(&["dlt", "export", "--code", "copy"]).await;
    let ids: Vec<String> = said
        .stdout
        .lines()
        .map(|l| {
            serde_json::from_str::<Value>(l).unwrap()["id"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    let sql = "SELECT id FROM tidegate.dead_letters WHERE code = 'copy' ORDER BY created_at, id";
    let rows = letters.scene.env.db.query_text(sql).await;
    let wanted: Vec<String> = rows
        .into_iter()
        .map(|mut row| row.remove(0).unwrap())
        .collect();
    assert_eq!((ids.len(), &ids), (333, &wanted));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_discard_wants_a_word_where_nobody_can_be_asked_and_counts() {
    let letters = Letters::new("dlt-discard").await;
    let open = async || letters.listed(&[]).await.len();
    let filter = ["dlt", "discard", "--code", "malformed"];
    let dry = letters.run(&[&filter[..], &["--dry-run"]].concat()).await;
    assert!(
        dry.code == 0 && dry.stdout.starts_with("2 open dead letters would"),
        "{dry:?}"
    );
    let mute = letters.run(&filter).await;
    assert!(mute.code == 2 && mute.stderr.contains("--yes"), "{mute:?}");
    assert_eq!(open().await, 4);
    let done = letters.run(&[&filter[..], &["--yes"]].concat()).await;
    assert!(
        done.code == 0 && done.stdout.starts_with("2 dead letters discarded"),
        "{done:?}"
    );
    assert_eq!(open().await, 2);
    let none = letters.run(&[&filter[..], &["--yes"]].concat()).await;
    assert!(
        none.code == 0 && none.stdout.contains("nothing to discard"),
        "{none:?}"
    );
    let closed = "SELECT count(*) FROM tidegate.dead_letters WHERE status = 'discarded' AND closed_at IS NOT NULL";
    wait_eq(PATIENCE, "letters closed", 2, async || {
        letters.scene.env.db.query_one_i64(closed).await
    })
    .await;
}
