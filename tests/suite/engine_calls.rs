//! Calls into guests, and what becomes of their instances.

use std::time::Duration;

use tidegate::engine::Event;
use tidegate_core::limits::{GuestLimits, Limit};
use tidegate_core::outcome::GuestEnd;
use tidegate_core::sql::{Expectation, Value};
use tokio::time::timeout;

use crate::engine_fake::{Bench, Call, Fake, event, payment, query, record};

fn credited() -> Call {
    Call {
        sql: "UPDATE accounts SET balance = balance + $1 WHERE id = $2".into(),
        params: vec![Value::Int64(500), Value::Int64(17)],
        expect: Some(Expectation::Exactly(1)),
    }
}

#[tokio::test]
async fn a_call_reaches_the_transaction_and_returns_the_outcome() {
    let bench = Bench::new("credit-rust", GuestLimits::default()).await;
    let (end, calls) = bench.call(&payment("")).await;
    assert_eq!(end, GuestEnd::Done);
    assert_eq!(calls, [credited()]);
    let (end, calls) = bench.call(&record("{oops")).await;
    assert!(matches!(end, GuestEnd::Reject { .. }), "{end:?}");
    assert_eq!(calls, []);
}

#[tokio::test]
async fn every_word_of_the_handler_comes_through() {
    let bench = Bench::new("rejects", GuestLimits::default()).await;
    let told =
        record(r#"{"amount_minor": 1, "account_id": 1, "code": "no-such", "why": "reject"}"#);
    let rejected = GuestEnd::Reject {
        code: "no-such".into(),
        message: "told to reject".into(),
    };
    assert_eq!(bench.call(&told).await.0, rejected);

    let bench = Bench::new("retries-twice", GuestLimits::default()).await;
    let record = payment("");
    let mut instance = bench.instance().await;
    for attempt in 1..=3 {
        let end = instance
            .call(Event {
                attempt,
                ..event(&record)
            })
            .await;
        let again = matches!(&end, GuestEnd::Retry { message, after_ms: None } if message.contains(&attempt.to_string()));
        assert!(
            if attempt < 3 {
                again
            } else {
                end == GuestEnd::Done
            },
            "{end:?}"
        );
    }
}

#[tokio::test]
async fn a_trap_says_what_happened_and_spends_its_instance_alone() {
    let bench = Bench::new("trap", GuestLimits::default()).await;
    let mut instance = bench.instance().await;
    let mut other = bench.instance().await;
    let end = instance.call(event(&payment("trap"))).await;
    let GuestEnd::Trap { message } = end else {
        panic!("{end:?}");
    };
    assert!(message.contains("unreachable"), "{message}");
    assert!(
        message.contains("told to trap"),
        "the panic's text: {message}"
    );
    assert!(message.len() < 5000);
    assert!(instance.is_spent());
    let again = instance.call(event(&payment(""))).await;
    assert!(matches!(again, GuestEnd::Trap { .. }));
    assert_eq!(other.call(event(&payment(""))).await, GuestEnd::Done);
    assert!(!other.is_spent());
}

#[tokio::test]
async fn what_a_guest_remembers_ends_with_its_instance() {
    let bench = Bench::new("keeps-state", GuestLimits::default()).await;
    let seen = |calls: Vec<Call>| -> Vec<Value> {
        let inserts = calls.into_iter().filter(|c| c.sql.starts_with("INSERT"));
        inserts.map(|c| c.params[1].clone()).collect()
    };
    let mut instance = bench.instance().await;
    for _ in 0..2 {
        assert_eq!(instance.call(event(&payment(""))).await, GuestEnd::Done);
    }
    let counts = seen(instance.into_db().calls());
    assert_eq!(counts, [Value::Int64(1), Value::Int64(2)]);
    let (_, calls) = bench.call(&payment("")).await;
    assert_eq!(seen(calls), [Value::Int64(1)]);
}

#[tokio::test]
async fn an_instance_is_spent_after_its_last_call() {
    let limits = GuestLimits {
        max_calls: 2,
        ..GuestLimits::default()
    };
    let bench = Bench::new("credit-rust", limits).await;
    let mut instance = bench.instance().await;
    for spent in [false, true] {
        instance.call(event(&payment(""))).await;
        assert_eq!(instance.is_spent(), spent);
    }
}

#[tokio::test]
async fn a_guest_whose_transaction_has_failed_is_ended_unheard() {
    let bench = Bench::new("sql", GuestLimits::default()).await;
    let (end, calls) = bench.call(&query("ended\n;;\nSELECT 1")).await;
    assert_eq!(end, GuestEnd::Unheard);
    assert_eq!(calls, []);
}

#[tokio::test]
async fn a_dropped_call_leaves_the_transaction_and_no_usable_instance() {
    let bench = Bench::new("sql", GuestLimits::default()).await;
    let mut instance = bench.instance().await;
    let record = query("SELECT 1\n;;\nwait 60000");
    let call = timeout(Duration::from_millis(50), instance.call(event(&record)));
    assert!(call.await.is_err());
    assert!(instance.is_spent());
    let end = instance.call(event(&record)).await;
    assert!(matches!(end, GuestEnd::Trap { .. }), "{end:?}");
    assert_eq!(instance.into_db().calls().len(), 1);
}

#[tokio::test]
async fn a_full_pool_makes_the_next_instance_wait() {
    let bench = Bench::new("credit-rust", GuestLimits::default()).await;
    let first = bench.instance().await;
    let second = bench.instance().await;
    let third = bench
        .engine
        .instantiate(&bench.module, &bench.env, Fake::default());
    let mut third = Box::pin(third);
    assert!(
        timeout(Duration::from_millis(100), &mut third)
            .await
            .is_err()
    );
    drop(first);
    assert!(third.await.is_ok());
    drop(second);
}

#[tokio::test]
async fn output_is_bounded_and_harms_nothing() {
    let bench = Bench::new("prints-a-lot", GuestLimits::default()).await;
    let (end, calls) = bench.call(&payment("print")).await;
    assert_eq!(end, GuestEnd::Done);
    assert_eq!(calls, [credited()]);
}

#[tokio::test]
async fn the_memory_of_an_instance_is_limited_from_its_start() {
    let limits = GuestLimits {
        memory: 64 << 10,
        ..GuestLimits::default()
    };
    let bench = Bench::new("credit-rust", limits).await;
    let made = bench
        .engine
        .instantiate(&bench.module, &bench.env, Fake::default());
    let why = made.await.map(drop).map_err(|(_, why)| why);
    let limit = tidegate::engine::NoInstance::Guest(GuestEnd::Limit(Limit::Memory));
    assert_eq!(why, Err(limit));
}
