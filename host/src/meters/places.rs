//! Where the partitions assigned here stand, for the lag. What is given back is gone at once.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tidegate_core::readiness::Stillness;
use tidegate_core::record::TopicPartition;
use tokio::sync::Notify;

/// Not known.
const NONE: i64 = -1;

/// Where one partition stands.
#[derive(Debug)]
pub struct Place {
    next: AtomicI64,
    acknowledged: AtomicI64,
    end: AtomicI64,
    after: AtomicI64,
    reached: AtomicI64,
    held_back: AtomicI64,
    /// The end, where it was seen to be before N.
    cut: AtomicI64,
    /// When the partition was assigned here.
    entered: Instant,
    stillness: Mutex<Stillness>,
}

fn known(value: &AtomicI64) -> Option<i64> {
    Some(value.load(Relaxed)).filter(|value| *value != NONE)
}

impl Default for Place {
    fn default() -> Self {
        let none = || AtomicI64::new(NONE);
        Self {
            next: none(),
            acknowledged: none(),
            end: none(),
            after: none(),
            reached: none(),
            held_back: none(),
            cut: none(),
            entered: Instant::now(),
            stillness: Mutex::default(),
        }
    }
}

impl Place {
    /// N, and C as Kafka acknowledged it.
    pub fn at(&self, next: i64, acknowledged: Option<i64>) {
        self.next.store(next, Relaxed);
        self.acknowledged
            .store(acknowledged.unwrap_or(NONE), Relaxed);
    }

    /// Somebody else has the position: what is known of it here says nothing any more.
    pub fn forget(&self) {
        self.at(NONE, None);
        self.holds(false);
    }

    /// Whether there are records to handle at N.
    pub fn holds(&self, records: bool) {
        let (next, now) = (self.next.load(Relaxed), self.age());
        self.stillness().seen(next, records, now);
    }

    /// For how long there have been records to handle without a batch being committed.
    pub fn still(&self) -> Option<Duration> {
        let now = self.age();
        self.stillness().time(now)
    }

    /// Whether the position is had.
    pub fn is_placed(&self) -> bool {
        self.next.load(Relaxed) != NONE
    }

    /// How long ago the partition was assigned here.
    pub fn age(&self) -> Duration {
        self.entered.elapsed()
    }

    fn stillness(&self) -> MutexGuard<'_, Stillness> {
        self.stillness
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// N, where it is known.
    pub fn next(&self) -> Option<i64> {
        known(&self.next)
    }

    /// Where the log ends, asked for when N was `next`. A log that ends before it has been cut.
    pub fn ends(&self, end: i64, next: Option<i64>) {
        self.end.store(end, Relaxed);
        let cut = next.is_some_and(|next| end < next);
        self.cut.store(if cut { end } else { NONE }, Relaxed);
    }

    /// Where the log ends, if it was seen to end before N.
    pub fn cut_at(&self) -> Option<i64> {
        known(&self.cut).filter(|end| self.next().is_some_and(|next| *end < next))
    }

    /// From `after` to before `to` the log holds no record that anybody will see.
    pub fn reaches(&self, after: i64, to: i64) {
        self.after.store(after, Relaxed);
        self.reached.store(to, Relaxed);
    }

    /// How many offsets an open transaction holds back.
    pub fn holds_back(&self, offsets: Option<i64>) {
        self.held_back.store(offsets.unwrap_or(NONE), Relaxed);
    }

    /// How many offsets an open transaction holds back, where that is known.
    pub fn held_back(&self) -> Option<i64> {
        Some(self.held_back.load(Relaxed)).filter(|value| *value != NONE)
    }

    /// How far N and C are behind the end, where they are known: what is no record, such as a transaction's marker, keeps
    /// nobody behind.
    pub fn lag(&self) -> (Option<i64>, Option<i64>) {
        let (end, after, reached) = (known(&self.end), known(&self.after), known(&self.reached));
        let seen = |at: i64| match after.zip(reached) {
            Some((after, reached)) if after <= at && at < reached => reached,
            _ => at,
        };
        // The end is asked for now and then: N may be beyond it.
        let behind = |value| Some((end? - seen(known(value)?)).max(0));
        (behind(&self.next), behind(&self.acknowledged))
    }
}

