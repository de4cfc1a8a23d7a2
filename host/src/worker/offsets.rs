//! Kafka's offset follows PostgreSQL's: asynchronously, one commit in flight a partition, at a pace that spares the
//! group's coordinator. Where to resume is in the progress row, so that Kafka may be told late.

use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tidegate_core::commit::Committer;
use tidegate_core::record::TopicPartition;

use crate::faults::{self, Point};
use crate::kafka::{Consumer, KafkaError};

/// The shortest time between two commits of a busy partition, and after a commit that failed.
const PACE: Duration = Duration::from_millis(500);
const PACE_AFTER_FAILURE: Duration = Duration::from_secs(1);

/// A partition's offset commits.
pub struct Offsets {
    kafka: Consumer,
    source: TopicPartition,
    committer: Committer,
    /// From when on the next commit may be sent by itself.
    not_before: Instant,
    in_flight: Option<BoxFuture<'static, Result<i64, KafkaError>>>,
}

impl Offsets {
    /// Nothing is in flight; Kafka is known to hold `committed`.
    pub fn new(kafka: Consumer, source: TopicPartition, committed: Option<i64>) -> Self {
        Self {
            kafka,
            source,
            committer: Committer::new(committed),
            not_before: Instant::now(),
            in_flight: None,
        }
    }

    /// Wants Kafka to know `next`, if it is time to commit again.
    pub fn come_to(&mut self, next: i64) {
        if Instant::now() >= self.not_before {
            self.want(next);
        }
    }

    /// Waits for the answer to the commit in flight or, where Kafka is not told of `next` yet, until it is time to,
    /// and tells it; for ever, if there is nothing to tell.
    pub async fn follow(&mut self, next: i64) {
        if self.in_flight.is_some() {
            self.answer().await;
        } else if self.committer.c() < Some(next) {
            tokio::time::sleep_until(self.not_before.into()).await;
            self.want(next);
        } else {
            std::future::pending().await
        }
    }

    /// Wants Kafka to know `next`; sends it now, or when the commit in flight is answered.
    pub fn want(&mut self, next: i64) {
        let now = self.committer.want(next);
        self.send(now);
    }

    /// Takes the answers that have come, without waiting.
    pub fn poll(&mut self) {
        while let Some(answer) = self.in_flight.as_mut().and_then(|f| f.now_or_never()) {
            self.answered(answer);
        }
    }

    /// Waits for the answer to the commit in flight, if one is.
    async fn answer(&mut self) {
        if let Some(in_flight) = self.in_flight.as_mut() {
            let answer = in_flight.await;
            self.answered(answer);
        }
    }

    /// Waits until Kafka acknowledged everything wanted, a commit failed, or `patience` is over.
    pub async fn settle(&mut self, patience: Duration) {
        let _late = tokio::time::timeout(patience, async {
            while self.in_flight.is_some() {
                self.answer().await;
            }
        })
        .await;
    }

    /// C: what Kafka acknowledged last.
    pub fn acknowledged(&self) -> Option<i64> {
        self.committer.c()
    }

    fn answered(&mut self, answer: Result<i64, KafkaError>) {
        self.in_flight = None;
        let next = match answer {
            Ok(offset) => {
                faults::at(Point::OffsetAcknowledged, offset);
                self.committer.acknowledged(offset)
            }
            Err(error) => {
                tracing::info!(partition = %self.source, %error, "an offset commit failed; nothing is lost: the progress row decides where to resume");
                self.committer.failed();
                self.not_before = Instant::now() + PACE_AFTER_FAILURE;
                None
            }
        };
        self.send(next);
    }

    fn send(&mut self, offset: Option<i64>) {
        if let Some(offset) = offset {
            faults::at(Point::OffsetSending, offset);
            self.not_before = Instant::now() + PACE;
            let (kafka, source) = (self.kafka.clone(), self.source.clone());
            self.in_flight = Some(async move { kafka.commit(&source, offset).await }.boxed());
            self.poll();
        }
    }
}
