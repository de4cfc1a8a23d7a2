//! Allocates without end when the value mentions `bomb`.

use guest_common::{Event, Failure, Guest, Outcome, credit, mentions};

struct MemoryBomb;

impl Guest for MemoryBomb {
    fn handle(event: Event) -> Result<Outcome, Failure> {
        let outcome = credit(&event)?;
        let mut hoard = Vec::new();
        while mentions(&event, "bomb") {
            hoard.push(std::hint::black_box(vec![1_u8; 1 << 20]));
        }
        Ok(outcome)
    }
}

guest_common::export!(MemoryBomb);
