//! Where the partitions assigned here stand, for the lag. What is given back is gone at once.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    }

    /// Where the log ends.
    pub fn ends(&self, end: i64) {
        self.end.store(end, Relaxed);
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
        let known = |value: &AtomicI64| Some(value.load(Relaxed)).filter(|value| *value != NONE);
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
        place.ends(9);
        assert_eq!(place.lag(), (Some(4), None));
        place.at(12, Some(7));
        assert_eq!(place.lag(), (Some(0), Some(2)));
        place.forget();
        assert_eq!(place.lag(), (None, None));
    }

    #[test]
    fn what_is_no_record_keeps_nobody_behind() {
        let place = Place::default();
        place.ends(9);
        place.at(8, Some(5));
        place.reaches(8, 9);
        assert_eq!(
            place.lag(),
            (Some(0), Some(4)),
            "C is before the last record"
        );
        place.at(8, Some(8));
        assert_eq!(place.lag(), (Some(0), Some(0)));
        place.ends(12);
        assert_eq!(place.lag(), (Some(3), Some(3)));
        place.at(7, Some(7));
        assert_eq!(
            place.lag(),
            (Some(5), Some(5)),
            "a record is still to be handled"
        );
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
