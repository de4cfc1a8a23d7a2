//! The host with faults armed, as the variable `TIDEGATE_FAULTS` names them; else it is `tidegate`, with all its commands.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tidegate::faults;
use tidegate_tests::{Action, FAULTS, Fault, Point, millis};

fn main() -> ExitCode {
    let armed = std::env::var(FAULTS).map_or(Ok(()), |text| arm(&text));
    match armed {
        Ok(()) => tidegate::cli::main(),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn arm(text: &str) -> Result<(), String> {
    let all = Fault::list(text)?;
    for point in Point::ALL {
        let mine = all.iter().filter(|fault| fault.point == point);
        let mine: Vec<_> = mine.map(|f| (f.clone(), AtomicU64::new(0))).collect();
        if !mine.is_empty() {
            faults::arm(point, move |offset| {
                mine.iter()
                    .for_each(|(fault, passes)| pass(fault, passes, offset));
            })?;
        }
    }
    Ok(())
}

fn pass(fault: &Fault, passes: &AtomicU64, offset: i64) {
    if offset >= fault.from && passes.fetch_add(1, Ordering::SeqCst) + 1 == fault.pass {
        eprintln!("fault: {fault}, passed with {offset}");
        act(&fault.action);
    }
}

#[expect(clippy::panic, reason = "to panic is what a fault is asked for")]
fn act(action: &Action) {
    match action {
        Action::Kill => end(),
        Action::KillAfter(time) => {
            stand_still(*time);
            end();
        }
        Action::Stop => send(Signal::SIGSTOP),
        Action::Panic => panic!("a fault was to panic here"),
        Action::PauseUntil(file) => {
            while !file.exists() {
                stand_still(millis(10));
            }
        }
    }
}

/// Nothing runs after it: the signal is this process's own, and no other thread can have it blocked.
fn end() {
    loop {
        send(Signal::SIGKILL);
    }
}

fn send(signal: Signal) {
    // The process may always signal itself.
    let _sent = kill(Pid::this(), signal);
}

fn stand_still(time: Duration) {
    std::thread::sleep(time);
}
