//! Asks for a retry at the first two attempts, then credits. When the value mentions `always`, it never
//! stops asking; when it mentions `at-once`, it credits at the first attempt.

use guest_common::{Event, Failure, Guest, Outcome, Postponement, credit, mentions};

struct RetriesTwice;

impl Guest for RetriesTwice {
    fn handle(event: Event) -> Result<Outcome, Failure> {
        let outcome = credit(&event)?;
        if mentions(&event, "always") || (event.attempt < 3 && !mentions(&event, "at-once")) {
            let message = format!("not yet, at attempt {}", event.attempt);
            return Err(Failure::Retry(Postponement {
                message,
                after_ms: None,
            }));
        }
        Ok(outcome)
    }
}

guest_common::export!(RetriesTwice);
