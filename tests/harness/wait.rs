//! Waiting on conditions. The only sleep of the tests is here.

use std::fmt::Debug;
use std::time::{Duration, Instant};

const STEP: Duration = Duration::from_millis(25);

/// Whole seconds.
pub const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// Milliseconds.
pub const fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Asks `probe` every 25 ms until it answers with a value; panics naming `what` once `deadline` has passed.
pub async fn wait_for<T>(
    deadline: Duration,
    what: &str,
    mut probe: impl AsyncFnMut() -> Option<T>,
) -> T {
    let began = Instant::now();
    loop {
        if let Some(value) = probe().await {
            return value;
        }
        if began.elapsed() > deadline {
            panic!("gave up after {deadline:?} waiting for {what}");
        }
        tokio::time::sleep(STEP).await;
    }
}

/// Asks `probe` every 25 ms until it answers `expected`; panics naming `what` and the last answer.
pub async fn wait_eq<T: PartialEq + Debug>(
    deadline: Duration,
    what: &str,
    expected: T,
    mut probe: impl AsyncFnMut() -> T,
) {
    let began = Instant::now();
    loop {
        let last = probe().await;
        if last == expected {
            return;
        }
        if began.elapsed() > deadline {
            panic!(
                "gave up after {deadline:?} waiting for {what}: wanted {expected:?}, last saw {last:?}"
            );
        }
        tokio::time::sleep(STEP).await;
    }
}

/// The same for threads without a runtime: used while the servers start.
pub(crate) fn wait_blocking<T>(
    deadline: Duration,
    what: &str,
    mut probe: impl FnMut() -> Result<Option<T>, String>,
) -> Result<T, String> {
    let began = Instant::now();
    loop {
        if let Some(value) = probe()? {
            return Ok(value);
        }
        if began.elapsed() > deadline {
            return Err(format!("gave up after {deadline:?} waiting for {what}"));
        }
        std::thread::sleep(STEP);
    }
}
