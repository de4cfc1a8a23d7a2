//! Hosts, commands and connections lost in the middle of a replay.

use tidegate_tests::{Host, HostConfig, Rec, digest, guest_bytes, wait_eq, wait_for};

use super::{Rig, counts, rejected};
use crate::scene::{PATIENCE, Scene, pay};

/// 2,000 rejected records, every fourth of them with the code `mine`.
fn rejects() -> Vec<Rec> {
    let record = |n: i64| {
        let code = if n % 4 == 0 { "mine" } else { "other" };
        let value = serde_json::json!({ "amount_minor": 1, "account_id": n, "trick": "reject", "code": code });
        let partition = i32::try_from(n / 4 % 2).unwrap();
        let rec = Rec::new(value.to_string()).to(partition);
        rec.event_id(&format!("e{n}"))
    };
    (1..=2000).map(record).collect()
}

/// Two consumers of the same topic, both without a brake, and the name of the second.
async fn two_consumers(scene: &Scene, handler: &std::path::Path) -> (HostConfig, String) {
    let mine = scene.consumer("rejects").await.handler(handler);
    let mut beside = scene.consumer("rejects").await;
    beside.name = format!("{}-2", beside.name);
    let name = beside.name.clone();
    let beside = beside.set("name", &name).group(&name);
    let letters = format!("{}.dlt", scene.topic);
    let beside = beside.dead_letter("topic", letters);
    let config = scene.env.config().consumer(mine.set("brake", "off"));
    (config.consumer(beside.set("brake", "off")), name)
}

/// Puts a module that handles everything in the file's place, and waits until the host runs it.
async fn mend(scene: &Scene, file: &std::path::Path) {
    let bytes = guest_bytes("credit-rust").await;
    crate::swap::replace(file, &bytes);
    let active = format!(
        "SELECT count(*) FROM tidegate.hosts WHERE encode(module_digest, 'hex') = '{}'",
        digest(&bytes)
    );
    let hosts = async || scene.env.db.query_one_i64(&active).await;
    wait_eq(PATIENCE, "the module to be active", 1, hosts).await;
}

/// Asks for the replay, and kills host and command in its middle; the host that came after.
async fn killed_in_the_middle(
    scene: &Scene,
    (config, args): (&HostConfig, &[&str]),
    host: Host,
) -> Host {
    let command = scene.env.host(config.clone()).args(args).start().await;
    let resolved = "SELECT count(*) FROM tidegate.dead_letters WHERE status = 'resolved'";
    let some = wait_for(PATIENCE, "some letters to be replayed", async || {
        let n = scene.env.db.query_one_i64(resolved).await;
        (n > 20).then_some(n)
    })
    .await;
    host.kill();
    command.kill();
    assert!(some < 500, "killed too late to show anything");
    let host = host.restart().await;
    host.wait_log("position taken", PATIENCE).await;
    host
}

/// Open letters that no replay has touched.
async fn untouched(scene: &Scene, consumer: &str, code: &str) -> i64 {
    let sql = format!(
        "SELECT count(*) FROM tidegate.dead_letters
          WHERE status = 'open' AND replay_round = 0 AND consumer_name = '{consumer}' AND code LIKE '{code}'"
    );
    scene.env.db.query_one_i64(&sql).await
}

/// 2,000 letters of two consumers; one consumer's 500 of one code are replayed, its host and the command die, and both
/// come again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_in_the_middle_a_replay_by_code_has_each_effect_once_and_touches_nothing_else() {
    let scene = Scene::new("replay-kill", 2, 2000).await;
    scene.produce(rejects()).await;
    let file = scene.env.guest_copy("rejects", "handler.wasm").await;
    let (config, beside) = two_consumers(&scene, &file).await;
    let host = scene.env.host(config.clone()).start().await;
    for consumer in [&scene.consumer, &beside] {
        let letters = async || scene.counts_of(consumer).await.rejected;
        wait_eq(PATIENCE, "2,000 letters", 2000, letters).await;
    }
    let quiet = scene.counts_of(&beside).await;
    mend(&scene, &file).await;

    let mine = scene.consumer.as_str();
    let args = ["dlt", "replay", "--consumer", mine, "--code", "mine"];
    let _host = killed_in_the_middle(&scene, (&config, &args), host).await;
    let again = [&args[..], &["--format", "json"]].concat();
    let said = scene.env.cli(&again, &config).await;
    let rows: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    let came_to = (said.code, counts(&rows[0]));
    assert_eq!(came_to, (0, [500, 500, 0, 0, 0]), "{said:?}");
    let requests = rows.as_array().unwrap().len();
    assert_eq!(requests, 1, "the same request: {rows}");

    let wrong = "SELECT count(*) FROM accounts WHERE balance <> (id % 4 = 0)::int";
    let wrong = scene.env.db.query_one_i64(wrong).await;
    assert_eq!(wrong, 0, "each effect once, and no other");
    let mut journal = scene.journal().await;
    journal.sort_unstable();
    assert_eq!(journal, (1..=500).map(|n| 4 * n).collect::<Vec<i64>>());
    assert_eq!(untouched(&scene, mine, "other").await, 1500);
    assert_eq!(untouched(&scene, &beside, "%").await, 2000);
    assert_eq!(scene.counts_of(&beside).await, quiet);
    let mut records = 0;
    for partition in 0..2 {
        records += scene.env.kafka.watermarks(&scene.topic, partition).await.1;
    }
    assert_eq!(records, 2000, "nothing came to the source topic");
}

