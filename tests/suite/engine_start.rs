//! What a module does before its first line of work runs under the same limits: start functions, and the allocator that
//! the host calls for arguments. A module that cannot start is refused before a record depends on it.

use std::sync::Arc;
use std::time::Duration;

use tidegate::engine::watch;
use tidegate::engine::{LoadError, NoInstance};
use tidegate_core::limits::{GuestLimits, Limit};
use tidegate_core::outcome::GuestEnd;
use tidegate_tests::guest_bytes;

use crate::engine_fake::{Bench, Fake, engine, env, payment};
use crate::engine_wat::{STAGE, Wat};

const LOOP: &str = "(loop (br 0))";
/// A gigabyte more, or death.
const GROW: &str =
    "(if (i32.eq (memory.grow (i32.const 16384)) (i32.const -1)) (then (unreachable)))";

fn limits() -> GuestLimits {
    GuestLimits {
        memory: 1 << 20,
        table_elements: 1000,
        instances: 3,
        cpu: Duration::from_millis(100),
        wall: Duration::from_secs(30),
        ..GuestLimits::default()
    }
}

/// A module that is well but for `wat`, and the end that its start comes to.
async fn start(wat: Wat<'_>) -> (Result<(), LoadError>, Option<GuestEnd>) {
    let bench = Bench::of("h.wasm", wat.build(), limits()).await;
    let tried = bench.engine.try_start(&bench.module, &bench.env).await;
    let made = bench
        .engine
        .instantiate(&bench.module, &bench.env, Fake::default());
    let end = match made.await {
        Ok(_) => None,
        Err((_, NoInstance::Guest(end))) => Some(end),
        Err((_, NoInstance::Busy)) => panic!("there is room"),
    };
    (tried, end)
}

#[tokio::test]
async fn a_module_that_starts_well_is_taken() {
    let bench = Bench::of("h.wasm", Wat::default().build(), limits()).await;
    let tried = bench.engine.try_start(&bench.module, &bench.env).await;
    assert_eq!(tried, Ok(()));
    assert_eq!(bench.call(&payment("")).await.0, GuestEnd::Done);
}

#[tokio::test]
async fn a_start_beyond_a_limit_is_refused_with_its_code() {
    let recursion = "(func $deeper (call $deeper))";
    let table = "(table $t 10 funcref)";
    let grow_table = "(if (i32.eq (table.grow $t (ref.null func) (i32.const 5000)) (i32.const -1)) (then (unreachable)))";
    let wat = Wat::default();
    for (wat, limit) in [
        (Wat { start: LOOP, ..wat }, Limit::Cpu),
        (Wat { start: GROW, ..wat }, Limit::Memory),
        (
            Wat {
                imports: "(core module $x (memory 100)) (core instance (instantiate $x))",
                ..wat
            },
            Limit::Memory,
        ),
        (
            Wat {
                core: table,
                start: grow_table,
                ..wat
            },
            Limit::Tables,
        ),
        (
            Wat {
                core: "(table 2000 funcref)",
                ..wat
            },
            Limit::Tables,
        ),
        (Wat { more: 3, ..wat }, Limit::Instances),
    ] {
        let (tried, end) = start(wat).await;
        assert_eq!(end, Some(GuestEnd::Limit(limit)));
        let text = tried.expect_err("refused").to_string();
        assert!(
            text.starts_with("h.wasm: cannot start") && text.contains(limit.code()),
            "{text}"
        );
        let key = format!("`limits.{}`", limit.key());
        assert!(
            text.contains(&key) && text.contains("\"billing\""),
            "{text}"
        );
    }
    let deep = Wat {
        core: recursion,
        start: "(call $deeper)",
        ..wat
    };
    let (tried, end) = start(deep).await;
    assert!(matches!(end, Some(GuestEnd::Trap { .. })), "{end:?}");
    let text = tried.expect_err("refused").to_string();
    assert!(text.contains("(trap)") && text.contains("stack"), "{text}");
}

#[tokio::test]
async fn a_table_larger_than_the_pool_holds_ends_at_its_limit() {
    let grow = "(if (i32.eq (table.grow $t (ref.null func) (i32.const 30000)) (i32.const -1)) (then (unreachable)))";
    let wat = Wat {
        core: "(table $t 10 funcref)",
        handle: grow,
        ..Wat::default()
    };
    let bench = Bench::of("h.wasm", wat.build(), GuestLimits::default()).await;
    assert_eq!(
        bench.call(&payment("")).await.0,
        GuestEnd::Limit(Limit::Tables)
    );
}

