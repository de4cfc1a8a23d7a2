//! The last wall in a replay: what a guest's COMMIT or ROLLBACK comes to there, with the allow-list away.

use std::path::Path;

use tidegate::inbox::Wall;
use tidegate_core::failure::Failure;
use tidegate_core::sql::GuestSql;
use tidegate_tests::{Rec, guest_bytes, wait_eq};

use super::Rig;
use super::letters::{open, resolved, turn};
use crate::inbox_role::{guest, texts};
use crate::inbox_support::{CREDIT, ints};
use crate::scene::{PATIENCE, Scene, done_and_rejected};
use crate::swap::{replace, with_section};

/// The host without its first wall.
const WITHOUT_WALL: &str = env!("CARGO_BIN_EXE_tidegate-without-wall");

#[tokio::test(flavor = "multi_thread")]
async fn without_the_allow_list_no_way_out_of_a_replays_transaction_commits() {
    for sql in [
        "COMMIT",
        "ROLLBACK",
        "COMMIT AND CHAIN",
        "ROLLBACK AND CHAIN",
        "PREPARE TRANSACTION 'x'",
    ] {
        let (db, turn) = turn(Wall::Off).await;
        let (mut transaction, _) = open(&db, &turn).await;
        transaction.enter(0);
        transaction
            .execute(CREDIT.into(), ints(&[5, 1]))
            .await
            .expect("credited");
        transaction.execute(sql.into(), vec![]).await.ok();
        transaction.execute(CREDIT.into(), ints(&[5, 2])).await.ok();
        let broken = transaction.commit_replay(resolved()).await.expect_err(sql);
        assert!(
            matches!(broken.failure, Failure::Escape { .. }),
            "{sql}: {broken:?}"
        );
        assert_eq!(db.total().await, 100_000, "{sql}: no effect");
        let untouched = "SELECT count(*) FROM tidegate.dead_letters d, tidegate.processed_events e, tidegate.replays r
                          WHERE d.status = 'open' AND e.outcome = 'rejected' AND r.begun = r.sealed AND r.resolved = 0";
        assert_eq!(db.number(untouched).await, 1, "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_replay_too_a_guest_runs_under_its_role_and_the_host_does_not() {
    let (db, turn) = turn(Wall::Grammar).await;
    let role = format!("replays_{:08x}", fastrand::u32(..));
    db.run(&format!(
        "CREATE ROLE {role} NOLOGIN; GRANT SELECT, UPDATE ON accounts TO {role}"
    ))
    .await;
    let (mut transaction, _) = open(&db, &turn).await;
    transaction.run_by(guest(Some(&role)));
    transaction.enter(0);
    let who = texts(&mut transaction, "SELECT current_user::text").await;
    assert_eq!(who, [role.as_str()]);
    transaction
        .execute(CREDIT.into(), ints(&[5, 1]))
        .await
        .expect("credited");
    // The role may not touch the host's tables, so it was not the role that did.
    let committed = transaction.commit_replay(resolved()).await;
    committed.expect("committed");
    assert_eq!(db.total().await, 100_005);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guest_that_commits_in_a_replay_commits_nothing_and_is_quarantined() {
    escapes("replay-commit", "COMMIT").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guest_that_rolls_back_and_chains_in_a_replay_commits_nothing() {
    escapes("replay-chain", "ROLLBACK AND CHAIN").await;
}

async fn escapes(name: &str, escape: &str) {
    let scene = Scene::new(name, 1, 1).await;
    let table = "CREATE TABLE effects (effect text PRIMARY KEY)";
    scene.env.db.exec(table).await;
    let bad = format!(
        "INSERT INTO effects VALUES ('reject half')\n;;\n{escape}\n;;\nINSERT INTO effects VALUES ('more')"
    );
    let good = "INSERT INTO effects VALUES ('reject good')";
    let records = vec![
        Rec::new(bad).to(0).event_id("bad"),
        Rec::new(good).to(0).event_id("good"),
    ];
    scene.produce(records).await;
    let file = scene.env.guest_copy("rejects", "handler.wasm").await;
    let consumer = scene.consumer("rejects").await.handler(file.as_path());
    let config = scene.env.config().consumer(consumer.set("brake", "off"));
    let builder = scene.env.host(config.clone()).bin(Path::new(WITHOUT_WALL));
    let host = builder.start().await;
    scene.wait_counts(done_and_rejected(0, 2)).await;
    let rig = Rig {
        scene,
        file,
        config,
        host,
    };
    rig.swap("sql").await;
    let asked = rig.cli(&["dlt", "replay", "--detach"]).await;
    assert_eq!(asked.code, 0, "{asked:?}");
    rig.host.wait_log("quarantined", PATIENCE).await;
    wait_eq(
        PATIENCE,
        "the letter's cause",
        "escape".to_owned(),
        async || rig.scene.codes().await.remove(0),
    )
    .await;
    assert_eq!(rig.number("SELECT count(*) FROM effects").await, 0);
    let braked = "SELECT count(*) FROM tidegate.consumers WHERE state = 'braked'";
    wait_eq(PATIENCE, "the brake", 1, async || rig.number(braked).await).await;

    // Another build lifts the brake, and the letter behind it has its turn.
    let other = with_section(&guest_bytes("sql").await, "another build");
    replace(&rig.file, &other);
    let (code, row) = rig.replay(&["--wait", "1"]).await;
    assert_eq!((code, super::counts(&row)), (1, [2, 1, 1, 0, 0]), "{row}");
    assert_eq!(
        rig.number("SELECT count(*) FROM effects WHERE effect = 'reject good'")
            .await,
        1
    );
    assert_eq!(rig.number("SELECT count(*) FROM effects").await, 1);
    rig.in_good_order().await;
}
