//! What signals do: some stop the host in good order, the others that would end a process do nothing.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Signals that stop the host: SIGTERM, SIGINT, SIGHUP and SIGQUIT.
pub struct Signals(Vec<Signal>);

/// Signals whose default is to end the process, and which say nothing of it here: whoever sends one means another
/// program (SIGUSR1 to have a log opened anew), or a limit that is met where it is used (SIGXFSZ: the write fails).
/// SIGPIPE is not among them, since Rust ignores it already; nor are those that a fault of this program raises (SIGSEGV,
/// SIGABRT and their like, with a core), nor SIGTSTP and SIGSTOP, after which it goes on.
const FOR_NOTHING: [&str; 9] = [
    "SIGUSR1",
    "SIGUSR2",
    "SIGALRM",
    "SIGVTALRM",
    "SIGPROF",
    "SIGIO",
    "SIGPWR",
    "SIGXCPU",
    "SIGXFSZ",
];

/// SIGSTKFLT, which has no name everywhere.
const SIGSTKFLT: i32 = 16;

/// Linux' real-time signals that a program may use: from what the C library leaves on.
const REAL_TIME: std::ops::RangeInclusive<i32> = 34..=64;

impl Signals {
    /// Takes all of them over, from now on and for good.
    ///
    /// # Errors
    /// The system refuses one of those that stop the host.
    pub fn listen() -> io::Result<Self> {
        ignore();
        let mut kinds = vec![
            SignalKind::terminate(),
            SignalKind::interrupt(),
            SignalKind::quit(),
        ];
        // Under nohup it is ignored from the start, and means nothing.
        if !is_ignored(nix::sys::signal::Signal::SIGHUP as i32) {
            kinds.push(SignalKind::hangup());
        }
        kinds
            .into_iter()
            .map(signal)
            .collect::<io::Result<_>>()
            .map(Self)
    }

    /// Waits for the next of those that stop the host.
    pub async fn next(&mut self) {
        let received = self.0.iter_mut().map(|signal| Box::pin(signal.recv()));
        futures_util::future::select_all(received).await;
    }

    /// Cancels `stop` at the first; a second one ends the process at once, which is safe: whatever was not committed is
    /// rolled back by the database.
    pub async fn cancel(mut self, stop: CancellationToken) {
        self.next().await;
        tracing::info!(
            "stopping: batches are ended and offsets committed; a second signal ends at once"
        );
        stop.cancel();
        self.next().await;
        std::process::exit(130);
    }
}

/// Tokio's handler stays when its listener is dropped, and does nothing then.
fn ignore() {
    let named = FOR_NOTHING
        .iter()
        .filter_map(|name| name.parse::<nix::sys::signal::Signal>().ok());
    let named = named.map(|signal| signal as i32);
    for number in named.chain([SIGSTKFLT]).chain(REAL_TIME) {
        if let Err(error) = signal(SignalKind::from_raw(number)) {
            tracing::debug!(number, %error, "a signal that should do nothing keeps its default");
        }
    }
}

/// Whether the process was started with this signal ignored.
fn is_ignored(number: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (number - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_signals() {
        for name in FOR_NOTHING {
            name.parse::<nix::sys::signal::Signal>().unwrap();
        }
        // Rust's own.
        assert!(is_ignored(nix::sys::signal::Signal::SIGPIPE as i32));
        assert!(!is_ignored(nix::sys::signal::Signal::SIGSEGV as i32));
    }
}
