//! Credits a payment to an account: JSON `{"amount_minor": int, "account_id": int}`.

wit_bindgen::generate!({ path: "../../wit/handler@0.1.0", world: "handler" });

use exports::tidegate::handler::message_handler::{Event, Failure, Guest, Outcome};
use tidegate::handler::db::{self, Expectation, Value};
use tidegate::handler::types::Rejection;

#[derive(serde::Deserialize)]
struct Payment {
    amount_minor: i64,
    account_id: i64,
}

struct Credit;

impl Guest for Credit {
    fn handle(event: Event) -> Result<Outcome, Failure> {
        let payment: Payment =
            serde_json::from_slice(&event.value.unwrap_or_default()).map_err(malformed)?;
        db::stage(
            "UPDATE accounts SET balance = balance + $1 WHERE id = $2",
            &[
                Value::Int64(payment.amount_minor),
                Value::Int64(payment.account_id),
            ],
            Expectation::Exactly(1), // an unknown account rejects the record
        );
        Ok(Outcome::Done)
    }
}

fn malformed(error: serde_json::Error) -> Failure {
    let message = error.to_string();
    Failure::Reject(Rejection {
        code: "malformed".into(),
        message,
    })
}

export!(Credit);
