//! How long a guest computes: the CPU time of its thread while its call is polled. Waiting, on the database or for a turn
//! on a worker thread, is not polling and costs nothing; nor does it when the machine has the thread wait for a core.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// CPU time of one call. Only the call's own task touches it, and within a poll only one thread; it is shared because the
/// engine's callback and the future around the call both need it.
pub(super) struct Meter {
    spent: AtomicU64,
    /// The thread's CPU time when the running poll began, in nanoseconds.
    since: AtomicU64,
}

impl Meter {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            spent: AtomicU64::new(0),
            since: AtomicU64::new(now()),
        })
    }

    /// Starts a new budget.
    pub(super) fn reset(&self) {
        self.spent.store(0, Relaxed);
    }

    /// CPU time since the last reset, the running poll included.
    pub(super) fn spent(&self) -> Duration {
        self.polled() + self.running()
    }

    /// CPU time since the last reset, between two polls.
    pub(super) fn polled(&self) -> Duration {
        Duration::from_nanos(self.spent.load(Relaxed))
    }

    /// How long the running poll has computed.
    pub(super) fn running(&self) -> Duration {
        Duration::from_nanos(now().saturating_sub(self.since.load(Relaxed)))
    }

    fn begin(&self) {
        self.since.store(now(), Relaxed);
    }

    fn end(&self) {
        let polled = now().saturating_sub(self.since.load(Relaxed));
        self.spent.fetch_add(polled, Relaxed);
    }
}

/// CPU time of this thread, in nanoseconds.
fn now() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanoseconds = u64::try_from(time.tv_nsec).unwrap_or_default();
    seconds
        .saturating_mul(1_000_000_000)
        .saturating_add(nanoseconds)
}

/// A call whose polls are timed.
pub(super) struct Metered<F> {
    future: Pin<Box<F>>,
    meter: Arc<Meter>,
}

impl<F: Future> Metered<F> {
    /// `future` is boxed: a call's future is large.
    pub(super) fn new(meter: Arc<Meter>, future: F) -> Self {
        Self {
            future: Box::pin(future),
            meter,
        }
    }
}

impl<F: Future> Future for Metered<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.meter.begin();
        let polled = self.future.as_mut().poll(cx);
        self.meter.end();
        polled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_sleeps_spends_nothing() {
        let meter = Meter::new();
        meter.begin();
        std::thread::sleep(Duration::from_millis(200));
        meter.end();
        assert!(meter.polled() < Duration::from_millis(100));
        meter.begin();
        while meter.running() < Duration::from_millis(20) {}
        meter.end();
        assert!(meter.polled() >= Duration::from_millis(20));
    }
}
