//! Guests that reach for the transaction, with and without the allow-list in front.

use tidegate::inbox::Wall;
use tidegate_core::failure::{Broken, Failure};
use tidegate_core::sql::{CallError, Expectation, GuestSql, Value};

use super::inbox_support::{CREDIT, Db, ask, db, finish, hour, ints};

const REACHING: [&str; 5] = [
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT a",
    "SET ROLE postgres",
    "/* x */ commit",
];

fn is_escape(broken: &Broken) -> bool {
    matches!(broken.failure, Failure::Escape { .. })
}

async fn nothing_left(db: &Db) {
    assert_eq!(db.total().await, 100_000, "no effect");
    assert_eq!(
        db.number("SELECT count(*) FROM tidegate.processed_events")
            .await,
        0
    );
    assert_eq!(
        db.number("SELECT next_offset FROM tidegate.progress").await,
        0
    );
    assert_eq!(
        db.number("SELECT begun - sealed FROM tidegate.progress")
            .await,
        0
    );
    db.handle(0, vec![hour("next", 0)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_allow_list_refuses_what_reaches_for_the_transaction() {
    let db = db(Wall::Grammar).await;
    for sql in REACHING {
        let (mut transaction, _) = db.open(0, vec![hour("a", 0)]).await;
        transaction.enter(0);
        let error = transaction
            .execute(sql.into(), vec![])
            .await
            .expect_err("refused");
        assert!(
            matches!(error, CallError::Sql(ref e) if e.code == "refused"),
            "{error:?}"
        );
        assert_eq!(transaction.calls(), 1);
        let broken = transaction.commit(finish(1)).await.expect_err("tainted");
        assert_eq!(broken.offset, Some(0));
        assert!(
            matches!(broken.failure, Failure::StatementRefused { .. }),
            "{broken:?}"
        );
    }
    nothing_left(&db).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_it_an_awaited_commit_or_rollback_commits_nothing() {
    for sql in [
        "COMMIT",
        "ROLLBACK",
        "PREPARE TRANSACTION 'x'",
        "ROLLBACK AND CHAIN",
        "COMMIT AND CHAIN",
    ] {
        let db = db(Wall::Off).await;
        let (mut transaction, _) = db.open(0, vec![hour("a", 0)]).await;
        transaction.enter(0);
        transaction
            .execute(CREDIT.into(), ints(&[5, 1]))
            .await
            .expect("credited");
        transaction.execute(sql.into(), vec![]).await.ok();
        transaction.execute(CREDIT.into(), ints(&[5, 2])).await.ok();
        let broken = transaction.commit(finish(1)).await.expect_err(sql);
        assert!(is_escape(&broken), "{sql}: {broken:?}");
        assert_eq!(broken.offset, Some(0), "{sql}");
        nothing_left(&db).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_it_a_staged_one_commits_nothing_either() {
    for sql in ["COMMIT", "ROLLBACK"] {
        let db = db(Wall::Off).await;
        let (mut transaction, _) = db.open(0, vec![hour("a", 0), hour("b", 1)]).await;
        for (offset, sql) in [(0, CREDIT), (1, sql), (2, CREDIT)] {
            transaction.enter(offset);
            let params = if sql == CREDIT { ints(&[5, 1]) } else { vec![] };
            transaction
                .stage(sql.into(), params, Expectation::Any)
                .await
                .ok();
        }
        let broken = transaction.commit(finish(3)).await.expect_err(sql);
        assert!(is_escape(&broken), "{sql}: {broken:?}");
        assert_eq!(broken.offset, Some(1), "{sql}: its own record is blamed");
        nothing_left(&db).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_swallowed_sql_error_commits_nothing_and_names_the_cause() {
    let db = db(Wall::Grammar).await;
    let (mut transaction, _) = db.open(0, vec![hour("a", 0)]).await;
    transaction.enter(0);
    let error = transaction
        .execute(CREDIT.into(), ints(&[-500, 1]))
        .await
        .expect_err("below zero");
    let CallError::Sql(error) = error else {
        panic!("the guest is told")
    };
    assert_eq!(
        (error.code.as_str(), error.sqlstate.as_deref()),
        ("constraint", Some("23514"))
    );
    assert_eq!(error.constraint.as_deref(), Some("accounts_balance_check"));
    assert_eq!(
        ask(&mut transaction, "SELECT 1", vec![]).await,
        Err(CallError::Ended)
    );
    let broken = transaction.commit(finish(1)).await.expect_err("tainted");
    assert_eq!(broken.offset, Some(0));
    assert!(
        matches!(broken.failure, Failure::Sql { ref sqlstate, .. } if sqlstate == "23514"),
        "{broken:?}"
    );
    nothing_left(&db).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deferred_constraint_fails_at_its_own_statement() {
    let db = db(Wall::Grammar).await;
    db.run("CREATE TABLE child (id int REFERENCES accounts DEFERRABLE INITIALLY DEFERRED)")
        .await;
    let (mut transaction, _) = db.open(0, vec![]).await;
    transaction.enter(0);
    let insert = "INSERT INTO child VALUES ($1)";
    transaction
        .stage(insert.into(), ints(&[1]), Expectation::Exactly(1))
        .await
        .expect("staged");
    transaction.enter(1);
    transaction
        .stage(insert.into(), ints(&[-1]), Expectation::Exactly(1))
        .await
        .expect("staged");
    transaction.enter(2);
    transaction
        .stage(insert.into(), vec![Value::Null], Expectation::Exactly(1))
        .await
        .ok();
    let broken = transaction
        .commit(finish(3))
        .await
        .expect_err("no such parent");
    assert_eq!(broken.offset, Some(1));
    assert!(
        matches!(broken.failure, Failure::Sql { ref sqlstate, .. } if sqlstate == "23503"),
        "{broken:?}"
    );
}
