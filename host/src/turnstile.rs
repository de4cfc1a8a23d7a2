//! Waiting for a place, in turns: what drives `tidegate_core::turns`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tidegate_core::turns::{Asked, Party, Places, Ticket};

/// Places that many share. Each operation holds its lock for a moment.
#[derive(Debug)]
pub struct Turnstile(Mutex<State>);

#[derive(Debug)]
struct State {
    places: Places,
    /// Of everyone who waits, and of nobody else.
    wakers: HashMap<Ticket, Waker>,
}

impl Turnstile {
    /// For these places.
    pub fn new(places: Places) -> Arc<Self> {
        Arc::new(Self(Mutex::new(State {
            places,
            wakers: HashMap::new(),
        })))
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.state().places.waiting()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One party's way to a place. Dropped, it gives the place back, or waits no more.
#[derive(Debug)]
pub struct Seat {
    turnstile: Arc<Turnstile>,
    party: Party,
    stands: Stands,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stands {
    Away,
    Waits(Ticket),
    Seated,
}

impl Seat {
    /// Holds no place yet.
    pub fn new(turnstile: &Arc<Turnstile>, party: Party) -> Self {
        Self {
            turnstile: Arc::clone(turnstile),
            party,
            stands: Stands::Away,
        }
    }

    /// Whether it holds a place.
    pub fn is_seated(&self) -> bool {
        self.stands == Stands::Seated
    }

    /// Takes a place, or waits for one.
    pub async fn sit(&mut self) {
        std::future::poll_fn(|cx| self.poll_sit(cx)).await;
    }

    /// The same, polled.
    pub fn poll_sit(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.stands = match self.stands {
            Stands::Seated => return Poll::Ready(()),
            Stands::Away => self.ask(cx),
            Stands::Waits(ticket) => {
                let mut state = self.turnstile.state();
                match state.wakers.get_mut(&ticket) {
                    Some(waker) => {
                        waker.clone_from(cx.waker());
                        Stands::Waits(ticket)
                    }
                    None => Stands::Seated,
                }
            }
        };
        match self.is_seated() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }

    fn ask(&self, cx: &mut Context<'_>) -> Stands {
        let mut state = self.turnstile.state();
        match state.places.ask(&self.party) {
            Asked::Now => Stands::Seated,
            Asked::Later(ticket) => {
                state.wakers.insert(ticket, cx.waker().clone());
                Stands::Waits(ticket)
            }
        }
    }

    /// Gives the place back, to whoever is next, or waits no more.
    pub fn rise(&mut self) {
        let stood = std::mem::replace(&mut self.stands, Stands::Away);
        if stood == Stands::Away {
            return;
        }
        let mut state = self.turnstile.state();
        if let Stands::Waits(ticket) = stood {
            state.wakers.remove(&ticket);
            if state.places.withdraw(ticket) {
                return;
            }
        }
        let served = state.places.give_back(&self.party.consumer);
        let next = served
            .iter()
            .filter_map(|ticket| state.wakers.remove(ticket));
        let next: Vec<Waker> = next.collect();
        drop(state);
        next.into_iter().for_each(Waker::wake);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.rise();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seat(turnstile: &Arc<Turnstile>, consumer: &str) -> Seat {
        let party = Party {
            consumer: consumer.into(),
            tenant: None,
        };
        Seat::new(turnstile, party)
    }

    #[tokio::test]
    async fn a_place_goes_to_whoever_is_next_and_none_is_lost_to_who_gave_up() {
        let turnstile = Turnstile::new(Places::new(1));
        let mut first = seat(&turnstile, "a");
        first.sit().await;
        let mut cx = Context::from_waker(Waker::noop());
        let (mut gone, mut served) = (seat(&turnstile, "a"), seat(&turnstile, "b"));
        assert!(gone.poll_sit(&mut cx).is_pending());
        assert!(served.poll_sit(&mut cx).is_pending());
        drop(gone);
        assert_eq!(turnstile.waiting(), 1);
        first.rise();
        // Served and dropped before it heard of it: the place is the next one's.
        drop(served);
        seat(&turnstile, "c").sit().await;
        assert_eq!(turnstile.waiting(), 0);
    }
}
