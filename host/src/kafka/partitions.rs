//! Which partitions are ours, which of them are fetched, and which are paused.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rdkafka::Message;
use rdkafka::message::BorrowedMessage;
use tidegate_core::record::TopicPartition;

use super::convert;
use super::queue::Shared;

/// The poll thread's table of partitions.
#[derive(Default)]
pub(super) struct Partitions {
    assigned: HashSet<TopicPartition>,
    started: HashMap<Arc<str>, HashMap<i32, Started>>,
    /// How many are paused: a poll without any needs no look through the table.
    paused: usize,
}

/// A partition that is fetched.
pub(super) struct Started {
    source: TopicPartition,
    queue: Arc<Shared>,
    /// The next offset; gaps are fine, steps back are not.
    expected: i64,
    paused: bool,
}

impl Partitions {
    /// `tps` are ours now.
    pub(super) fn assign(&mut self, tps: &[TopicPartition]) {
        self.assigned.extend(tps.iter().cloned());
    }

    /// `tps` are to be handed over: none of them may be started any more.
    pub(super) fn revoke(&mut self, tps: &[TopicPartition]) {
        for tp in tps {
            self.assigned.remove(tp);
        }
    }

    pub(super) fn is_assigned(&self, tp: &TopicPartition) -> bool {
        self.assigned.contains(tp)
    }

    /// `tp` is fetched from `offset` on, into `queue`.
    pub(super) fn start(&mut self, tp: &TopicPartition, offset: i64, queue: Arc<Shared>) {
        self.stop(tp, "the partition was started anew");
        let started = Started {
            source: tp.clone(),
            queue,
            expected: offset,
            paused: false,
        };
        let topic = self.started.entry(Arc::clone(&tp.topic)).or_default();
        topic.insert(tp.partition, started);
    }

    /// `tp` is no longer fetched; whether it was.
    pub(super) fn stop(&mut self, tp: &TopicPartition, why: &str) -> bool {
        let topic = self.started.get_mut(&tp.topic);
        let Some(started) = topic.and_then(|t| t.remove(&tp.partition)) else {
            return false;
        };
        self.paused -= usize::from(started.paused);
        started.queue.fail(why);
        true
    }

    /// Puts a message into its partition's queue. Returns the partition if it is to be paused now.
    pub(super) fn deliver(&mut self, message: &BorrowedMessage<'_>) -> Option<TopicPartition> {
        let topic = self.started.get_mut(message.topic())?;
        let started = topic.get_mut(&message.partition())?;
        if message.offset() < started.expected {
            return None;
        }
        started.expected = message.offset() + 1;
        let record = convert::record(message, started.source.clone());
        let full = started.queue.push(record);
        if !full || started.paused {
            return None;
        }
        started.paused = true;
        self.paused += 1;
        Some(started.source.clone())
    }

    /// Pausing `tp` failed: it will be tried again with the next record.
    pub(super) fn not_paused(&mut self, tp: &TopicPartition) {
        let topic = self.started.get_mut(&tp.topic);
        if let Some(started) = topic.and_then(|t| t.get_mut(&tp.partition)) {
            self.paused -= usize::from(started.paused);
            started.paused = false;
        }
    }

    /// The paused partitions whose queues have room again; from now on they count as resumed.
    pub(super) fn take_resumable(&mut self) -> Vec<TopicPartition> {
        if self.paused == 0 {
            return Vec::new();
        }
        let all = self.started.values_mut().flat_map(HashMap::values_mut);
        let mut resumable = Vec::new();
        for started in all.filter(|s| s.paused && s.queue.wants_more()) {
            started.paused = false;
            resumable.push(started.source.clone());
        }
        self.paused -= resumable.len();
        resumable
    }

    /// Resuming `tps` failed: they are still paused.
    pub(super) fn still_paused(&mut self, tps: &[TopicPartition]) {
        for tp in tps {
            let topic = self.started.get_mut(&tp.topic);
            if let Some(started) = topic.and_then(|t| t.get_mut(&tp.partition)) {
                self.paused += usize::from(!started.paused);
                started.paused = true;
            }
        }
    }

    /// Whether a fetched partition has come to grief already.
    pub(super) fn has_failed(&self) -> bool {
        let mut all = self.started.values().flat_map(HashMap::values);
        all.any(|s| s.queue.has_failed())
    }

    /// Every partition still fetched and the offset it waits for.
    pub(super) fn positions(&self) -> Vec<(TopicPartition, i64)> {
        let all = self.started.values().flat_map(HashMap::values);
        let sound = all.filter(|s| !s.queue.has_failed());
        sound.map(|s| (s.source.clone(), s.expected)).collect()
    }

    /// Ends `tp`'s queue, if it still waits for `expected` and has not ended; whether it has now.
    pub(super) fn fail(&self, tp: &TopicPartition, expected: i64, why: &str) -> bool {
        let started = self
            .started
            .get(&tp.topic)
            .and_then(|t| t.get(&tp.partition));
        started.is_some_and(|s| s.expected == expected && s.queue.fail(why))
    }

    /// Ends everything.
    pub(super) fn clear(&mut self, why: &str) -> Vec<TopicPartition> {
        let all = self.started.values().flat_map(HashMap::values);
        let tps: Vec<_> = all.map(|s| s.source.clone()).collect();
        for tp in &tps {
            self.stop(tp, why);
        }
        self.assigned.clear();
        tps
    }
}
