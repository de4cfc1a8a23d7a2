//! Counts its calls in a global, and credits. Each record inserts the count so far, from 1, into
//! `seen("offset" bigint, counter bigint)`.

use std::sync::atomic::{AtomicI64, Ordering};

use guest_common::{Event, Expectation, Failure, Guest, Outcome, Value, credit, db};

static CALLS: AtomicI64 = AtomicI64::new(0);

struct KeepsState;

impl Guest for KeepsState {
    fn handle(event: Event) -> Result<Outcome, Failure> {
        let counter = CALLS.fetch_add(1, Ordering::Relaxed) + 1;
        let params = [Value::Int64(event.offset), Value::Int64(counter)];
        db::stage(
            "INSERT INTO seen (\"offset\", counter) VALUES ($1, $2)",
            &params,
            Expectation::Exactly(1),
        );
        credit(&event)
    }
}

guest_common::export!(KeepsState);
