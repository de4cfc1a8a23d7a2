//! Prepared statements: a handler that builds its SQL anew each time costs a bounded number of them.

use tidegate_tests::Rec;

use crate::scene::{Scene, done_and_rejected, numbers};

/// Distinct texts; `TIDEGATE_TEST_STATEMENTS` sets another number.
const TEXTS: usize = 5_000;
const PER_RECORD: usize = 100;

/// The host keeps so many of a guest's statements per connection, and has a handful of its own.
const BOUND: i64 = 300;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn distinct_texts_leave_a_bounded_number_of_prepared_statements() {
    let texts = std::env::var("TIDEGATE_TEST_STATEMENTS");
    let texts = texts.map_or(TEXTS, |n| n.parse().unwrap());
    let scene = Scene::new("statements", 1, 1).await;
    let table = "CREATE TABLE backend (at bigint, pid int, statements bigint, bytes bigint)";
    scene.env.db.exec(table).await;
    let mut records = Vec::new();
    for n in 0..texts / PER_RECORD {
        records.push(queries(n));
        // The guest looks at its own backend now and then; this text too is new each time.
        if n % 10 == 9 {
            records.push(look(n));
        }
    }
    let all = i64::try_from(records.len()).unwrap();
    scene.produce(records).await;
    let consumer = scene.consumer("sql").await.batch("max_records", 10);
    let consumer = consumer.sql("functions", "pg_backend_pid");
    let relations = r#"["pg_prepared_statements", "pg_backend_memory_contexts"]"#;
    let consumer = consumer.sql("relations", tidegate_tests::Raw(relations));
    let config = scene.env.config().set("postgres", "max_connections", 1);
    let _host = scene.env.host(config.consumer(consumer)).start().await;
    scene.wait_counts(done_and_rejected(all, 0)).await;

    let looks = "SELECT statements, bytes FROM backend ORDER BY at";
    let looks = numbers(scene.env.db.query_text(looks).await);
    assert_eq!(looks.len(), texts / PER_RECORD / 10);
    let last = &looks[looks.len() - 1];
    assert!(
        (100..=BOUND).contains(&last[0]),
        "statements and bytes: {looks:?}"
    );
    assert!(looks.iter().all(|look| look[0] <= BOUND), "{looks:?}");
    // The cache is full at the first look; from then on the backend's memory is flat.
    assert!(last[1] < looks[0][1] + looks[0][1] / 4, "{looks:?}");
    let backends = "SELECT count(DISTINCT pid) FROM backend";
    assert_eq!(
        scene.env.db.query_one_i64(backends).await,
        1,
        "one connection did it all"
    );
}

/// A record of many texts that nothing had seen before.
fn queries(n: usize) -> Rec {
    let texts = (0..PER_RECORD).map(|i| format!("SELECT {} AS n", n * PER_RECORD + i));
    let texts: Vec<_> = texts.collect();
    let rec = Rec::new(texts.join("\n;;\n")).to(0);
    rec.event_id(&format!("q{n}")).header("mode", "query")
}

/// A record that writes down what its own backend holds.
fn look(n: usize) -> Rec {
    let sql = format!(
        "INSERT INTO backend SELECT {n}, pg_backend_pid(), (SELECT count(*) FROM pg_prepared_statements),
                (SELECT sum(total_bytes) FROM pg_backend_memory_contexts)"
    );
    Rec::new(sql).to(0).event_id(&format!("look{n}"))
}
