//! One partition's queue between the poll thread and the partition's worker.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tidegate_core::record::Record;
use tokio::sync::Notify;

use crate::config::QueueLimits;

/// The worker's end: bounded by records and bytes. One task waits on it.
#[derive(Debug)]
pub struct PartitionQueue(Arc<Shared>);

/// Why no record will come after those that are there. Its text says it in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueEnd {
    /// The log does not have the offset that the partition waits for.
    OutOfRange(String),
    /// A batch cannot be read; going on behind it would skip records without a word.
    Unreadable(String),
    /// Released, started anew or closed: somebody's wish.
    Ended(String),
}

impl std::fmt::Display for QueueEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Self::OutOfRange(why) | Self::Unreadable(why) | Self::Ended(why)) = self;
        f.write_str(why)
    }
}

/// The poll thread's end.
#[derive(Debug)]
pub(super) struct Shared {
    limits: QueueLimits,
    state: Mutex<State>,
    news: Notify,
}

#[derive(Debug, Default)]
struct State {
    records: VecDeque<(Record, Instant)>,
    bytes: usize,
    failure: Option<QueueEnd>,
    abandoned: bool,
}

impl PartitionQueue {
    /// Both ends of a new queue.
    pub(super) fn new(limits: QueueLimits) -> (Self, Arc<Shared>) {
        let shared = Arc::new(Shared {
            limits,
            state: Mutex::default(),
            news: Notify::new(),
        });
        (Self(Arc::clone(&shared)), shared)
    }

    /// Waits until at least one record is there, or until [`PartitionQueue::failure`] says that none will come.
    pub async fn wait(&self) {
        loop {
            let news = self.0.news.notified();
            if self.0.has_news() {
                return;
            }
            news.await;
        }
    }

    /// Takes the first records, each with the time it was fetched at: at most `max_records`, at most `max_bytes`, but
    /// always one if one is there.
    pub fn take(&self, max_records: usize, max_bytes: usize) -> Vec<(Record, Instant)> {
        self.0.lock().take(max_records.max(1), max_bytes)
    }

    /// Whether one of the records that are there is such a one.
    pub fn any(&self, is: impl Fn(&Record) -> bool) -> bool {
        self.0.lock().records.iter().any(|(record, _)| is(record))
    }

    /// Records that are there.
    pub fn len(&self) -> usize {
        self.0.lock().records.len()
    }

    /// Whether no record is there.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Why no record will come after those that are there.
    pub fn failure(&self) -> Option<QueueEnd> {
        self.0.lock().failure.clone()
    }
}

impl Drop for PartitionQueue {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.abandoned = true;
        state.records.clear();
        state.bytes = 0;
    }
}

impl State {
    fn take(&mut self, max_records: usize, max_bytes: usize) -> Vec<(Record, Instant)> {
        let mut taken = 0;
        let mut bytes = 0usize;
        for (record, _) in self.records.iter().take(max_records) {
            let size = record.size();
            if taken > 0 && bytes.saturating_add(size) > max_bytes {
                break;
            }
            taken += 1;
            bytes += size;
        }
        self.bytes = self.bytes.saturating_sub(bytes);
        self.records.drain(..taken).collect()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_news(&self) -> bool {
        let state = self.lock();
        !state.records.is_empty() || state.failure.is_some()
    }

    /// Adds a record; true if the partition is to be paused. What still arrives after that is kept, but not
    /// what arrives after a failure: there may be a gap before it.
    pub(super) fn push(&self, record: Record, fetched: Instant) -> bool {
        let mut state = self.lock();
        if state.abandoned || state.failure.is_some() {
            return true;
        }
        state.bytes += record.size();
        state.records.push_back((record, fetched));
        if state.records.len() == 1 {
            self.news.notify_one();
        }
        state.records.len() >= self.limits.max_records || state.bytes >= self.limits.max_bytes
    }

    /// Whether a paused partition may be resumed: its worker is there, and half of the bounds is free.
    pub(super) fn wants_more(&self) -> bool {
        let state = self.lock();
        !state.abandoned
            && state.failure.is_none()
            && state.records.len() <= self.limits.max_records / 2
            && state.bytes <= self.limits.max_bytes / 2
    }

    /// Says that no further record will come; false if that has been said. The first reason stands.
    pub(super) fn fail(&self, end: QueueEnd) -> bool {
        let mut state = self.lock();
        if state.failure.is_some() {
            return false;
        }
        state.failure = Some(end);
        self.news.notify_one();
        true
    }

    /// Whether [`Shared::fail`] has been called.
    pub(super) fn has_failed(&self) -> bool {
        self.lock().failure.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use tidegate_core::record::{Timestamp, TopicPartition};

    fn record(offset: i64, len: usize) -> Record {
        Record {
            source: TopicPartition {
                topic: Arc::from("t"),
                partition: 0,
            },
            offset,
            timestamp: Timestamp::Unknown,
            key: None,
            value: Some(Bytes::from(vec![0; len])),
            headers: Vec::new(),
            unreadable_headers: 0,
        }
    }

    fn put(shared: &Shared, record: Record) -> bool {
        shared.push(record, Instant::now())
    }

    fn limits(max_records: usize, max_bytes: usize) -> QueueLimits {
        QueueLimits {
            max_records,
            max_bytes,
        }
    }

    #[test]
    fn full_at_either_bound_and_wanting_more_at_half() {
        let (queue, shared) = PartitionQueue::new(limits(4, 1 << 20));
        assert!(!put(&shared, record(0, 1)) && !put(&shared, record(1, 1)));
        assert!(!put(&shared, record(2, 1)) && put(&shared, record(3, 1)));
        assert!(!shared.wants_more());
        assert_eq!(queue.take(1, usize::MAX).len(), 1);
        assert!(!shared.wants_more());
        assert_eq!(queue.take(1, usize::MAX).len(), 1);
        assert!(shared.wants_more());
        assert!(put(&shared, record(4, 1 << 20)), "full by bytes");
    }

    #[test]
    fn take_respects_bytes_but_never_returns_nothing() {
        let (queue, shared) = PartitionQueue::new(limits(10, 1 << 20));
        for offset in 0..3 {
            put(&shared, record(offset, 1000));
        }
        assert_eq!(queue.take(10, 1).len(), 1);
        let two = queue.take(10, 2 * (1000 + std::mem::size_of::<Record>()));
        assert_eq!(
            two.iter().map(|(r, _)| r.offset).collect::<Vec<_>>(),
            [1, 2]
        );
        assert!(queue.take(10, 10).is_empty());
    }

    #[tokio::test]
    async fn wait_wakes_for_a_record_and_for_a_failure() {
        let (queue, shared) = PartitionQueue::new(limits(10, 1 << 20));
        let other = Arc::clone(&shared);
        let pushed = tokio::spawn(async move { put(&other, record(0, 1)) });
        queue.wait().await;
        pushed.await.unwrap();
        queue.take(1, 1);
        let end = QueueEnd::OutOfRange("beyond the log".into());
        assert!(shared.fail(end.clone()));
        assert!(!shared.fail(QueueEnd::Ended("later".into())));
        assert!(put(&shared, record(9, 1)), "behind a gap");
        queue.wait().await;
        assert!(queue.is_empty());
        assert_eq!(queue.failure(), Some(end));
    }

    #[test]
    fn an_abandoned_queue_holds_nothing() {
        let (queue, shared) = PartitionQueue::new(limits(10, 1 << 20));
        drop(queue);
        assert!(put(&shared, record(0, 1)));
        assert!(!shared.wants_more());
    }
}