/// A letter that ends the host each time it is tried.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_letter_that_takes_the_host_down_three_times_is_not_tried_again() {
    let value = serde_json::json!({ "amount_minor": 1, "account_id": 1, "trick": "reject", "sleep_ms": 20_000 });
    let records = vec![
        Rec::new(value.to_string()).to(0).event_id("deadly"),
        rejected(2, "behind"),
    ];
    let rig = Rig::new("replay-deadly", 3, records).await;
    rig.swap("slow").await;
    let asked = rig.cli(&["dlt", "replay", "--detach"]).await;
    assert_eq!(asked.code, 0, "{asked:?}");
    let asleep = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%pg_sleep%' AND state = 'active' AND pid <> pg_backend_pid()";
    let mut host = rig.host;
    for death in 1..=3 {
        wait_eq(PATIENCE, "the deadly letter to run", 1, async || {
            rig.scene.env.db.query_one_i64(asleep).await
        })
        .await;
        host.kill();
        let marks = "SELECT marks FROM tidegate.replay_letters WHERE position = 1";
        assert_eq!(rig.scene.env.db.query_one_i64(marks).await, death);
        // Nobody has to wait until the host counts as gone, or the server finds out that its client is.
        rig.scene.env.db.exec("DELETE FROM tidegate.hosts").await;
        let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%pg_sleep%' AND pid <> pg_backend_pid()";
        rig.scene.env.db.query_one_i64(end).await;
        // The one that was killed must not be taken for the next one at work.
        wait_eq(PATIENCE, "the killed try to be gone", 0, async || {
            rig.scene.env.db.query_one_i64(asleep).await
        })
        .await;
        host = host.restart().await;
    }
    let rig = Rig { host, ..rig };
    let (code, row) = rig.replay(&["--wait", "1"]).await;
    assert_eq!((code, counts(&row)), (1, [2, 1, 1, 0, 0]), "{row}");
    let letters = rig.scene.letters().await;
    assert_eq!(
        (letters[0].code.as_str(), letters[0].status.as_str()),
        ("host-crash", "open")
    );
    assert_eq!(rig.scene.journal().await, [2]);
    rig.in_good_order().await;
}

/// The answer to COMMIT is lost: the request's row tells that the turn is over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_answers_to_commit_and_an_outage_cost_no_letter_and_double_none() {
    let records: Vec<_> = (1..=40).map(|n| rejected(n, &format!("e{n}"))).collect();
    let rig = Rig::new("replay-cuts", 40, records).await;
    let proxy = rig.scene.env.pg_proxy().await;
    rig.host.kill();
    let config = rig
        .config
        .clone()
        .postgres(&rig.scene.env.db.url_via(&proxy));
    let config = config.set("postgres", "connect_timeout", "1s");
    crate::swap::replace(&rig.file, &guest_bytes("credit-rust").await);
    let _host = rig.scene.env.host(config).start().await;
    rig.runs(&guest_bytes("credit-rust").await).await;
    proxy.cut_on_reply_after("synchronous_commit = on; COMMIT", 8);
    let asked = rig.cli(&["dlt", "replay", "--detach"]).await;
    assert_eq!(asked.code, 0, "{asked:?}");
    wait_eq(PATIENCE, "answers to be lost", 8, async || proxy.cuts()).await;
    proxy.refuse();
    wait_eq(PATIENCE, "the host to be cut off", 0, async || {
        proxy.connections()
    })
    .await;
    proxy.pass();
    let (code, row) = rig.replay(&["--wait", "1"]).await;
    assert_eq!((code, counts(&row)), (0, [40, 40, 0, 0, 0]), "{row}");
    assert_eq!(rig.scene.journal().await, (1..=40).collect::<Vec<_>>());
    rig.in_good_order().await;
}

/// A host that ends in good order leaves no mark on the letter it was at.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_is_stopped_gives_its_replay_back_at_once() {
    let value = serde_json::json!({ "amount_minor": 1, "account_id": 1, "trick": "reject", "sleep_ms": 3_000 });
    let rig = Rig::new(
        "replay-stop",
        3,
        vec![
            Rec::new(value.to_string()).to(0).event_id("slow"),
            pay(2, "b", "reject"),
        ],
    )
    .await;
    rig.swap("slow").await;
    let asked = rig.cli(&["dlt", "replay", "--detach"]).await;
    assert_eq!(asked.code, 0, "{asked:?}");
    let asleep = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%pg_sleep%' AND state = 'active' AND pid <> pg_backend_pid()";
    wait_eq(PATIENCE, "the letter to run", 1, async || {
        rig.number(asleep).await
    })
    .await;
    assert_eq!(rig.host.terminate().await, 0);
    let marks = "SELECT marks FROM tidegate.replay_letters WHERE position = 1";
    let owned = "SELECT count(*) FROM tidegate.replays WHERE owner IS NOT NULL";
    assert_eq!((rig.number(marks).await, rig.number(owned).await), (0, 0));
    let host = rig.host.restart().await;
    let rig = Rig { host, ..rig };
    rig.runs(&guest_bytes("slow").await).await;
    let (code, row) = rig.replay(&["--wait", "1"]).await;
    assert_eq!((code, counts(&row)), (0, [2, 2, 0, 0, 0]), "{row}");
    assert_eq!(rig.scene.journal().await, [1, 2]);
}
