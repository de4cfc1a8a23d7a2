//! A guest's place among those that compute. It is held while the guest is polled and never beyond: a guest that waits, that
//! has ended or that has computed for a tick keeps nobody out, whatever becomes of it.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tidegate_core::turns::Party;
use tokio::time::{Instant, Sleep, sleep_until};

use super::GuestEnv;
use crate::turnstile::{Seat, Turnstile};

/// One store's. Only the store's own task touches it.
pub(super) struct Place(Mutex<Held>);

struct Held {
    seat: Seat,
    /// Since when it is waited for.
    asked: Option<Instant>,
    /// How long this call has waited for it.
    waited: Duration,
}

impl Place {
    pub(super) fn new(places: &Arc<Turnstile>, env: &GuestEnv) -> Arc<Self> {
        let party = Party {
            consumer: Arc::clone(&env.consumer),
            tenant: env.tenant.clone(),
        };
        Arc::new(Self(Mutex::new(Held {
            seat: Seat::new(places, party),
            asked: None,
            waited: Duration::ZERO,
        })))
    }

    /// Lets others compute.
    fn leave(&self) {
        self.held().seat.rise();
    }

    /// Ready once the place is held.
    fn poll_take(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut held = self.held();
        if held.seat.poll_sit(cx).is_pending() {
            held.asked.get_or_insert_with(Instant::now);
            return Poll::Pending;
        }
        if let Some(asked) = held.asked.take() {
            held.waited += asked.elapsed();
        }
        Poll::Ready(())
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The time was over.
#[derive(Debug)]
pub(super) struct Overdue;

/// A call that is polled only while its guest holds a place, for at most `wall`. Waiting for the place is others' doing and
/// does not count.
pub(super) struct Placed<F> {
    call: F,
    place: Arc<Place>,
    began: Instant,
    wall: Duration,
    alarm: Option<Pin<Box<Sleep>>>,
}

impl<F: Future + Unpin> Placed<F> {
    pub(super) fn new(place: Arc<Place>, wall: Duration, call: F) -> Self {
        place.held().waited = Duration::ZERO;
        Self {
            call,
            place,
            began: Instant::now(),
            wall,
            alarm: None,
        }
    }

    fn poll_overdue(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let due = self.began + self.wall + self.place.held().waited;
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep_until(due)));
        if alarm.deadline() != due {
            alarm.as_mut().reset(due);
        }
        alarm.as_mut().poll(cx)
    }
}

impl<F: Future + Unpin> Future for Placed<F> {
    type Output = Result<F::Output, Overdue>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        ready!(self.place.poll_take(cx));
        let polled = Pin::new(&mut self.call).poll(cx);
        self.place.leave();
        if let Poll::Ready(ended) = polled {
            return Poll::Ready(Ok(ended));
        }
        ready!(self.poll_overdue(cx));
        Poll::Ready(Err(Overdue))
    }
}

impl<F> Drop for Placed<F> {
    /// A call that was given up half-way waits for no place.
    fn drop(&mut self) {
        let mut held = self.place.held();
        if held.asked.take().is_some() {
            held.seat.rise();
        }
    }
}
