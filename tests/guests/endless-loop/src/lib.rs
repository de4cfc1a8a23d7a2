//! Computes for ever when the value mentions `loop`.

use guest_common::{Event, Failure, Guest, Outcome, credit, mentions};

struct EndlessLoop;

impl Guest for EndlessLoop {
    fn handle(event: Event) -> Result<Outcome, Failure> {
        let outcome = credit(&event)?;
        let mut turns = 0_u64;
        while mentions(&event, "loop") {
            turns = std::hint::black_box(turns.wrapping_add(1));
        }
        Ok(outcome)
    }
}

guest_common::export!(EndlessLoop);
