//! Which partitions are ours, which of them are fetched, and which are paused.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use rdkafka::Message;
use rdkafka::message::BorrowedMessage;
use tidegate_core::record::{Record, TopicPartition};

use super::convert;
use super::queue::{QueueEnd, Shared};
use super::sequence::{Arrival, Sequence};
use super::statistics::{Fetched, Reach};
use crate::faults::{self, Point};

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
    sequence: Sequence,
    paused: bool,
    /// What is said first after the start may still be of before it.
    heard: bool,
}

/// What became of a message.
pub(super) enum Delivery {
    /// It is in its queue, or nobody wants it.
    Taken,
    /// Its partition is to be paused now.
    Full(TopicPartition),
    /// Its partition has been ended like this, and is to be paused now.
    Skipped(TopicPartition, QueueEnd),
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

    /// How many are ours.
    pub(super) fn assigned(&self) -> usize {
        self.assigned.len()
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
            sequence: Sequence::new(offset),
            paused: false,
            heard: false,
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
        started.queue.fail(QueueEnd::Ended(why.to_owned()));
        true
    }

    /// Puts a message, fetched `now`, into its partition's queue.
    pub(super) fn deliver(&mut self, message: &BorrowedMessage<'_>, now: Instant) -> Delivery {
        let topic = self.started.get_mut(message.topic());
        let Some(started) = topic.and_then(|t| t.get_mut(&message.partition())) else {
            return Delivery::Taken;
        };
        let before = started.paused;
        let delivery = started.take(message, now);
        self.paused += usize::from(started.paused && !before);
        delivery
    }

    /// Some batch could not be read, and nobody is to blame: each sound partition's next record is looked at.
    pub(super) fn suspect(&mut self, reason: &str) {
        let all = self.started.values_mut().flat_map(HashMap::values_mut);
        for started in all.filter(|s| !s.queue.has_failed()) {
            started.sequence.suspect(reason);
        }
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

    /// How far fetching has come, by what librdkafka says of the partitions that are fetched here.
    pub(super) fn reach(&mut self, all: Vec<Fetched>) -> HashMap<TopicPartition, Reach> {
        let reach = |fetched: Fetched| {
            let topic = self.started.get_mut(&fetched.source.topic);
            let started = topic.and_then(|t| t.get_mut(&fetched.source.partition))?;
            let (first, after) = (
                !std::mem::replace(&mut started.heard, true),
                started.sequence.expected(),
            );
            let to = match fetched.polled && !first && !started.paused {
                true => fetched.next.max(after),
                false => after,
            };
            let held_back = fetched.held_back;
            Some((
                fetched.source,
                Reach {
                    after,
                    to,
                    held_back,
                },
            ))
        };
        all.into_iter().filter_map(reach).collect()
    }

    /// Every partition still fetched and the offset it waits for.
    pub(super) fn positions(&self) -> Vec<(TopicPartition, i64)> {
        let all = self.started.values().flat_map(HashMap::values);
        let sound = all.filter(|s| !s.queue.has_failed());
        sound
            .map(|s| (s.source.clone(), s.sequence.expected()))
            .collect()
    }

    /// Ends `tp`'s queue, if it still waits for `expected` and has not ended; whether it has now.
    pub(super) fn fail(&self, tp: &TopicPartition, expected: i64, end: QueueEnd) -> bool {
        let started = self
            .started
            .get(&tp.topic)
            .and_then(|t| t.get(&tp.partition));
        started.is_some_and(|s| s.sequence.expected() == expected && s.queue.fail(end))
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

impl Started {
    fn take(&mut self, message: &BorrowedMessage<'_>, now: Instant) -> Delivery {
        match self.sequence.arrive(message.offset()) {
            Arrival::Old => Delivery::Taken,
            Arrival::Next => self.put(convert::record(message, self.source.clone()), now),
            Arrival::Skipped(why) => {
                let end = QueueEnd::Unreadable(why);
                self.queue.fail(end.clone());
                self.paused = true;
                Delivery::Skipped(self.source.clone(), end)
            }
        }
    }

    /// A full queue pauses once; what still arrives after that is kept.
    fn put(&mut self, record: Record, now: Instant) -> Delivery {
        faults::at(Point::Queued, record.offset);
        if !self.queue.push(record, now) || self.paused {
            return Delivery::Taken;
        }
        self.paused = true;
        Delivery::Full(self.source.clone())
    }
}
