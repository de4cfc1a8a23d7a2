//! How long a guest computes: the time its call is polled. Waiting, on the database or for a turn on a worker
//! thread, is not polling and costs nothing.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// CPU time of one call. Only the call's own task touches it; it is shared because the engine's callback and
/// the future around the call both need it.
pub(super) struct Meter {
    base: Instant,
    spent: AtomicU64,
    /// When the running poll began, in nanoseconds since `base`.
    since: AtomicU64,
}

impl Meter {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            base: Instant::now(),
            spent: AtomicU64::new(0),
            since: AtomicU64::new(0),
        })
    }

    /// Starts a new budget.
    pub(super) fn reset(&self) {
        self.spent.store(0, Relaxed);
        self.since.store(self.now(), Relaxed);
    }

    /// CPU time since the last reset, the running poll included.
    pub(super) fn spent(&self) -> Duration {
        Duration::from_nanos(self.spent.load(Relaxed)) + self.running()
    }

    /// CPU time since the last reset, between two polls.
    pub(super) fn polled(&self) -> Duration {
        Duration::from_nanos(self.spent.load(Relaxed))
    }

    /// How long the running poll has lasted.
    pub(super) fn running(&self) -> Duration {
        Duration::from_nanos(self.now().saturating_sub(self.since.load(Relaxed)))
    }

    fn now(&self) -> u64 {
        u64::try_from(self.base.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn begin(&self) {
        self.since.store(self.now(), Relaxed);
    }

    fn end(&self) {
        let now = self.now();
        let since = self.since.swap(now, Relaxed);
        self.spent.fetch_add(now.saturating_sub(since), Relaxed);
    }
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
