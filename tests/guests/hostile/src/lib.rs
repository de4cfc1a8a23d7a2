//! Credits, and then does what the JSON field `trick` says: each one runs into a limit, or floods something.

mod floods;
mod statements;

use std::hint::black_box;
use std::time::{Duration, Instant};

use guest_common::{Event, Failure, Guest, Outcome, credit, json};

struct Hostile;

/// Longer than any limit.
const LONG: Duration = Duration::from_secs(3600);

impl Guest for Hostile {
    fn handle(event: Event) -> Result<Outcome, Failure> {
        let outcome = credit(&event)?;
        let value = json(&event);
        let trick = value["trick"].as_str().unwrap_or_default();
        let size = value["size"].as_u64().unwrap_or(1000);
        match trick {
            "" => {}
            "memory" => hoard(),
            "loop" => while black_box(true) {},
            "clock" => while Instant::now().elapsed() < LONG {},
            "sleep" => std::thread::sleep(LONG),
            "recurse" => drop(recurse(0)),
            "panic" => panic!("told to panic"),
            "exit" => std::process::exit(0),
            "stdout" => floods::stdout(size),
            "log" => floods::log(size),
            "log-fields" => floods::log_fields(size),
            "random" => floods::random(size),
            "seed" => floods::random_numbers(size),
            _ => statements::run(trick, size)?,
        }
        Ok(outcome)
    }
}

fn hoard() {
    let mut hoard = Vec::new();
    loop {
        hoard.push(black_box(vec![1_u8; 1 << 20]));
    }
}

#[expect(unconditional_recursion, reason = "the stack is to overflow")]
fn recurse(depth: u64) -> [u64; 8] {
    let mut deeper = recurse(black_box(depth + 1));
    deeper[0] += depth;
    black_box(deeper)
}

guest_common::export!(Hostile);
