//! Writing records: acks from all replicas, order kept, transactions on request.

use std::time::Duration;

use futures_util::future::join_all;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{DeliveryFuture, FutureProducer, FutureRecord, Producer as _};

use super::{At, Kafka, REQUEST, Rec, blocking, config};

impl Kafka {
    /// Writes the records with a producer of its own; answers where each one landed, in their order.
    pub async fn produce(&self, topic: &str, records: Vec<Rec>) -> Vec<At> {
        self.producer().send(topic, records).await
    }

    /// A producer to keep, for loads: idempotent, acks from all, keys placed as Java does.
    pub fn producer(&self) -> Producer {
        Producer(make(&self.bootstrap, &[]))
    }

    /// Writes the records in a transaction and leaves it open.
    pub async fn begin(&self, topic: &str, records: Vec<Rec>) -> OpenTx {
        let id = format!("tx-{}", uuid::Uuid::new_v4());
        let producer = make(&self.bootstrap, &[("transactional.id", &id)]);
        let starting = producer.clone();
        let begun = blocking(move || {
            starting.init_transactions(REQUEST)?;
            starting.begin_transaction()
        });
        let begun = begun.await;
        begun.unwrap_or_else(|e| panic!("begin a transaction: {e}"));
        let at = send(&producer, topic, records).await;
        OpenTx { at, producer }
    }
}

/// A producer that stays connected.
pub struct Producer(FutureProducer);

impl Producer {
    /// Writes the records in order and waits until the broker has them all.
    pub async fn send(&self, topic: &str, records: Vec<Rec>) -> Vec<At> {
        send(&self.0, topic, records).await
    }
}

/// An open Kafka transaction. Dropped without an end, it stays open until the broker's time-out.
pub struct OpenTx {
    /// Where its records landed.
    pub at: Vec<At>,
    producer: FutureProducer,
}

impl OpenTx {
    /// Commits it.
    pub async fn commit(self) {
        let producer = self.producer;
        let done = blocking(move || producer.commit_transaction(REQUEST)).await;
        done.unwrap_or_else(|e| panic!("commit a transaction: {e}"));
    }

    /// Aborts it.
    pub async fn abort(self) {
        let producer = self.producer;
        let done = blocking(move || producer.abort_transaction(REQUEST)).await;
        done.unwrap_or_else(|e| panic!("abort a transaction: {e}"));
    }
}

fn make(bootstrap: &str, settings: &[(&str, &str)]) -> FutureProducer {
    let mut config = config(bootstrap);
    config
        .set("acks", "all")
        .set("enable.idempotence", "true")
        .set("linger.ms", "2")
        .set("partitioner", "murmur2_random")
        .set("queue.buffering.max.messages", "1000000")
        .set("message.timeout.ms", "30000");
    for (key, value) in settings {
        config.set(*key, *value);
    }
    config
        .create()
        .unwrap_or_else(|e| panic!("cannot make a producer: {e}"))
}

async fn send(producer: &FutureProducer, topic: &str, records: Vec<Rec>) -> Vec<At> {
    let mut waiting = Vec::with_capacity(records.len());
    for record in &records {
        waiting.push(enqueue(producer, topic, record).await);
    }
    let landed = join_all(waiting).await.into_iter();
    landed
        .map(|delivery| match delivery {
            Ok(Ok(d)) => At {
                partition: d.partition,
                offset: d.offset,
            },
            Ok(Err((e, _))) => panic!("produce to {topic}: {e}"),
            Err(_) => panic!("produce to {topic}: the producer is gone"),
        })
        .collect()
}

async fn enqueue(producer: &FutureProducer, topic: &str, rec: &Rec) -> DeliveryFuture {
    loop {
        match producer.send_result(native(topic, rec)) {
            Ok(delivery) => return delivery,
            Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), _)) => {
                let draining = producer.clone();
                // What is still in flight after this is simply waited for again.
                let _drained = blocking(move || draining.flush(Duration::from_millis(100))).await;
            }
            Err((e, _)) => panic!("produce to {topic}: {e}"),
        }
    }
}

fn native<'a>(topic: &'a str, rec: &'a Rec) -> FutureRecord<'a, Vec<u8>, Vec<u8>> {
    let mut headers = OwnedHeaders::new_with_capacity(rec.headers.len());
    for (key, value) in &rec.headers {
        headers = headers.insert(Header {
            key,
            value: value.as_ref(),
        });
    }
    FutureRecord {
        topic,
        partition: rec.partition,
        payload: rec.value.as_ref(),
        key: rec.key.as_ref(),
        timestamp: rec.timestamp,
        headers: (!rec.headers.is_empty()).then_some(headers),
    }
}
