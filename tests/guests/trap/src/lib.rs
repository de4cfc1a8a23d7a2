//! Panics when the value mentions `trap`.

use guest_common::{Event, Failure, Guest, Outcome, credit, mentions};

struct Trap;

impl Guest for Trap {
    fn handle(event: Event) -> Result<Outcome, Failure> {
        let outcome = credit(&event)?;
        assert!(!mentions(&event, "trap"), "told to trap");
        Ok(outcome)
    }
}

guest_common::export!(Trap);
