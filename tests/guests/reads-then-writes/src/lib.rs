//! Credits as the others do, but reads the balance first and stages the new one: a round trip a record.

use guest_common::{
    Event, Expectation, Failure, Guest, Outcome, Value, db, reject, reject_sql, value,
};

#[derive(serde::Deserialize)]
struct Payment {
    amount_minor: i64,
    account_id: i64,
}

struct ReadsThenWrites;

impl Guest for ReadsThenWrites {
    fn handle(event: Event) -> Result<Outcome, Failure> {
        let payment: Payment = serde_json::from_slice(value(&event))
            .map_err(|e| reject("malformed", e.to_string()))?;
        let account = Value::Int64(payment.account_id);
        let found = db::query(
            "SELECT balance FROM accounts WHERE id = $1",
            std::slice::from_ref(&account),
        );
        let found = found.map_err(reject_sql)?;
        let Some(Value::Int64(balance)) = found.rows.first().and_then(|row| row.first()) else {
            return Err(reject("unknown-account", "there is no such account"));
        };
        let balance = Value::Int64(balance + payment.amount_minor);
        db::stage(
            "UPDATE accounts SET balance = $1 WHERE id = $2",
            &[balance, account],
            Expectation::Exactly(1),
        );
        Ok(Outcome::Done)
    }
}

guest_common::export!(ReadsThenWrites);