/// The host calls the allocator for the record's arguments, before the handler itself.
#[tokio::test]
async fn an_allocator_beyond_a_limit_ends_its_call_alone() {
    let wat = Wat::default();
    let recursion = "(func $deeper (call $deeper))";
    for (wat, limit) in [
        (
            Wat {
                realloc: LOOP,
                ..wat
            },
            Some(Limit::Cpu),
        ),
        (
            Wat {
                realloc: GROW,
                ..wat
            },
            Some(Limit::Memory),
        ),
        (
            Wat {
                core: recursion,
                realloc: "(call $deeper)",
                ..wat
            },
            None,
        ),
        (
            Wat {
                realloc: "(return (i32.const -8))",
                ..wat
            },
            None,
        ),
    ] {
        let bench = Bench::of("h.wasm", wat.build(), limits()).await;
        assert_eq!(
            bench.engine.try_start(&bench.module, &bench.env).await,
            Ok(())
        );
        let (end, calls) = bench.call(&payment("")).await;
        match limit {
            Some(limit) => assert_eq!(end, GuestEnd::Limit(limit)),
            None => assert!(matches!(end, GuestEnd::Trap { .. }), "{end:?}"),
        }
        assert_eq!(calls, []);
    }
}

#[tokio::test]
async fn a_start_that_writes_is_refused() {
    let zeros = "(i32.const 0) ".repeat(6);
    let start = format!("(call $stage {zeros})");
    let core = r#"(import "host" "stage" (func $stage (param i32 i32 i32 i32 i32 i32)))"#;
    let wat = Wat {
        imports: STAGE,
        with: r#"(with "host" (instance (export "stage" (func $stage))))"#,
        core,
        start: &start,
        ..Wat::default()
    };
    let bench = Bench::of("h.wasm", wat.build(), limits()).await;
    let tried = bench.engine.try_start(&bench.module, &bench.env).await;
    let text = tried.expect_err("refused").to_string();
    assert!(
        text.contains("called the database before its first record"),
        "{text}"
    );
}

/// One worker thread, and a module that computes at its start: neither others' calls nor others' starts wait for it.
#[tokio::test]
async fn others_start_and_work_while_a_start_loops() {
    let looping = Wat {
        start: LOOP,
        ..Wat::default()
    };
    let dir = tempfile::tempdir().unwrap();
    let engine = engine(dir.path());
    let limits = GuestLimits {
        cpu: Duration::from_millis(500),
        ..limits()
    };
    let env = env(limits);
    let bad = engine.load("bad", looping.build()).await.unwrap();
    let good = engine.load("good", Wat::default().build()).await.unwrap();
    let trial = tokio::spawn({
        let (engine, env) = (engine.clone(), Arc::clone(&env));
        async move { engine.try_start(&bad, &env).await }
    });
    tokio::task::yield_now().await;
    assert_eq!(engine.try_start(&good, &env).await, Ok(()));
    let instance = engine.instantiate(&good, &env, Fake::default()).await;
    assert!(instance.is_ok());
    assert!(!trial.is_finished());
    assert!(matches!(
        trial.await.unwrap(),
        Err(LoadError::CannotStart {
            code: "cpu-limit",
            ..
        })
    ));
}

#[tokio::test]
async fn a_module_that_cannot_start_is_not_activated_by_the_watch() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, env) = (engine(dir.path()), env(limits()));
    let path = dir.path().join("h.wasm");
    let looping = Wat {
        start: LOOP,
        ..Wat::default()
    };
    std::fs::write(&path, looping.build()).unwrap();
    let refused = watch::open(&engine, &path, &env).await.err().unwrap();
    assert!(refused.to_string().contains("cpu-limit"), "{refused}");
    std::fs::write(&path, Wat::default().build()).unwrap();
    let handler = watch::open(&engine, &path, &env).await.unwrap();
    let loaded = handler.changed().borrow().digest();
    let mut changed = handler.changed();
    // The bad one is looked at and refused before the next good one is swapped in.
    let next = Wat {
        core: "(table 1 funcref)",
        ..Wat::default()
    }
    .build();
    std::fs::write(&path, looping.build()).unwrap();
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert!(!changed.has_changed().unwrap());
    assert_eq!(handler.changed().borrow().digest(), loaded);
    std::fs::write(&path, &next).unwrap();
    let wanted = tidegate_tests::digest(&next);
    let swap = changed.wait_for(|m| hex::encode(m.digest()) == wanted);
    tokio::time::timeout(Duration::from_secs(20), swap)
        .await
        .expect("swapped in time")
        .expect("watched");
}

#[tokio::test]
async fn a_real_guest_is_tried_and_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, env) = (engine(dir.path()), env(GuestLimits::default()));
    let module = engine
        .load("g", guest_bytes("credit-rust").await)
        .await
        .unwrap();
    // More often than there are places in the pool.
    for _ in 0..10 {
        assert_eq!(engine.try_start(&module, &env).await, Ok(()));
    }
    let first = engine.instantiate(&module, &env, Fake::default()).await;
    let second = engine.instantiate(&module, &env, Fake::default()).await;
    assert!(first.is_ok() && second.is_ok());
    assert_eq!(
        engine.try_start(&module, &env).await,
        Ok(()),
        "beside a full pool"
    );
}
