//! Staged statements: pipelined, in order, and every failure at its own record.

use std::sync::Arc;
use std::time::Duration;

use tidegate::inbox::{Guest, ResultLimits, Wall};
use tidegate_core::failure::Failure;
use tidegate_core::limits::Limit;
use tidegate_core::sql::{CallError, Expectation, GuestSql, Value};

use super::inbox_support::{CREDIT, ask, db, finish, hour, ints};

#[tokio::test(flavor = "multi_thread")]
async fn more_than_a_window_of_staged_statements_commits_whole() {
    let db = db(Wall::Grammar).await;
    let (mut transaction, _) = db.open(0, vec![]).await;
    for offset in 0..1000 {
        transaction.enter(offset);
        let params = ints(&[1, offset + 1]);
        transaction
            .stage(CREDIT.into(), params, Expectation::Exactly(1))
            .await
            .expect("staged");
        assert_eq!(transaction.calls(), 1);
    }
    let sum = ask(
        &mut transaction,
        "SELECT sum(balance)::bigint FROM accounts",
        vec![],
    )
    .await
    .expect("read");
    assert_eq!(
        sum.rows,
        [[Value::Int64(101_000)]],
        "an awaited call sees what was staged before it"
    );
    transaction.commit(finish(1000)).await.expect("committed");
    assert_eq!(db.total().await, 101_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unexpected_row_count_is_its_own_records_when_pipelined() {
    let db = db(Wall::Grammar).await;
    let (mut transaction, _) = db.open(0, vec![]).await;
    for offset in 0..100 {
        transaction.enter(offset);
        let account = if offset == 42 || offset == 77 {
            -1
        } else {
            offset + 1
        };
        transaction
            .stage(CREDIT.into(), ints(&[1, account]), Expectation::Exactly(1))
            .await
            .ok();
    }
    let broken = transaction.drain().await.expect("42 broke");
    assert_eq!(broken.offset, Some(42));
    let expected = "exactly 1 rows".to_owned();
    assert_eq!(
        broken.failure,
        Failure::UnexpectedRowCount {
            expected,
            actual: 0
        }
    );
    transaction.rollback().await;
    db.handle(0, vec![hour("a", 0)]).await;
    assert_eq!(db.total().await, 100_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_later_guest_is_ended_unheard_and_25p02_is_never_the_cause() {
    let db = db(Wall::Grammar).await;
    let (mut transaction, _) = db.open(0, vec![]).await;
    transaction.enter(5);
    transaction
        .stage(CREDIT.into(), ints(&[-500, 1]), Expectation::Any)
        .await
        .expect("staged");
    transaction.enter(6);
    transaction
        .stage(CREDIT.into(), ints(&[1, 2]), Expectation::Any)
        .await
        .ok();
    let error = ask(&mut transaction, "SELECT 1", vec![])
        .await
        .expect_err("the transaction has failed");
    assert_eq!(error, CallError::Ended);
    let broken = transaction.drain().await.expect("5 broke");
    assert_eq!(broken.offset, Some(5));
    assert!(
        matches!(broken.failure, Failure::Sql { ref sqlstate, .. } if sqlstate == "23514"),
        "{broken:?}"
    );
    transaction.rollback().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_parameter_is_its_records_own_and_an_earlier_failure_comes_first() {
    let db = db(Wall::Grammar).await;
    db.run("CREATE TABLE notes (t text)").await;
    let insert = "INSERT INTO notes VALUES ($1)";
    let nul = || vec![Value::Text("a\0b".into())];
    let (mut transaction, _) = db.open(0, vec![]).await;
    transaction.enter(8);
    transaction
        .stage(CREDIT.into(), ints(&[1, -1]), Expectation::AtLeast(1))
        .await
        .expect("staged");
    transaction.enter(9);
    let ended = transaction
        .stage(insert.into(), nul(), Expectation::Any)
        .await;
    assert_eq!(ended, Err(CallError::Ended));
    assert_eq!(transaction.drain().await.and_then(|b| b.offset), Some(8));
    transaction.rollback().await;

    let (mut transaction, _) = db.open(0, vec![]).await;
    transaction.enter(9);
    let error = transaction
        .execute(insert.into(), nul())
        .await
        .expect_err("a NUL");
    let CallError::Sql(error) = error else {
        panic!("the guest is told")
    };
    assert_eq!(error.code, "bad-parameter");
    assert!(
        error
            .message
            .starts_with("parameter $1: given text, wanted text: it holds a NUL"),
        "{}",
        error.message
    );
    let broken = transaction.drain().await.expect("9 broke");
    assert!(
        matches!(broken.failure, Failure::BadParameter { .. }),
        "{broken:?}"
    );
    transaction.rollback().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn staged_results_that_nobody_reads_do_not_stall_the_connection() {
    let db = db(Wall::Grammar).await;
    let (mut transaction, _) = db.open(0, vec![]).await;
    transaction.enter(0);
    for _ in 0..3 {
        let sql = "SELECT repeat('x', 1000) FROM generate_series(1, 20000)";
        transaction
            .stage(sql.into(), vec![], Expectation::Exactly(20_000))
            .await
            .expect("staged");
    }
    let one = ask(&mut transaction, "SELECT 1", vec![])
        .await
        .expect("answered");
    assert_eq!(one.rows, [[Value::Int64(1)]]);
    transaction.commit(finish(1)).await.expect("committed");
}

#[tokio::test(flavor = "multi_thread")]
async fn staged_results_that_nobody_reads_do_not_stall_a_rollback() {
    let db = db(Wall::Grammar).await;
    let (mut transaction, _) = db.open(0, vec![]).await;
    transaction.enter(0);
    let sql = "UPDATE accounts SET balance = 0 RETURNING repeat('x', 20000)";
    for _ in 0..3 {
        transaction
            .stage(sql.into(), vec![], Expectation::Any)
            .await
            .expect("staged");
    }
    let begun = std::time::Instant::now();
    transaction.rollback().await;
    assert!(begun.elapsed() < Duration::from_secs(5));
    db.handle(0, vec![hour("a", 0)]).await;
    assert_eq!(db.total().await, 100_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_over_its_limits_is_refused_and_read_off() {
    let db = db(Wall::Grammar).await;
    let (mut transaction, _) = db.open(0, vec![]).await;
    let limits = ResultLimits {
        rows: 10,
        bytes: 10_000,
    };
    transaction.run_by(Arc::new(Guest {
        limits,
        ..Guest::default()
    }));
    transaction.enter(0);
    let error = ask(&mut transaction, "SELECT generate_series(1, 11)", vec![])
        .await
        .expect_err("11 rows");
    assert!(
        matches!(error, CallError::Sql(ref e) if e.code == "limit"),
        "{error:?}"
    );
    let broken = transaction.drain().await.expect("tainted");
    assert_eq!(broken.offset, Some(0));
    assert_eq!(broken.failure, Failure::Limit(Limit::ResultRows));
    transaction.rollback().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_records_results_are_bounded_together_and_the_next_ones_apart() {
    let db = db(Wall::Grammar).await;
    let (mut transaction, _) = db.open(0, vec![]).await;
    let limits = ResultLimits {
        rows: 10,
        bytes: 10_000,
    };
    transaction.run_by(Arc::new(Guest {
        limits,
        ..Guest::default()
    }));
    let six = "SELECT generate_series(1, 6)";
    for offset in 0..3 {
        transaction.enter(offset);
        let result = ask(&mut transaction, six, vec![]).await;
        assert_eq!(result.expect("its own six").rows.len(), 6);
    }
    let error = ask(&mut transaction, six, vec![]).await;
    error.expect_err("twelve of one record");
    let broken = transaction.drain().await.expect("tainted");
    let found = (broken.offset, broken.failure);
    assert_eq!(found, (Some(2), Failure::Limit(Limit::ResultRows)));
    transaction.rollback().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_engine_refused_commits_nothing_whatever_the_guest_says() {
    let db = db(Wall::Grammar).await;
    let (mut transaction, _) = db.open(0, vec![hour("a", 3), hour("b", 4)]).await;
    transaction.enter(3);
    transaction
        .stage(CREDIT.into(), ints(&[1, 1]), Expectation::Exactly(1))
        .await
        .expect("staged");
    transaction.enter(4);
    transaction.refuse(Limit::ParameterBytes);
    assert_eq!(transaction.calls(), 1);
    let ended = ask(&mut transaction, "SELECT 1", vec![]).await;
    assert_eq!(ended, Err(CallError::Ended));
    let broken = transaction.commit(finish(5)).await.expect_err("tainted");
    assert_eq!(broken.offset, Some(4));
    assert_eq!(broken.failure, Failure::Limit(Limit::ParameterBytes));
    db.handle(0, vec![hour("a", 3)]).await;
    assert_eq!(db.total().await, 100_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_dropped_half_way_leaves_a_transaction_that_rolls_back() {
    let db = db(Wall::Off).await;
    let (mut transaction, _) = db.open(0, vec![hour("a", 0)]).await;
    transaction.enter(0);
    transaction
        .execute(CREDIT.into(), ints(&[1, 1]))
        .await
        .expect("credited");
    let sleep = ask(&mut transaction, "SELECT pg_sleep(8)", vec![]);
    tokio::time::timeout(Duration::from_millis(200), sleep)
        .await
        .expect_err("the wall limit");
    assert_eq!(
        ask(&mut transaction, "SELECT 1", vec![]).await,
        Err(CallError::Ended)
    );
    let broken = transaction.drain().await.expect("abandoned");
    assert_eq!(
        (broken.offset, broken.failure),
        (Some(0), Failure::Limit(Limit::DatabaseWait))
    );
    let begun = std::time::Instant::now();
    transaction.rollback().await;
    db.handle(0, vec![hour("a", 0)]).await;
    assert!(
        begun.elapsed() < Duration::from_secs(4),
        "the statement was cancelled"
    );
    assert_eq!(db.total().await, 100_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_texts_are_closed_on_the_server_again() {
    let db = db(Wall::Off).await;
    let (mut transaction, _) = db.open(0, vec![]).await;
    transaction.enter(0);
    for i in 0..600 {
        ask(&mut transaction, &format!("SELECT {i}"), vec![])
            .await
            .expect("answered");
    }
    let open = "SELECT count(*) FROM pg_prepared_statements";
    let Value::Int64(open) = ask(&mut transaction, open, vec![])
        .await
        .expect("counted")
        .rows[0][0]
        .clone()
    else {
        panic!("a bigint")
    };
    assert!(open < 300, "{open}");
    transaction.rollback().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_transaction_gives_its_locks_back() {
    let db = db(Wall::Grammar).await;
    let (mut transaction, _) = db.open(0, vec![hour("a", 0)]).await;
    transaction.enter(0);
    transaction
        .execute(CREDIT.into(), ints(&[1, 1]))
        .await
        .expect("credited");
    drop(transaction);
    db.handle(0, vec![hour("a", 0)]).await;
    assert_eq!(db.total().await, 100_000);
}
