//! A server that has no room for more locks: it says so itself, in the middle of a record's statement.

use tidegate_tests::{Server, ServerSpec};

use super::full_disk::wait_infrastructure;
use super::statement;
use crate::scene::{Scene, done_and_rejected};

/// What is left free: enough for a transaction's own number, not for a table of many partitions.
const LEFT: i64 = 12;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_out_of_shared_memory_dead_letters_nothing_and_heals() {
    let server = Server::start(ServerSpec {
        name: "few-locks".to_owned(),
        settings: vec![
            "max_locks_per_transaction=10".to_owned(),
            "max_connections=25".to_owned(),
        ],
        ..ServerSpec::default()
    })
    .await;
    let scene = Scene::on("few-locks", 1, 1, Some(&server)).await;
    let db = &scene.env.db;
    db.exec(
        "CREATE TABLE parted (id int) PARTITION BY LIST (id);
         DO $$ BEGIN FOR n IN 1..60 LOOP
            EXECUTE format('CREATE TABLE parted_%s PARTITION OF parted FOR VALUES IN (%s)', n, n);
         END LOOP; END $$",
    )
    .await;
    let (first, many) = ("SELECT 1", "UPDATE parted SET id = id");
    let consumer = scene.consumer("sql").await;
    let consumer = consumer
        .retry("initial", "10ms")
        .retry("max", "50ms")
        .retry("max_attempts", 2)
        .retry("max_elapsed", "1s");
    let host = scene.run_watched(consumer).await;
    scene.produce(vec![statement(0, first)]).await;
    scene.wait_counts(done_and_rejected(1, 0)).await;
    let hoarder = db.client().await;
    let hoard = "SELECT pg_advisory_lock(n) FROM generate_series(1, 1000000) n";
    let full = hoarder.batch_execute(hoard).await;
    let full = full.expect_err("there is room for fewer");
    assert_eq!(full.code().map(|code| code.code()), Some("53200"));
    let some = format!("SELECT pg_advisory_unlock(n) FROM generate_series(1, {LEFT}) n");
    hoarder.batch_execute(&some).await.unwrap();
    scene
        .produce(vec![statement(1, many), statement(2, first)])
        .await;
    wait_infrastructure(&host, 30).await;
    assert_eq!(scene.counts().await, done_and_rejected(1, 0));
    assert_eq!(scene.letters().await, []);
    let all = "SELECT pg_advisory_unlock_all()";
    hoarder.batch_execute(all).await.unwrap();
    scene.wait_counts(done_and_rejected(3, 0)).await;
    assert_eq!(scene.letters().await, []);
    assert_eq!(host.terminate().await, 0);
}
