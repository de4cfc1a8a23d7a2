//! Kafka's offset follows PostgreSQL's: asynchronously, one commit in flight a partition.

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tidegate_core::commit::Committer;
use tidegate_core::record::TopicPartition;

use crate::kafka::{Consumer, KafkaError};

/// A partition's offset commits.
pub struct Offsets {
    kafka: Consumer,
    source: TopicPartition,
    committer: Committer,
    in_flight: Option<BoxFuture<'static, Result<i64, KafkaError>>>,
}

impl Offsets {
    /// Nothing is in flight; Kafka is known to hold `committed`.
    pub fn new(kafka: Consumer, source: TopicPartition, committed: Option<i64>) -> Self {
        Self {
            kafka,
            source,
            committer: Committer::new(committed),
            in_flight: None,
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

    /// Waits for the answer to the commit in flight; for ever, if none is.
    pub async fn answer(&mut self) {
        match self.in_flight.as_mut() {
            Some(in_flight) => {
                let answer = in_flight.await;
                self.answered(answer);
            }
            None => std::future::pending().await,
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
            Ok(offset) => self.committer.acknowledged(offset),
            Err(error) => {
                tracing::info!(partition = %self.source, %error, "an offset commit failed; nothing is lost: the progress row decides where to resume");
                self.committer.failed();
                None
            }
        };
        self.send(next);
    }

    fn send(&mut self, offset: Option<i64>) {
        if let Some(offset) = offset {
            let (kafka, source) = (self.kafka.clone(), self.source.clone());
            self.in_flight = Some(async move { kafka.commit(&source, offset).await }.boxed());
            self.poll();
        }
    }
}
