//! Offset commits: one request in flight a consumer, carrying what all its partitions had waiting.
//!
//! librdkafka starts no partition and completes no rebalance while a commit is in flight, so many small
//! commits that always overlap would hold up both for ever; one at a time leaves it room.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use rdkafka::consumer::{CommitMode, Consumer as _};
use rdkafka::error::RDKafkaErrorCode as Code;
use rdkafka::{Offset, TopicPartitionList};
use tidegate_core::record::TopicPartition;
use tokio::sync::oneshot;

use super::KafkaError;
use super::context::{Answer, Member};

/// A request unanswered for so long no longer holds up the next.
const GIVEN_UP: Duration = Duration::from_secs(60);

type Waiting = HashMap<TopicPartition, Wait>;

struct Wait {
    offset: i64,
    reply: oneshot::Sender<Result<i64, KafkaError>>,
}

/// The commits of one consumer.
#[derive(Default)]
pub(super) struct Commits {
    waiting: Waiting,
    sent: Waiting,
    sent_at: Option<Instant>,
}

impl Commits {
    /// Puts a commit in line; `reply` hears what Kafka said. A newer commit of a partition takes the place
    /// of one that has not been sent.
    pub(super) fn add(
        &mut self,
        tp: TopicPartition,
        offset: i64,
        reply: oneshot::Sender<Result<i64, KafkaError>>,
    ) {
        if let Some(older) = self.waiting.insert(tp.clone(), Wait { offset, reply }) {
            older.refuse(&tp, "a newer offset took its place", true);
        }
    }

    /// Sends what waits, if nothing is in flight.
    pub(super) fn send(&mut self, client: &Member, now: Instant) {
        let given_up = |at: Instant| now.duration_since(at) > GIVEN_UP;
        if self.waiting.is_empty() || self.sent_at.is_some_and(|at| !given_up(at)) {
            return;
        }
        refuse_all(&mut self.sent, "it was never answered", true);
        self.sent = std::mem::take(&mut self.waiting);
        self.sent_at = Some(now);
        if let Err(error) = commit(client, &self.sent) {
            self.sent_at = None;
            refuse_all(&mut self.sent, &super::error::text(&error), true);
        }
    }

    /// Kafka has answered a request.
    pub(super) fn answered(&mut self, answers: Vec<Answer>, error: Option<Code>) {
        let asked = answers.len();
        let mut mine = 0;
        for answer in answers {
            let ours = |wait: &Wait| wait.offset == answer.offset;
            if !self.sent.get(&answer.partition).is_some_and(ours) {
                continue;
            }
            mine += 1;
            if let Some(wait) = self.sent.remove(&answer.partition) {
                wait.answer(&answer.partition, answer.error.or(error));
            }
        }
        // The answer to a request given up earlier says nothing about the one in flight.
        if asked == 0 || mine > 0 {
            let reason = error.map_or("it was not answered".to_owned(), |code| code.to_string());
            refuse_all(&mut self.sent, &reason, true);
            self.sent_at = None;
        }
    }

    /// Nobody will answer any more.
    pub(super) fn close(&mut self) {
        refuse_all(&mut self.waiting, "the consumer is closing", false);
        refuse_all(&mut self.sent, "the consumer is closing", false);
    }
}

impl Wait {
    fn answer(self, tp: &TopicPartition, error: Option<Code>) {
        match error {
            None => drop(self.reply.send(Ok(self.offset))),
            Some(code) => self.refuse(tp, &code.to_string(), super::error::remedy(code).is_none()),
        }
    }

    fn refuse(self, tp: &TopicPartition, reason: &str, transient: bool) {
        let error = KafkaError::Refused {
            what: format!("committing offset {} of {tp}", self.offset),
            reason: reason.to_owned(),
            transient,
        };
        drop(self.reply.send(Err(error)));
    }
}

fn refuse_all(waiting: &mut Waiting, reason: &str, transient: bool) {
    for (tp, wait) in waiting.drain() {
        wait.refuse(&tp, reason, transient);
    }
}

fn commit(client: &Member, waiting: &Waiting) -> Result<(), rdkafka::error::KafkaError> {
    let mut list = TopicPartitionList::with_capacity(waiting.len());
    for (tp, wait) in waiting {
        list.add_partition_offset(&tp.topic, tp.partition, Offset::Offset(wait.offset))?;
    }
    client.commit(&list, CommitMode::Async)
}
