//! Flights of staged statements: what comes between them, and what they must not disturb.

use tidegate::inbox::{Transaction, Wall};
use tidegate_core::failure::Failure;
use tidegate_core::sql::{Expectation, GuestSql, Value};

use super::inbox_support::{CREDIT, ask, db, finish, ints};

async fn stage(transaction: &mut Transaction, offset: i64, sql: &str, params: Vec<Value>) {
    transaction.enter(offset);
    let expect = Expectation::Any;
    let staged = transaction.stage(sql.into(), params, expect).await;
    staged.expect("staged");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_dropped_from_the_cache_runs_if_it_was_staged_before() {
    let db = db(Wall::Grammar).await;
    let (mut transaction, _) = db.open(0, vec![]).await;
    for n in 1..=600 {
        let sql = format!("UPDATE accounts SET balance = balance + $1 WHERE id = {n}");
        stage(&mut transaction, n, &sql, ints(&[1])).await;
    }
    transaction.commit(finish(600)).await.expect("committed");
    assert_eq!(db.total().await, 100_600);
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_nobody_reads_and_notices_disturb_no_flight() {
    let db = db(Wall::Grammar).await;
    db.run(
        "CREATE FUNCTION loud() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN RAISE WARNING 'changed %', repeat('x', 9000); RETURN NEW; END $$;
         CREATE TRIGGER loud AFTER UPDATE ON accounts FOR EACH ROW EXECUTE FUNCTION loud()",
    )
    .await;
    let (mut transaction, _) = db.open(0, vec![]).await;
    let many = "SELECT repeat('x', 5000) FROM generate_series(1, $1::int)";
    for n in 0..40 {
        stage(&mut transaction, n, CREDIT, ints(&[1, n + 1])).await;
        stage(&mut transaction, n, many, ints(&[n])).await;
    }
    let sum = "SELECT sum(balance)::bigint FROM accounts";
    let sum = ask(&mut transaction, sum, vec![]).await.expect("read");
    assert_eq!(sum.rows, [[Value::Int64(100_040)]]);
    transaction.commit(finish(40)).await.expect("committed");
    assert_eq!(db.total().await, 100_040);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_of_the_users_own_types_flies_too() {
    let db = db(Wall::Grammar).await;
    db.run(
        "CREATE TYPE mood AS ENUM ('calm', 'busy'); CREATE DOMAIN cents AS bigint;
         CREATE TABLE moods (m mood, c cents)",
    )
    .await;
    let (mut transaction, _) = db.open(0, vec![]).await;
    for n in 0..3 {
        let params = vec![Value::Text("busy".into()), Value::Int64(n)];
        stage(
            &mut transaction,
            n,
            "INSERT INTO moods VALUES ($1, $2)",
            params,
        )
        .await;
    }
    transaction.commit(finish(3)).await.expect("committed");
    let busy = "SELECT count(*) FROM moods WHERE m = 'busy'";
    assert_eq!(db.number(busy).await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_rollback_nothing_of_an_earlier_flight_is_left() {
    let db = db(Wall::Grammar).await;
    for refused in 0..40 {
        let (mut transaction, _) = db.open(0, vec![]).await;
        for n in 0..40 {
            let amount = if n == refused { -500 } else { 1 };
            transaction.enter(n);
            let params = ints(&[amount, n + 1]);
            let staged = transaction.stage(CREDIT.into(), params, Expectation::Any);
            if staged.await.is_err() {
                break;
            }
        }
        if refused % 2 == 0 {
            let broken = transaction.drain().await.expect("one broke");
            assert_eq!(broken.offset, Some(refused));
        }
        transaction.rollback().await;
    }
    let (mut transaction, _) = db.open(0, vec![]).await;
    stage(&mut transaction, 0, CREDIT, ints(&[7, 1])).await;
    transaction.commit(finish(1)).await.expect("committed");
    assert_eq!(db.total().await, 100_007);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_ended_over_a_flight_is_nobodys_fault() {
    let db = db(Wall::Off).await;
    let (mut transaction, _) = db.open(0, vec![]).await;
    stage(
        &mut transaction,
        3,
        "SELECT pg_sleep($1)",
        vec![Value::Float64(60.0)],
    )
    .await;
    let end = async {
        let asleep = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
            WHERE query = 'SELECT pg_sleep($1)' AND state = 'active'
              AND datname = current_database() AND pid <> pg_backend_pid()";
        let patience = std::time::Duration::from_secs(30);
        tidegate_tests::wait_eq(patience, "an ended session", 1, async || {
            db.number(asleep).await
        })
        .await;
    };
    let (broken, ()) = tokio::join!(transaction.drain(), end);
    let broken = broken.expect("the session ended");
    assert_eq!(broken.offset, None);
    assert!(
        matches!(broken.failure, Failure::Unreachable { .. }),
        "{broken:?}"
    );
    transaction.rollback().await;
    let (mut transaction, _) = db.open(0, vec![]).await;
    stage(&mut transaction, 3, CREDIT, ints(&[1, 1])).await;
    transaction.commit(finish(1)).await.expect("committed");
}
