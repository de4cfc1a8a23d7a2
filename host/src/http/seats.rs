//! Who may be connected: so many at once and from one address. Who comes beyond that takes the place of whoever has
//! been idle for longest, so that a probe never waits behind those who only connect.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The most connections at once.
const MOST: usize = 256;
/// The most of one address: as many others can be served beside it.
const EACH: usize = 128;
/// For how long a connection that has asked for nothing keeps its place in any case: a request that was sent with it is
/// read by then.
const ARRIVING: Duration = Duration::from_millis(50);
/// The same, of one that has: an answer is taken by then.
const ASKING: Duration = Duration::from_millis(500);

/// All connections of a server.
#[derive(Default)]
pub(super) struct Seats {
    taken: Mutex<Vec<Taken>>,
    next: AtomicU64,
    /// Rung when one becomes free.
    freed: Notify,
}

/// One connection's place, until it is dropped.
pub(super) struct Seat {
    seats: Arc<Seats>,
    number: u64,
    /// Cancelled when somebody else has the place.
    pub(super) lost: CancellationToken,
}

struct Taken {
    number: u64,
    address: IpAddr,
    /// When it came, or asked for something last.
    since: Instant,
    asked: bool,
    lost: CancellationToken,
}

/// Whether there is room for one more.
#[derive(Debug, PartialEq, Eq)]
enum Room {
    Free,
    /// In the place of this one.
    InsteadOf(usize),
    /// In somebody's place from then on.
    From(Instant),
}

impl Seats {
    /// Waits for a place, which takes less than [`ASKING`].
    pub(super) async fn take(self: &Arc<Self>, address: IpAddr) -> Seat {
        loop {
            match self.try_take(address, Instant::now()) {
                Ok((number, lost)) => {
                    let seats = Arc::clone(self);
                    return Seat {
                        seats,
                        number,
                        lost,
                    };
                }
                Err(later) => tokio::select! {
                    () = tokio::time::sleep_until(later.into()) => {}
                    () = self.freed.notified() => {}
                },
            }
        }
    }

    fn try_take(&self, address: IpAddr, now: Instant) -> Result<(u64, CancellationToken), Instant> {
        let mut taken = self.taken();
        match room(&taken, address, now) {
            Room::Free => {}
            Room::InsteadOf(index) => taken.swap_remove(index).lost.cancel(),
            Room::From(later) => return Err(later),
        }
        let (number, lost) = (self.next.fetch_add(1, Relaxed), CancellationToken::new());
        taken.push(Taken {
            number,
            address,
            since: now,
            asked: false,
            lost: lost.clone(),
        });
        Ok((number, lost))
    }

    fn taken(&self) -> MutexGuard<'_, Vec<Taken>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn room(taken: &[Taken], address: IpAddr, now: Instant) -> Room {
    let of_address = taken.iter().filter(|t| t.address == address).count();
    let crowded = of_address >= EACH;
    if !crowded && taken.len() < MOST {
        return Room::Free;
    }
    let beside = |t: &Taken| !crowded || t.address == address;
    let others = taken.iter().enumerate().filter(|(_, t)| beside(t));
    match others.min_by_key(|(_, t)| t.may_go_at()) {
        Some((_, first)) if first.may_go_at() > now => Room::From(first.may_go_at()),
        Some((index, _)) => Room::InsteadOf(index),
        None => Room::Free,
    }
}

impl Taken {
    fn may_go_at(&self) -> Instant {
        self.since + if self.asked { ASKING } else { ARRIVING }
    }
}

impl Seat {
    /// A request has come whole.
    pub(super) fn asks(&self) {
        let mut taken = self.seats.taken();
        if let Some(own) = taken.iter_mut().find(|t| t.number == self.number) {
            (own.since, own.asked) = (Instant::now(), true);
        }
    }

    /// When the connection came, or asked for something last; none once somebody else has the place.
    pub(super) fn since(&self) -> Option<Instant> {
        let taken = self.seats.taken();
        let own = taken.iter().find(|t| t.number == self.number);
        own.map(|own| own.since)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.seats.taken().retain(|t| t.number != self.number);
        self.seats.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(address: u8, since: Instant, asked: bool) -> Taken {
        Taken {
            number: 0,
            address: IpAddr::from([10, 0, 0, address]),
            since,
            asked,
            lost: CancellationToken::new(),
        }
    }

    fn asks(taken: &[Taken], address: u8, now: Instant) -> Room {
        room(taken, IpAddr::from([10, 0, 0, address]), now)
    }

    #[test]
    fn an_address_that_has_its_share_gives_up_its_own_oldest_and_others_none() {
        let start = Instant::now();
        let mut all: Vec<_> = (0..EACH)
            .map(|_| taken(1, start + ARRIVING, false))
            .collect();
        all.push(taken(2, start, false));
        all[7].since = start;
        assert_eq!(asks(&all, 2, start), Room::Free);
        assert_eq!(asks(&all, 1, start), Room::From(start + ARRIVING));
        assert_eq!(asks(&all, 1, start + ARRIVING), Room::InsteadOf(7));
    }

    #[test]
    fn all_places_taken_cost_the_oldest_that_asks_for_nothing() {
        let start = Instant::now();
        let mut all: Vec<_> = (0..MOST)
            .map(|n| taken(u8::try_from(n % 8).unwrap(), start, true))
            .collect();
        all[100] = taken(9, start + ARRIVING, false);
        assert_eq!(asks(&all, 20, start + 2 * ARRIVING), Room::InsteadOf(100));
        all[100].asked = true;
        let later = asks(&all, 20, start + 2 * ARRIVING);
        assert_eq!(later, Room::From(start + ASKING));
    }
}
