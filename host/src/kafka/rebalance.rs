//! The poll thread's part in rebalances: take nothing by itself, hand over nothing unasked.

use std::time::Instant;

use rdkafka::TopicPartitionList;
use rdkafka::consumer::Consumer as _;
use tidegate_core::record::TopicPartition;
use tokio::sync::mpsc::error::TrySendError;

use super::poll::{BUSY_FOR, Poller};
use super::queue::PartitionQueue;
use super::{GroupEvent, KafkaError, names};

impl Poller {
    pub(super) fn join(&mut self) -> Result<(), KafkaError> {
        let topics = self.subscription.topics.iter().map(String::as_str);
        let joined = self.client.subscribe(&topics.collect::<Vec<_>>());
        joined.map_err(|e| KafkaError::refused("joining the group", &e))
    }

    /// Answered at once, with nothing: each partition is added by itself once its position is known.
    pub(super) fn assigned(&mut self, tps: Vec<TopicPartition>) {
        let none = TopicPartitionList::new();
        if let Err(error) = self.client.incremental_assign(&none) {
            tracing::error!(consumer = %self.subscription.consumer, %error, "an assignment could not be taken");
        }
        self.partitions.assign(&tps);
        self.pulse.set_assigned(self.partitions.assigned());
        self.pulse.set_joined(true);
        if !tps.is_empty() {
            self.emit(GroupEvent::Assigned(tps));
        }
    }

    pub(super) fn revoked(&mut self, tps: Vec<TopicPartition>, lost: bool) {
        if lost {
            self.pulse.set_joined(false);
        }
        self.partitions.revoke(&tps);
        self.pulse.set_assigned(self.partitions.assigned());
        self.owed += 1;
        if tps.is_empty() || self.events.is_closed() {
            // Nobody is there to answer.
            drop(self.release(&tps));
        } else if lost {
            self.emit(GroupEvent::Lost(tps));
        } else {
            self.emit(GroupEvent::Revoked(tps));
        }
    }

    pub(super) fn emit(&mut self, event: GroupEvent) {
        self.busy_until = Instant::now() + BUSY_FOR;
        self.outbox.push_back(event);
    }

    /// Passes events on. A host that no longer listens has what it owes answered for it.
    pub(super) fn tell(&mut self) {
        while let Some(event) = self.outbox.pop_front() {
            match self.events.try_send(event) {
                Ok(()) => {}
                Err(TrySendError::Full(event)) => {
                    self.outbox.push_front(event);
                    return;
                }
                Err(TrySendError::Closed(event)) => {
                    if let GroupEvent::Revoked(tps) | GroupEvent::Lost(tps) = event {
                        drop(self.release(&tps));
                    }
                }
            }
        }
    }

    pub(super) fn start(
        &mut self,
        tp: &TopicPartition,
        offset: i64,
    ) -> Result<PartitionQueue, KafkaError> {
        let what = || format!("fetching {tp} from offset {offset} on");
        let at = names::at(tp, offset)?;
        if !self.partitions.is_assigned(tp) {
            return Err(KafkaError::NotAssigned(tp.clone()));
        }
        if self.partitions.stop(tp, "the partition was started anew") {
            let unassign = self.client.incremental_unassign(&names::list([tp]));
            unassign.map_err(|e| KafkaError::refused(what(), &e))?;
        }
        let assign = self.client.incremental_assign(&at);
        assign.map_err(|e| KafkaError::refused(what(), &e))?;
        // librdkafka keeps a pause over assignments: one that was paused when it was taken away would stay so.
        let resume = self.client.resume(&names::list([tp]));
        resume.map_err(|e| KafkaError::refused(what(), &e))?;
        let (queue, shared) = PartitionQueue::new(self.subscription.queue);
        self.partitions.start(tp, offset, shared);
        self.nudge.wake(std::slice::from_ref(tp));
        Ok(queue)
    }

    /// Answers a revocation. The list may be empty: it is the call that librdkafka waits for.
    pub(super) fn release(&mut self, tps: &[TopicPartition]) -> Result<(), KafkaError> {
        let mut started = Vec::new();
        for tp in tps {
            if self.partitions.stop(tp, "the partition was handed over") {
                started.push(tp);
            }
        }
        if self.owed == 0 && started.is_empty() {
            return Ok(());
        }
        self.owed = self.owed.saturating_sub(1);
        let unassign = self.client.incremental_unassign(&names::list(started));
        unassign.map_err(|e| KafkaError::refused("handing over partitions", &e))
    }
}
