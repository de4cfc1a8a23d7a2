//! What the test guests share: the bindings, and the credit that every one of them does beside its trick.

wit_bindgen::generate!({
    path: "../../../wit/handler@0.1.0",
    world: "handler",
    pub_export_macro: true,
    default_bindings_module: "guest_common",
});

pub use exports::tidegate::handler::message_handler::{Event, Failure, Guest, Outcome};
pub use tidegate::handler::db::{self, Column, Expectation, ResultSet, SqlError, TypedText, Value};
pub use tidegate::handler::log::{self, Level};
pub use tidegate::handler::types::{Header, Postponement, Rejection};

/// The statement of [`credit`].
pub const CREDIT: &str = "UPDATE accounts SET balance = balance + $1 WHERE id = $2";

#[derive(serde::Deserialize)]
struct Payment {
    amount_minor: i64,
    account_id: i64,
}

/// Stages the credit of the record's `{"amount_minor": int, "account_id": int}`.
pub fn credit(event: &Event) -> Result<Outcome, Failure> {
    let payment: Payment =
        serde_json::from_slice(value(event)).map_err(|e| reject("malformed", e.to_string()))?;
    let params = [
        Value::Int64(payment.amount_minor),
        Value::Int64(payment.account_id),
    ];
    db::stage(CREDIT, &params, Expectation::Exactly(1));
    Ok(Outcome::Done)
}

/// The record's value; null is read as empty.
pub fn value(event: &Event) -> &[u8] {
    event.value.as_deref().unwrap_or_default()
}

/// Whether the record's value holds `word` anywhere: how a test switches a guest's trick on.
pub fn mentions(event: &Event, word: &str) -> bool {
    String::from_utf8_lossy(value(event)).contains(word)
}

/// The record's value as JSON; null where it is none.
pub fn json(event: &Event) -> serde_json::Value {
    serde_json::from_slice(value(event)).unwrap_or_default()
}

/// A rejection.
pub fn reject(code: impl Into<String>, message: impl Into<String>) -> Failure {
    Failure::Reject(Rejection {
        code: code.into(),
        message: message.into(),
    })
}

/// A rejection that carries an SQL error: its code is the SQLSTATE, or the error's own code.
pub fn reject_sql(error: SqlError) -> Failure {
    reject(error.sqlstate.unwrap_or(error.code), error.message)
}
