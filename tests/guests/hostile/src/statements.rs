//! Statements that are too many, too large or too deep.

use guest_common::{Expectation, Failure, Value, db, reject, reject_sql};

/// Answers `$1`, and touches nothing.
const NOTHING: &str = "UPDATE accounts SET balance = balance WHERE id = -1 AND $1::text IS NULL";

pub fn run(trick: &str, size: u64) -> Result<(), Failure> {
    let length = usize::try_from(size).unwrap_or(usize::MAX);
    match trick {
        "statements" => (0..size).try_for_each(|_| rows(1)),
        "results" => (0..10).try_for_each(|_| rows(size)),
        "result-rows" => rows(size),
        "result-bytes" => ask("SELECT repeat('x', $1)", &[Value::Int64(signed(size))]),
        "stage" => {
            (0..size).for_each(|_| stage(String::new()));
            Ok(())
        }
        "stage-bytes" => {
            (0..10).for_each(|_| stage("x".repeat(length)));
            Ok(())
        }
        "parameter-bytes" => ask("SELECT length($1)", &[Value::Text("x".repeat(length))]),
        "parameter-values" => ask(
            "SELECT cardinality($1::bigint[])",
            &[Value::Int64Array(vec![None; length])],
        ),
        "nulls" => ask("SELECT 1", &vec![Value::Null; length]),
        "nesting" => {
            let json = format!("{}{}", "[".repeat(length), "]".repeat(length));
            ask("SELECT pg_typeof($1::jsonb)::text", &[Value::Json(json)])
        }
        other => Err(reject("no-such-trick", other)),
    }
}

fn rows(count: u64) -> Result<(), Failure> {
    ask(
        "SELECT generate_series(1, $1)",
        &[Value::Int64(signed(count))],
    )
}

fn ask(sql: &str, params: &[Value]) -> Result<(), Failure> {
    db::query(sql, params).map(drop).map_err(reject_sql)
}

fn stage(text: String) {
    db::stage(NOTHING, &[Value::Text(text)], Expectation::Any);
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
