//! What the command says and does around a replay: dry runs, several askers, nobody there.

use serde_json::Value;

use super::{Rig, counts, rejected};
use crate::scene::PATIENCE;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dry_run_says_which_letters_would_run_and_runs_none() {
    let records = (1..=4).map(|n| rejected(1, &format!("e{n}"))).collect();
    let rig = Rig::new("replay-dry", 3, records).await;
    rig.scene
        .env
        .db
        .exec(
            "UPDATE tidegate.dead_letters SET code = 'skipped', kind = 'skipped', key = NULL, value = NULL WHERE event_id = 'e1';
             UPDATE tidegate.dead_letters SET replay_round = 5 WHERE event_id = 'e2'",
        )
        .await;
    let plan = rig
        .cli(&["dlt", "replay", "--dry-run", "--format", "json"])
        .await;
    assert_eq!(plan.code, 0, "{plan:?}");
    let plan_rows = json(&plan.stdout);
    let prospect = |row: &Value| row["prospect"].as_str().unwrap().to_owned();
    let prospects: Vec<_> = plan_rows.as_array().unwrap().iter().map(prospect).collect();
    assert_eq!(prospects, ["skipped", "parked", "ready", "ready"]);
    for words in [
        "are parked",
        "were skipped; they hold nothing to replay",
        "would be replayed letters=2",
    ] {
        assert!(plan.stderr.contains(words), "{words}: {}", plan.stderr);
    }
    assert_eq!(rig.number("SELECT count(*) FROM tidegate.replays").await, 0);

    rig.swap("credit-rust").await;
    let (code, row) = rig.replay(&["--force"]).await;
    assert_eq!((code, counts(&row)), (0, [3, 3, 0, 0, 0]), "{row}");
    assert_eq!(
        rig.letters("open").await,
        1,
        "the skipped one has nothing to replay"
    );
    let skipped = rig.cli(&["dlt", "replay", "--force"]).await;
    assert!(
        skipped.code == 0 && skipped.stdout.contains("nothing to replay"),
        "{skipped:?}"
    );
    assert!(skipped.stderr.contains("were skipped"), "{skipped:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_host_the_request_is_kept_and_said_so() {
    let rig = Rig::new(
        "replay-nobody",
        3,
        vec![rejected(1, "e1"), rejected(2, "e2")],
    )
    .await;
    assert_eq!(rig.host.terminate().await, 0);
    crate::swap::replace(&rig.file, &tidegate_tests::guest_bytes("credit-rust").await);
    let said = rig.cli(&["dlt", "replay"]).await;
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.stderr.contains("no host of consumer"), "{said:?}");
    assert!(said.stderr.contains("--wait 1"), "{said:?}");
    // Asking again adds no letter twice.
    let again = rig
        .cli(&["dlt", "replay", "--detach", "--format", "json"])
        .await;
    assert!(
        again.code == 0 && again.stderr.contains("no host of this consumer"),
        "{again:?}"
    );
    let rows = json(&again.stdout);
    assert_eq!(rows.as_array().unwrap().len(), 1);
    assert_eq!(
        (counts(&rows[0]), &rows[0]["status"]),
        ([2, 0, 0, 0, 0], &"open".into())
    );
    assert_eq!(
        rig.number("SELECT count(*) FROM tidegate.replay_letters")
            .await,
        2
    );

    let host = rig.host.restart().await;
    let rig = Rig { host, ..rig };
    rig.host.wait_log("a replay has ended", PATIENCE).await;
    let (code, row) = rig.replay(&["--wait", "1"]).await;
    assert_eq!((code, counts(&row)), (0, [2, 2, 0, 0, 0]), "{row}");
    assert_eq!(rig.scene.journal().await, [1, 2]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_can_be_cancelled_and_its_letters_asked_for_again() {
    let rig = Rig::new(
        "replay-cancel",
        3,
        vec![rejected(1, "e1"), rejected(2, "e2")],
    )
    .await;
    assert_eq!(rig.host.terminate().await, 0);
    let asked = rig.cli(&["dlt", "replay", "--detach"]).await;
    assert_eq!(asked.code, 0, "{asked:?}");
    let cancelled = rig.cli(&["dlt", "replay", "--cancel", "1"]).await;
    assert!(
        cancelled.code == 0 && cancelled.stdout.contains("2 letters"),
        "{cancelled:?}"
    );
    let twice = rig.cli(&["dlt", "replay", "--cancel", "1"]).await;
    assert!(
        twice.code == 1 && twice.stderr.contains("no open replay 1"),
        "{twice:?}"
    );
    let unknown = rig.cli(&["dlt", "replay", "--wait", "77"]).await;
    assert!(
        unknown.code == 1 && unknown.stderr.contains("no replay 77"),
        "{unknown:?}"
    );
    let stranger = rig.cli(&["dlt", "replay", "--consumer", "stranger"]).await;
    assert_eq!(stranger.code, 2, "{stranger:?}");

    crate::swap::replace(&rig.file, &tidegate_tests::guest_bytes("credit-rust").await);
    let host = rig.host.restart().await;
    let rig = Rig { host, ..rig };
    rig.runs(&tidegate_tests::guest_bytes("credit-rust").await)
        .await;
    let (code, row) = rig.replay(&["--code", "rejected", "--since", "1h"]).await;
    assert_eq!((code, counts(&row)), (0, [2, 2, 0, 0, 0]), "{row}");
    assert_eq!(row["filter"], "--since 1h --code rejected");
    let two = rig.config.clone().consumer(
        rig.scene
            .env
            .consumer(&rig.scene.topic, "rejects")
            .await
            .set("name", "second")
            .group("second"),
    );
    let unnamed = rig.scene.env.cli(&["dlt", "replay"], &two).await;
    assert!(
        unnamed.code == 2 && unnamed.stderr.contains("--consumer"),
        "{unnamed:?}"
    );
}
