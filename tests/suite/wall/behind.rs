//! With the allow-list away: what a guest's COMMIT or ROLLBACK comes to.

use std::path::Path;

use tidegate_tests::{Consumer, Host, Rec, guest_bytes, wait_eq};

use super::{count, effects, good};
use crate::scene::{PATIENCE, Scene, done_and_rejected};
use crate::swap::with_section;

/// The host without its first wall.
const WITHOUT_WALL: &str = env!("CARGO_BIN_EXE_tidegate-without-wall");

/// Each tries to keep an effect that the host did not commit.
const ESCAPES: [(&str, &str); 8] = [
    ("commit", "COMMIT"),
    ("rollback", "ROLLBACK"),
    ("end", "/* SELECT */ END"),
    (
        "begin",
        "COMMIT\n;;\nBEGIN\n;;\nINSERT INTO effects VALUES ('own')\n;;\nCOMMIT",
    ),
    ("own", "ROLLBACK\n;;\nINSERT INTO effects VALUES ('auto')"),
    (
        "write",
        "ROLLBACK\n;;\nBEGIN READ WRITE\n;;\nINSERT INTO effects VALUES ('write') ON CONFLICT DO NOTHING\n;;\nCOMMIT",
    ),
    ("commit-chain", "COMMIT AND CHAIN"),
    (
        "rollback-chain",
        "ROLLBACK AND CHAIN\n;;\nINSERT INTO effects VALUES ('chain')",
    ),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_allow_list_a_commit_commits_nothing_and_the_module_is_quarantined() {
    escapes("wall-commit", 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_allow_list_a_rollback_commits_nothing_and_the_module_is_quarantined() {
    escapes("wall-rollback", 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_allow_list_an_end_behind_a_comment_commits_nothing() {
    escapes("wall-end", 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_a_guest_begins_after_its_commit_is_no_way_out() {
    escapes("wall-begin", 3).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_rollback_a_guest_can_write_nothing() {
    escapes("wall-own", 4).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_chains_commits_nothing() {
    escapes("wall-commit-chain", 6).await;
}

/// The chained transaction may write as the host's could. The proof of the host's last update exposes it, and nothing
/// is committed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rollback_that_chains_is_exposed_before_anything_is_committed() {
    escapes("wall-rollback-chain", 7).await;
}

/// A guest may begin a transaction of its own that writes, once it has rolled the host's back: the grammar is the
/// wall against that. What stands behind it is that the host notices.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_of_the_guests_own_is_noticed() {
    let scene = Scene::new("wall-write", 1, 1).await;
    effects(&scene).await;
    let (host, _file) = start(&scene, 5).await;
    host.wait_log("quarantined", PATIENCE).await;
    scene.wait_counts(done_and_rejected(1, 1)).await;
    assert_eq!(scene.codes().await, ["escape"]);
}

async fn escapes(name: &str, which: usize) {
    let scene = Scene::new(name, 1, 1).await;
    effects(&scene).await;
    let (host, file) = start(&scene, which).await;
    host.wait_log("quarantined", PATIENCE).await;
    scene.wait_counts(done_and_rejected(1, 1)).await;
    assert_eq!(scene.codes().await, ["escape"]);
    assert_eq!(effect_names(&scene).await, ["before"]);
    // Its neighbour waits under the brake: the module does not run again.
    assert_eq!(count(&scene, "tidegate.processed_events").await, 2);

    let other = with_section(&guest_bytes("sql").await, "another build");
    std::fs::write(file.with_extension("new"), other).unwrap();
    std::fs::rename(file.with_extension("new"), &file).unwrap();
    wait_eq(
        PATIENCE,
        "the records behind it",
        done_and_rejected(3, 1),
        async || scene.counts().await,
    )
    .await;
    assert_eq!(effect_names(&scene).await, ["after", "before", "last"]);
    let open = "SELECT count(*) FROM tidegate.progress WHERE begun <> sealed";
    assert_eq!(scene.env.db.query_one_i64(open).await, 0);
    assert!(host.is_running());
}

/// A good record, the escape in every mode that awaits its answer, two good records.
async fn start(scene: &Scene, which: usize) -> (Host, std::path::PathBuf) {
    let (id, escape) = ESCAPES[which];
    let sql = format!(
        "INSERT INTO effects VALUES ('half')\n;;\n{escape}\n;;\nINSERT INTO effects VALUES ('more')"
    );
    let escape = Rec::new(sql).to(0).event_id(id);
    scene
        .produce(vec![good("before"), escape, good("after"), good("last")])
        .await;
    let file = scene.env.guest_copy("sql", "handler.wasm").await;
    let consumer: Consumer = scene.consumer("sql").await.handler(file.as_path());
    let config = scene.env.config().consumer(consumer);
    let builder = scene.env.host(config).bin(Path::new(WITHOUT_WALL));
    (builder.start().await, file)
}

async fn effect_names(scene: &Scene) -> Vec<String> {
    let rows = scene
        .env
        .db
        .query_text("SELECT effect FROM effects ORDER BY 1")
        .await;
    rows.into_iter()
        .map(|mut row| row.remove(0).unwrap())
        .collect()
}
