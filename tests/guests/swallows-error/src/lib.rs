//! Credits; when the value mentions `swallow`, then runs a statement that fails, ignores the error and
//! returns done. The statement is the value's JSON field `sql`, or a division by zero.

use guest_common::{Event, Failure, Guest, Outcome, credit, db, json, mentions};

struct SwallowsError;

impl Guest for SwallowsError {
    fn handle(event: Event) -> Result<Outcome, Failure> {
        let outcome = credit(&event)?;
        if mentions(&event, "swallow") {
            let sql = json(&event)["sql"]
                .as_str()
                .unwrap_or("SELECT 1 / 0")
                .to_owned();
            drop(db::query(&sql, &[]));
        }
        Ok(outcome)
    }
}

guest_common::export!(SwallowsError);
