//! Credits, slowly: waits `sleep_ms` in the database first and computes for about `spin_ms`, where the
//! value's JSON has them.

use guest_common::{Event, Failure, Guest, Outcome, Value, credit, db, json, reject_sql};

/// Turns of the loop that take about a millisecond.
const TURNS_PER_MS: u64 = 500_000;

struct Slow;

impl Guest for Slow {
    fn handle(event: Event) -> Result<Outcome, Failure> {
        let payment = json(&event);
        if let Some(ms) = payment["sleep_ms"].as_f64() {
            let seconds = Value::Float64(ms / 1000.0);
            db::query("SELECT 1 FROM pg_sleep($1)", &[seconds]).map_err(reject_sql)?;
        }
        if let Some(ms) = payment["spin_ms"].as_u64() {
            spin(ms.saturating_mul(TURNS_PER_MS));
        }
        credit(&event)
    }
}

fn spin(turns: u64) {
    let mut state = 1_u64;
    for turn in 0..turns {
        state = std::hint::black_box(state.wrapping_mul(6_364_136_223_846_793_005) ^ turn);
    }
}

guest_common::export!(Slow);
