//! Asks for a retry while the table `gate` is empty, when the value mentions `until-open`; else it credits.

use guest_common::{
    Event, Failure, Guest, Outcome, Postponement, credit, db, mentions, reject_sql,
};

struct WaitsForGate;

impl Guest for WaitsForGate {
    fn handle(event: Event) -> Result<Outcome, Failure> {
        if mentions(&event, "until-open") && !is_open()? {
            return Err(Failure::Retry(Postponement {
                message: "the gate is shut".to_owned(),
                after_ms: Some(300),
            }));
        }
        credit(&event)
    }
}

fn is_open() -> Result<bool, Failure> {
    let gate = db::query("SELECT 1 FROM gate", &[]).map_err(reject_sql)?;
    Ok(!gate.rows.is_empty())
}

guest_common::export!(WaitsForGate);
