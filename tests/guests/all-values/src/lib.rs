//! Runs the statements that the record's value lists, and writes down what they returned.
//!
//! The value is a JSON list of steps (see `steps.rs`). The result of each is inserted as JSON text into
//! `results("offset" bigint, step bigint, result text)`, steps counted from 0. Values have one spelling
//! in both directions (see `spelling.rs`), so that a test compares what it sent with what came back.

mod spelling;
mod steps;

use guest_common::{Event, Expectation, Failure, Guest, Outcome, Value, db, reject, value};

struct AllValues;

impl Guest for AllValues {
    fn handle(event: Event) -> Result<Outcome, Failure> {
        let steps: Vec<steps::Step> = serde_json::from_slice(value(&event))
            .map_err(|e| reject("malformed", e.to_string()))?;
        for (number, step) in (0..).zip(steps) {
            if let Some(result) = step.run()? {
                write_down(event.offset, number, result.to_string());
            }
        }
        Ok(Outcome::Done)
    }
}

fn write_down(offset: i64, step: i64, result: String) {
    let params = [
        Value::Int64(offset),
        Value::Int64(step),
        Value::Text(result),
    ];
    db::stage(
        "INSERT INTO results (\"offset\", step, result) VALUES ($1, $2, $3)",
        &params,
        Expectation::Exactly(1),
    );
}

guest_common::export!(AllValues);
