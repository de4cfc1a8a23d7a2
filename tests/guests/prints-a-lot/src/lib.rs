//! Credits; when the value mentions `print`, floods stdout, stderr and the log with 1 MiB each, then
//! writes lines that are no UTF-8 and one that has no end.

use std::io::Write as _;

use guest_common::{Event, Failure, Guest, Level, Outcome, credit, log, mentions};

struct PrintsALot;

impl Guest for PrintsALot {
    fn handle(event: Event) -> Result<Outcome, Failure> {
        if mentions(&event, "print") {
            flood();
        }
        credit(&event)
    }
}

fn flood() {
    let line = "x".repeat(1023);
    for number in 0..1024 {
        println!("{line}");
        eprintln!("{line}");
        log::write(Level::Info, &line, &[("number".into(), number.to_string())]);
    }
    let mut stderr = std::io::stderr();
    drop(stderr.write_all(b"\xff\xfe\x00\n"));
    drop(stderr.write_all(&[b'y'; 64 << 10]));
}

guest_common::export!(PrintsALot);
