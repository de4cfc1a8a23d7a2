//! Hostile guests, one call each: every limit ends the call with its own code, and what cannot end it is dropped.

use std::time::Duration;

use tidegate_core::limits::{GuestLimits, LOG_BYTES, LOG_LINES, Limit};
use tidegate_core::outcome::GuestEnd;
use tidegate_core::record::Record;

use crate::engine_fake::{Bench, Fake, env, event, record};

fn limits() -> GuestLimits {
    GuestLimits {
        memory: 8 << 20,
        cpu: Duration::from_millis(300),
        wall: Duration::from_secs(30),
        statements: 50,
        staged_statements: 20,
        staged_bytes: 4000,
        parameter_bytes: 100_000,
        parameter_values: 1000,
        nesting: 10,
        result_rows: 100,
        result_bytes: 10_000,
        random_bytes: 4096,
        log_lines: 10,
        log_bytes: 5000,
        ..GuestLimits::default()
    }
}

fn trick(trick: &str, size: u64) -> Record {
    record(&format!(
        r#"{{"amount_minor": 500, "account_id": 17, "trick": "{trick}", "size": {size}}}"#
    ))
}

/// What ends the guest itself.
#[tokio::test]
async fn each_limit_ends_its_call_with_its_own_code() {
    let bench = Bench::new("hostile", limits()).await;
    for (name, size, limit) in [
        ("memory", 0, Limit::Memory),
        ("loop", 0, Limit::Cpu),
        ("clock", 0, Limit::Cpu),
        ("statements", 51, Limit::Statements),
        ("stage", 21, Limit::StagedStatements),
        ("stage-bytes", 500, Limit::StagedBytes),
        ("random", 8192, Limit::RandomBytes),
        ("seed", 8192, Limit::RandomBytes),
    ] {
        let (end, _) = bench.call(&trick(name, size)).await;
        assert_eq!(end, GuestEnd::Limit(limit), "{name}");
    }
    let soon = env(GuestLimits {
        wall: Duration::from_millis(100),
        cpu: Duration::from_secs(60),
        ..limits()
    });
    for name in ["sleep", "loop"] {
        let made = bench
            .engine
            .instantiate(&bench.module, &soon, Fake::default());
        let mut instance = made.await.map_err(|(_, why)| why).unwrap();
        let end = instance.call(event(&trick(name, 0))).await;
        assert_eq!(end, GuestEnd::Limit(Limit::Wall), "{name}");
    }
    for name in ["recurse", "panic", "exit"] {
        let (end, _) = bench.call(&trick(name, 0)).await;
        assert!(matches!(end, GuestEnd::Trap { .. }), "{name}: {end:?}");
    }
    assert_eq!(bench.call(&trick("", 0)).await.0, GuestEnd::Done);
}

/// What the guest is told and the transaction holds against the record, whatever the guest makes of it.
#[tokio::test]
async fn what_is_too_large_is_refused_and_held_against_the_record() {
    let bench = Bench::new("hostile", limits()).await;
    for (name, size, limit) in [
        ("parameter-bytes", 100_000, Limit::ParameterBytes),
        ("parameter-values", 1000, Limit::ParameterValues),
        ("nesting", 11, Limit::Nesting),
        ("result-rows", 101, Limit::ResultRows),
        ("results", 11, Limit::ResultRows),
        ("result-bytes", 10_000, Limit::ResultBytes),
    ] {
        let mut instance = bench.instance().await;
        let end = instance.call(event(&trick(name, size))).await;
        let told = matches!(&end, GuestEnd::Reject { code, message }
            if code == "limit" && message == limit.words());
        assert!(told, "{name}: {end:?}");
        assert_eq!(instance.into_db().refused(), [limit], "{name}");
    }
}

#[tokio::test]
async fn what_is_within_the_limits_passes() {
    let bench = Bench::new("hostile", limits()).await;
    for (name, size) in [
        ("statements", 40),
        ("stage", 19),
        ("stage-bytes", 200),
        ("random", 4096),
        ("seed", 4096),
        ("parameter-bytes", 90_000),
        ("parameter-values", 900),
        ("nesting", 10),
        ("result-rows", 100),
        ("results", 10),
        ("result-bytes", 9000),
    ] {
        let (end, _) = bench.call(&trick(name, size)).await;
        assert_eq!(end, GuestEnd::Done, "{name}");
    }
}

#[tokio::test]
async fn each_record_of_an_instance_has_a_budget_of_its_own() {
    let bench = Bench::new("hostile", limits()).await;
    let mut instance = bench.instance().await;
    for (name, size) in [("random", 4096), ("results", 10), ("stage", 19)] {
        for _ in 0..3 {
            let end = instance.call(event(&trick(name, size))).await;
            assert_eq!(end, GuestEnd::Done, "{name}");
        }
    }
}

#[tokio::test]
async fn floods_of_output_are_dropped_and_counted() {
    let bench = Bench::new("hostile", limits()).await;
    for (name, size, code, lines) in [
        ("log", 50, LOG_LINES, 40),
        ("stdout", 9, LOG_BYTES, 0),
        ("stdout", 1000, LOG_LINES, 990),
    ] {
        let limits = match code {
            LOG_BYTES => GuestLimits {
                log_bytes: 200,
                ..limits()
            },
            _ => limits(),
        };
        let env = env(limits);
        let made = bench
            .engine
            .instantiate(&bench.module, &env, Fake::default());
        let mut instance = made.await.map_err(|(_, why)| why).unwrap();
        assert_eq!(
            instance.call(event(&trick(name, size))).await,
            GuestEnd::Done
        );
        let (found, dropped) = instance.dropped().expect("dropped");
        assert_eq!(found, code, "{name}");
        assert!(lines == 0 || dropped == lines, "{name}: {dropped}");
        assert_eq!(instance.call(event(&trick("", 0))).await, GuestEnd::Done);
        assert_eq!(instance.dropped(), None, "the next record's own");
    }
}

/// The guest may hold far more than the host would take from it: what a call carries is counted before the host copies.
#[tokio::test]
async fn no_call_makes_the_host_allocate_before_it_is_counted() {
    let limits = GuestLimits {
        memory: 256 << 20,
        cpu: Duration::from_secs(20),
        wall: Duration::from_secs(60),
        ..GuestLimits::default()
    };
    let bench = Bench::new("hostile", limits).await;
    for (name, size) in [
        ("nulls", 5_000_000),
        ("parameter-values", 5_000_000),
        ("parameter-bytes", 100_000_000),
        ("log-fields", 5_000_000),
    ] {
        let (end, _) = bench.call(&trick(name, size)).await;
        assert_eq!(end, GuestEnd::Limit(Limit::ParameterBytes), "{name}");
    }
}
