//! Publishing dead letters: an idempotent producer, acks=all.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use rdkafka::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::KafkaError as Client;
use rdkafka::message::{Header as Wire, OwnedHeaders};
use rdkafka::producer::{FutureProducer, FutureRecord, Producer as _};
use tidegate_core::record::Header;

use super::context::LibraryLog;
use super::refusals::{Unpublished, unpublished};
use super::{KafkaError, names, options};
use crate::config::KafkaConfig;

/// How long a letter waits for room in the producer's queue.
const ROOM: Duration = Duration::from_secs(5);
/// How long it may take until it is acknowledged; the client's own limit comes first.
const DELIVERY: Duration = Duration::from_secs(60);

/// What is published. Its partition is picked by key; its timestamp is the time of publishing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The topic.
    pub topic: String,
    /// The key; null is not the empty key.
    pub key: Option<Bytes>,
    /// The value; null is a tombstone.
    pub value: Option<Bytes>,
    /// The headers, in order, with duplicates.
    pub headers: Vec<Header>,
}

type Producer = FutureProducer<Context>;

/// The dead letters' producer. Letters published one after the other keep their order per key.
pub struct Publisher {
    kafka: KafkaConfig,
    producer: Mutex<Producer>,
}

impl Publisher {
    /// Makes the client; does not wait for a broker.
    ///
    /// # Errors
    /// Options that librdkafka refuses.
    pub fn new(kafka: &KafkaConfig) -> Result<Self, KafkaError> {
        Ok(Self {
            kafka: kafka.clone(),
            producer: Mutex::new(connect(kafka)?),
        })
    }

    /// Publishes one letter and returns the partition and offset that Kafka acknowledged.
    ///
    /// # Errors
    /// Whose fault it is. Where it is not the record's own, another try may publish a letter twice (its id tells).
    pub async fn publish(&self, letter: Outgoing) -> Result<(i32, i64), Unpublished> {
        let setup = |error: KafkaError| Unpublished::setup(error.to_string());
        names::check_topic(&letter.topic).map_err(setup)?;
        let producer = self.current().map_err(setup)?;
        let headers = wire(&letter.headers);
        let mut record = FutureRecord::to(&letter.topic).headers(headers);
        record.key = letter.key.as_deref();
        record.payload = letter.value.as_deref();
        let sent = tokio::time::timeout(DELIVERY, producer.send(record, ROOM)).await;
        match sent {
            Ok(Ok(delivery)) => Ok((delivery.partition, delivery.offset)),
            Ok(Err((error, _))) => {
                let fatal = producer.client().fatal_error().map(|(code, _)| code);
                Err(unpublished(&error, fatal))
            }
            Err(_) => Err(Unpublished::late(format!("no answer within {DELIVERY:?}"))),
        }
    }

    /// Waits for letters under way, to the deadline.
    pub async fn close(&self, deadline: Duration) {
        let producer = self.producer.lock().map(|p| p.clone());
        let producer = producer.unwrap_or_else(|poisoned| poisoned.into_inner().clone());
        let end = tokio::task::spawn_blocking(move || producer.flush(deadline));
        match tokio::time::timeout(deadline + Duration::from_secs(1), end).await {
            Ok(Ok(Ok(()))) => {}
            _ => tracing::warn!(
                ?deadline,
                "dead letters were still under way at the end; they stay unpublished in the database and go out later"
            ),
        }
    }

    /// The producer, made anew if it has failed for good.
    fn current(&self) -> Result<Producer, KafkaError> {
        let mut producer = self.producer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, reason)) = producer.client().fatal_error() {
            tracing::warn!("the dead letters' producer had stopped ({reason}); it is made anew");
            let old = std::mem::replace(&mut *producer, connect(&self.kafka)?);
            // Its end waits for its thread.
            tokio::task::spawn_blocking(move || drop(old));
        }
        Ok(producer.clone())
    }
}

fn connect(kafka: &KafkaConfig) -> Result<Producer, KafkaError> {
    options::producer(kafka)
        .create_with_context(Context(LibraryLog::new("dead letters".into())))
        .map_err(|error| KafkaError::options("the dead letters", &error))
}

fn wire(headers: &[Header]) -> OwnedHeaders {
    let empty = OwnedHeaders::new_with_capacity(headers.len());
    headers.iter().fold(empty, |all, header| {
        all.insert(Wire {
            key: &header.name,
            value: header.value.as_deref(),
        })
    })
}

struct Context(LibraryLog);

impl ClientContext for Context {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        self.0.line(level, facility, message);
    }

    fn stats_raw(&self, _: &[u8]) {}

    fn error(&self, error: Client, reason: &str) {
        self.0.error(&error, reason);
    }
}
