//! Rejects when the value mentions `reject`, with the code in the value's JSON field `code`.
//!
//! With a JSON field `until_round` it credits from that replay on. `write-then-reject` stages the credit first; `execute-then-reject` awaits it first.

use guest_common::{
    CREDIT, Event, Failure, Guest, Outcome, Value, credit, db, json, mentions, reject,
};

struct Rejects;

impl Guest for Rejects {
    fn handle(event: Event) -> Result<Outcome, Failure> {
        if !mentions(&event, "reject") {
            return credit(&event);
        }
        let payment = json(&event);
        if payment["until_round"]
            .as_u64()
            .is_some_and(|round| u64::from(event.replay_round) >= round)
        {
            return credit(&event);
        }
        if mentions(&event, "write-then-reject") {
            credit(&event)?;
        }
        if mentions(&event, "execute-then-reject") {
            let number = |field: &str| Value::Int64(payment[field].as_i64().unwrap_or_default());
            let params = [number("amount_minor"), number("account_id")];
            db::execute(CREDIT, &params).map_err(guest_common::reject_sql)?;
        }
        Err(reject(
            payment["code"].as_str().unwrap_or("rejected"),
            "told to reject",
        ))
    }
}

guest_common::export!(Rejects);
