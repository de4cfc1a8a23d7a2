//! Limits on guests: each ends one call, and the host and its other guests go on.

use std::time::{Duration, Instant};

use tidegate_core::limits::{GuestLimits, Limit};
use tidegate_core::outcome::GuestEnd;

use crate::engine_fake::{Bench, event, payment, query};

fn limits() -> GuestLimits {
    GuestLimits {
        cpu: Duration::from_millis(200),
        wall: Duration::from_secs(10),
        ..GuestLimits::default()
    }
}

#[tokio::test]
async fn an_endless_loop_ends_and_others_go_on_meanwhile() {
    // One worker thread: the loop has to give way.
    let bench = Bench::new("endless-loop", limits()).await;
    let mut looping = bench.instance().await;
    let looping = tokio::spawn(async move { looping.call(event(&payment("loop"))).await });
    tokio::task::yield_now().await;
    let began = Instant::now();
    let (end, _) = bench.call(&payment("")).await;
    assert_eq!(end, GuestEnd::Done);
    assert!(began.elapsed() < Duration::from_millis(150));
    assert!(!looping.is_finished());
    assert_eq!(looping.await.unwrap(), GuestEnd::Limit(Limit::Cpu));
}

#[tokio::test]
async fn a_memory_bomb_ends() {
    let bench = Bench::new("memory-bomb", limits()).await;
    let (end, _) = bench.call(&payment("bomb")).await;
    assert_eq!(end, GuestEnd::Limit(Limit::Memory));
    assert_eq!(bench.call(&payment("")).await.0, GuestEnd::Done);
}

#[tokio::test]
async fn waiting_on_the_database_costs_no_cpu_time() {
    let bench = Bench::new("sql", limits()).await;
    let (end, calls) = bench.call(&query("wait 500")).await;
    assert_eq!(end, GuestEnd::Done);
    assert_eq!(calls.len(), 1);
}

#[tokio::test]
async fn waiting_counts_against_the_wall_limit() {
    let limits = GuestLimits {
        wall: Duration::from_millis(100),
        ..limits()
    };
    let bench = Bench::new("sql", limits).await;
    let began = Instant::now();
    let (end, calls) = bench.call(&query("SELECT 1\n;;\nwait 60000")).await;
    assert_eq!(end, GuestEnd::Limit(Limit::Wall));
    assert_eq!(calls.len(), 1);
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn one_statement_too_many_ends_the_guest() {
    let limits = GuestLimits {
        statements: 3,
        ..limits()
    };
    let bench = Bench::new("sql", limits).await;
    let mut instance = bench.instance().await;
    for _ in 0..2 {
        let three = query("SELECT 1\n;;\nSELECT 2\n;;\nSELECT 3");
        let end = instance.call(event(&three)).await;
        assert_eq!(end, GuestEnd::Done, "each record has its own budget");
    }
    let four = query("SELECT 1\n;;\nSELECT 2\n;;\nSELECT 3\n;;\nSELECT 4");
    let end = instance.call(event(&four)).await;
    assert_eq!(end, GuestEnd::Limit(Limit::Statements));
    assert_eq!(instance.into_db().calls().len(), 9);
}

#[tokio::test]
async fn too_large_a_result_or_statement_is_an_error_for_the_guest() {
    let limits = GuestLimits {
        result_rows: 10,
        result_bytes: 500,
        parameter_bytes: 1000,
        ..limits()
    };
    let bench = Bench::new("sql", limits).await;
    let long = format!("SELECT '{}'", "x".repeat(1000));
    for (sql, runs, limit) in [
        ("rows 11", 1, Limit::ResultRows),
        ("rows 5", 1, Limit::ResultBytes),
        (long.as_str(), 0, Limit::ParameterBytes),
    ] {
        let mut instance = bench.instance().await;
        let end = instance.call(event(&query(sql))).await;
        let db = instance.into_db();
        assert!(
            matches!(&end, GuestEnd::Reject { code, .. } if code == "limit"),
            "{sql}: {end:?}"
        );
        assert_eq!(db.calls().len(), runs);
        assert_eq!(db.refused(), [limit], "the transaction knows");
    }
    assert_eq!(bench.call(&query("rows 4")).await.0, GuestEnd::Done);
}
