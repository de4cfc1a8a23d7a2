//! The walls around the transaction: the allow-list, and what stands behind it.

mod behind;
mod refused;
mod statements;

use tidegate_tests::Rec;

use crate::scene::{Scene, done_and_rejected};

/// What a guest might send to leave, end or change its transaction, or to leave its statement.
const FORBIDDEN: [&str; 36] = [
    "COMMIT",
    "commit work",
    "COMMIT AND CHAIN",
    "ROLLBACK",
    "ROLLBACK AND CHAIN",
    "ROLLBACK TO SAVEPOINT a",
    "ABORT",
    "END",
    "BEGIN",
    "START TRANSACTION",
    "SAVEPOINT a",
    "RELEASE SAVEPOINT a",
    "PREPARE TRANSACTION 'a'",
    "SET ROLE postgres",
    "SET LOCAL ROLE postgres",
    "RESET ROLE",
    "SET SESSION AUTHORIZATION DEFAULT",
    "SET TRANSACTION READ ONLY",
    "SET search_path = pg_catalog",
    "DISCARD ALL",
    "DO $$ BEGIN PERFORM 1; END $$",
    "COPY effects FROM '/etc/passwd'",
    "COPY effects TO PROGRAM 'cat'",
    "CREATE TABLE t (n int)",
    "DROP TABLE effects",
    "TRUNCATE effects",
    "LOCK TABLE effects",
    "LISTEN a",
    "EXPLAIN ANALYZE DELETE FROM effects",
    "PREPARE p AS SELECT 1",
    "DEALLOCATE ALL",
    "CALL p()",
    "VACUUM",
    "",
    "-- nothing but a comment",
    "/* SELECT 1",
];

/// The same words behind what a list of first words might trip over.
const DISGUISES: [&str; 8] = [
    "/* SELECT */ COMMIT",
    "/* a /* nested */ SELECT */ ROLLBACK",
    "-- SELECT 1\nCOMMIT",
    "--\n--\n\t /**/ SAVEPOINT a",
    ";COMMIT",
    "(COMMIT)",
    "\n\r\t SET ROLE postgres",
    "/*/**/*/END",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guest_that_would_leave_its_transaction_is_refused_and_dead_lettered() {
    let scene = Scene::new("wall", 1, 1).await;
    effects(&scene).await;
    let mut records = vec![good("first")];
    let modes = ["execute", "query", "stage"];
    let all = FORBIDDEN.iter().chain(&DISGUISES);
    for (n, sql) in all.enumerate() {
        // An effect before it and one behind it: neither may stay.
        let sql = format!(
            "INSERT INTO effects VALUES ('half {n}')\n;;\n{sql}\n;;\nINSERT INTO effects VALUES ('x')"
        );
        let rec = Rec::new(sql).to(0).event_id(&format!("bad-{n}"));
        records.push(rec.header("mode", modes[n % 3]));
        if n % 10 == 5 {
            records.push(good(&format!("good-{n}")));
        }
    }
    let bad = i64::try_from(FORBIDDEN.len() + DISGUISES.len()).unwrap();
    let fine = i64::try_from(records.len()).unwrap() - bad;
    scene.produce(records).await;
    let consumer = scene.consumer("sql").await.batch("max_wait", "0ms");
    let host = scene.run(consumer).await;
    scene.wait_counts(done_and_rejected(fine, bad)).await;
    let letters = scene.letters().await;
    let wrong: Vec<_> = letters.iter().filter(|l| l.code != "sql-refused").collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    assert_eq!(
        letters[0].message.split(' ').next(),
        Some("COMMIT"),
        "the refusal names the word"
    );
    assert_eq!(count(&scene, "effects").await, fine);
    assert_eq!(host.log_count("quarantined"), 0);
    assert!(host.is_running());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_handler_needs_is_let_through() {
    let scene = Scene::new("wall-open", 1, 1).await;
    effects(&scene).await;
    let statements = [
        "/* who */ INSERT INTO effects VALUES ('a') -- why",
        "with x as (select 'b' AS e) INSERT INTO effects SELECT e FROM x",
        "  ((SELECT 1)) UNION SELECT 2",
        "VALUES (1), (2)",
        "\nupdate effects SET effect = 'c' WHERE effect = 'a'",
        "DELETE FROM effects WHERE effect = 'b'",
        "MERGE INTO effects e USING (VALUES ('c'), ('d')) AS s (v) ON e.effect = s.v
             WHEN NOT MATCHED THEN INSERT VALUES (s.v)",
    ];
    let records = statements.iter().enumerate().map(|(n, sql)| {
        let rec = Rec::new(*sql).to(0).event_id(&format!("e{n}"));
        rec.header("mode", ["execute", "query", "stage"][n % 3])
    });
    scene.produce(records.collect()).await;
    let _host = scene.run(scene.consumer("sql").await).await;
    scene.wait_counts(done_and_rejected(7, 0)).await;
    let rows = scene
        .env
        .db
        .query_text("SELECT effect FROM effects ORDER BY 1")
        .await;
    assert_eq!(rows.concat(), ["c", "d"].map(|e| Some(e.to_owned())));
}

async fn effects(scene: &Scene) {
    scene
        .env
        .db
        .exec("CREATE TABLE effects (effect text PRIMARY KEY)")
        .await;
}

fn good(id: &str) -> Rec {
    let sql = format!("INSERT INTO effects VALUES ('{id}')");
    Rec::new(sql).to(0).event_id(id)
}

async fn count(scene: &Scene, table: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM {table}");
    scene.env.db.query_one_i64(&sql).await
}
