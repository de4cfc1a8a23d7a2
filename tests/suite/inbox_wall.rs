//! The wall in a transaction on a real server: what the server knows decides, new statements and old.

use std::sync::Arc;

use tidegate::inbox::{Guest, Judge, Rules, Wall};
use tidegate_core::failure::Failure;
use tidegate_core::sql::{CallError, GuestSql};
use tidegate_tests::wait_for;

use super::inbox_role::roles;
use super::inbox_support::{Db, db, hour};
use super::rows::PATIENCE;

fn guest(judge: &Arc<Judge>) -> Arc<Guest> {
    Arc::new(Guest {
        judge: Some(Arc::clone(judge)),
        ..Guest::default()
    })
}

/// What the guest is told of a statement, in a transaction of its own.
async fn told(db: &Db, judge: &Arc<Judge>, sql: &str) -> Result<(), CallError> {
    let (mut transaction, _) = db.open(0, vec![hour("a", 0)]).await;
    transaction.run_by(guest(judge));
    transaction.enter(0);
    let told = transaction.query(sql.to_owned(), vec![]).await.map(drop);
    let failure = transaction.drain().await.map(|broken| broken.failure);
    transaction.rollback().await;
    if matches!(&told, Err(CallError::Sql(error)) if error.code == "refused") {
        assert!(
            matches!(failure, Some(Failure::StatementRefused { .. })),
            "{failure:?}"
        );
    }
    told
}

async fn refused(db: &Db, judge: &Arc<Judge>, sql: &str) -> Option<String> {
    match told(db, judge, sql).await {
        Err(CallError::Sql(error)) if error.code == "refused" => Some(error.message),
        Ok(()) => None,
        other => panic!("{sql}: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_runs_a_volatile_function_is_refused_whatever_it_looks_like() {
    let db = db(Wall::Grammar).await;
    db.run(
        "CREATE FUNCTION calm(int) RETURNS int LANGUAGE sql STABLE AS 'SELECT 1';
         CREATE FUNCTION two(int) RETURNS int LANGUAGE sql STABLE AS 'SELECT 1';
         CREATE FUNCTION two(text) RETURNS int LANGUAGE sql VOLATILE AS 'SELECT 1';
         CREATE FUNCTION wild(int, int) RETURNS int LANGUAGE sql VOLATILE AS 'SELECT 1';
         CREATE OPERATOR <~> (LEFTARG = int, RIGHTARG = int, FUNCTION = wild);
         CREATE AGGREGATE wild_sum (int) (SFUNC = wild, STYPE = int);
         CREATE FUNCTION of_row(accounts) RETURNS int LANGUAGE sql VOLATILE AS 'SELECT 1';
         CREATE FUNCTION of_any(anyelement, int DEFAULT 1) RETURNS int LANGUAGE sql VOLATILE AS 'SELECT 1';
         CREATE FUNCTION calm_of_row(accounts) RETURNS int LANGUAGE sql STABLE AS 'SELECT 1';
         CREATE TYPE pair AS (a int, b int);
         CREATE FUNCTION to_pair(int) RETURNS pair LANGUAGE sql VOLATILE AS 'SELECT ROW(1, 2)::pair';
         CREATE CAST (int AS pair) WITH FUNCTION to_pair(int)",
    )
    .await;
    let judge = db.inbox.judge(&Rules::default());
    for sql in [
        "SELECT calm(1)",
        "SELECT a.calm_of_row, (a).calm_of_row FROM accounts a",
        "SELECT random(), gen_random_uuid()",
        "SELECT sum(balance) FROM accounts",
    ] {
        assert_eq!(refused(&db, &judge, sql).await, None, "{sql}");
    }
    for (sql, word) in [
        ("SELECT two(1)", "function two"),
        ("SELECT 1 <~> 2", "operator <~>"),
        ("SELECT wild_sum(id) FROM accounts", "function wild_sum"),
        ("SELECT a.of_row FROM accounts a", ".of_row"),
        ("SELECT (a).of_row FROM accounts a", ".of_row"),
        (
            "SELECT (SELECT a FROM accounts a LIMIT 1).of_row",
            ".of_row",
        ),
        ("SELECT a.of_any FROM accounts a", ".of_any"),
        ("SELECT 1::pair", "type pair"),
        ("SELECT pg_sleep(0)", "function pg_sleep"),
        ("SELECT nobody_knows(1)", "no function of the name"),
        ("SELECT 1 FROM pg_class", "relation pg_class"),
        ("SELECT 1 FROM tidegate.progress", "host's own"),
    ] {
        let message = refused(&db, &judge, sql).await.expect(sql);
        assert!(
            message.contains(word) && message.contains("(line 1, column "),
            "{message}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_seen_before_is_not_read_again() {
    let db = db(Wall::Grammar).await;
    let judge = db.inbox.judge(&Rules::default());
    assert!(Arc::ptr_eq(
        &judge,
        &db.inbox.clone().judge(&Rules::default())
    ));
    for sql in ["SELECT 1", "SELECT pg_sleep(0)"] {
        told(&db, &judge, sql).await.ok();
    }
    assert_eq!(judge.parses(), 2);
    for _ in 0..5 {
        assert_eq!(refused(&db, &judge, "SELECT 1").await, None);
        assert!(refused(&db, &judge, "SELECT pg_sleep(0)").await.is_some());
    }
    assert_eq!(judge.parses(), 2);
    assert!(refused(&db, &judge, "COMMIT").await.is_some());
    assert_eq!(judge.parses(), 2, "a keyword is enough");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_that_is_created_later_is_found_and_rules_allow_more() {
    let db = db(Wall::Grammar).await;
    let judge = db.inbox.judge(&Rules::default());
    assert!(refused(&db, &judge, "SELECT late(1)").await.is_some());
    db.run("CREATE FUNCTION late(int) RETURNS int LANGUAGE sql STABLE AS 'SELECT 1'")
        .await;
    wait_for(PATIENCE, "the function is known", async || {
        let refused = refused(&db, &judge, "SELECT late(1)").await;
        refused.is_none().then_some(())
    })
    .await;
    let mut rules = Rules::default();
    rules.allow_function("version").expect("allowed");
    rules.allow_relation("pg_class").expect("allowed");
    let sql = "SELECT version() FROM pg_class LIMIT 1";
    assert!(refused(&db, &judge, sql).await.is_some());
    assert_eq!(refused(&db, &db.inbox.judge(&rules), sql).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_catalogue_that_cannot_be_read_blames_no_record() {
    let roles = roles(Wall::Grammar).await;
    let db = &roles.db;
    let judge = db.inbox.judge(&Rules::default());
    db.run("REVOKE SELECT ON pg_catalog.pg_proc FROM PUBLIC")
        .await;
    let (mut transaction, _) = db.open(0, vec![hour("a", 0)]).await;
    transaction.run_by(guest(&judge));
    transaction.enter(0);
    let told = transaction
        .query("SELECT lower('a')".to_owned(), vec![])
        .await;
    assert_eq!(told, Err(CallError::Ended));
    let broken = transaction.drain().await.expect("broken");
    assert!(
        matches!(broken.failure, Failure::Unreachable { .. }),
        "{broken:?}"
    );
    assert_eq!(broken.offset, None, "nobody is blamed");
    transaction.rollback().await;
    db.run("GRANT SELECT ON pg_catalog.pg_proc TO PUBLIC").await;
    assert_eq!(refused(db, &judge, "SELECT lower('a')").await, None);
}