/// The partitions assigned here.
#[derive(Debug, Default)]
pub(super) struct Places {
    held: Mutex<HashMap<TopicPartition, Arc<Place>>>,
    /// Rung when one is added.
    pub(super) added: Notify,
}

impl Places {
    fn held(&self) -> MutexGuard<'_, HashMap<TopicPartition, Arc<Place>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn enter(self: &Arc<Self>, source: &TopicPartition) -> Stay {
        let place = Arc::<Place>::default();
        self.held().insert(source.clone(), Arc::clone(&place));
        self.added.notify_one();
        Stay {
            places: Arc::clone(self),
            source: source.clone(),
            place,
        }
    }

    pub(super) fn of(&self, source: &TopicPartition) -> Option<Arc<Place>> {
        self.held().get(source).cloned()
    }

    pub(super) fn all(&self) -> Vec<(TopicPartition, Arc<Place>)> {
        let held = self.held();
        held.iter().map(|(s, p)| (s.clone(), p.clone())).collect()
    }
}

/// A partition's stay with this host, from its assignment until this is dropped.
pub struct Stay {
    places: Arc<Places>,
    source: TopicPartition,
    /// Where it stands.
    pub place: Arc<Place>,
}

impl Drop for Stay {
    fn drop(&mut self) {
        let mut held = self.places.held();
        if held
            .get(&self.source)
            .is_some_and(|p| Arc::ptr_eq(p, &self.place))
        {
            held.remove(&self.source);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source() -> TopicPartition {
        let topic = Arc::from("t");
        TopicPartition {
            topic,
            partition: 0,
        }
    }

    #[test]
    fn lag_is_told_where_both_ends_are_known() {
        let place = Place::default();
        assert_eq!(place.lag(), (None, None));
        place.at(5, None);
        assert_eq!(place.lag(), (None, None));
        place.ends(9, place.next());
        assert_eq!(place.lag(), (Some(4), None));
        place.at(12, Some(7));
        assert_eq!(place.lag(), (Some(0), Some(2)));
        place.forget();
        assert_eq!(place.lag(), (None, None));
    }

    #[test]
    fn what_is_no_record_keeps_nobody_behind() {
        let place = Place::default();
        place.ends(9, None);
        place.at(8, Some(5));
        place.reaches(8, 9);
        assert_eq!(
            place.lag(),
            (Some(0), Some(4)),
            "C is before the last record"
        );
        place.at(8, Some(8));
        assert_eq!(place.lag(), (Some(0), Some(0)));
        place.ends(12, None);
        assert_eq!(place.lag(), (Some(3), Some(3)));
        place.at(7, Some(7));
        assert_eq!(
            place.lag(),
            (Some(5), Some(5)),
            "a record is still to be handled"
        );
    }

    #[test]
    fn a_log_that_ends_before_n_was_when_it_was_asked_for_is_cut() {
        let place = Place::default();
        place.at(5, None);
        // N went on while the end was on its way.
        let asked = place.next();
        place.at(9, None);
        place.ends(7, asked);
        assert_eq!(place.cut_at(), None);
        place.ends(7, place.next());
        assert_eq!(place.cut_at(), Some(7));
        place.at(7, None);
        assert_eq!(place.cut_at(), None, "the position was put elsewhere");
        place.at(9, None);
        place.ends(12, place.next());
        assert_eq!(place.cut_at(), None);
    }

    #[test]
    fn what_has_left_is_gone_but_not_who_came_after() {
        let places = Arc::<Places>::default();
        let old = places.enter(&source());
        let new = places.enter(&source());
        drop(old);
        assert_eq!(places.all().len(), 1);
        drop(new);
        assert!(places.all().is_empty() && places.of(&source()).is_none());
    }
}
