//! A partition's records from Kafka, by a thread of its own into a bounded queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::{BorrowedMessage, Headers, Message};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};
use tokio::sync::mpsc;

use crate::BATCH;
use crate::peer::Job;

/// Batches that wait in the queue.
const QUEUED: usize = 4;

/// What the workers need of a record.
pub(crate) struct Fetched {
    pub(crate) offset: i64,
    pub(crate) event_id: String,
    pub(crate) value: Vec<u8>,
}

/// How the group's offset is committed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Commit {
    /// The worker commits after each batch.
    ByHand,
    /// The worker stores offsets, librdkafka commits the last one every 5 s.
    Stored,
}

/// A consumer that is assigned one partition, from its start.
pub(crate) struct Fetcher {
    consumer: Arc<BaseConsumer>,
    stop: Arc<AtomicBool>,
}

impl Fetcher {
    /// Connects; it polls until `stop` is set.
    pub(crate) fn new(
        job: &Job<'_>,
        partition: i32,
        commit: Commit,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self> {
        let auto = if commit == Commit::Stored {
            "true"
        } else {
            "false"
        };
        let consumer: BaseConsumer = ClientConfig::new()
            .set("bootstrap.servers", job.env.kafka.bootstrap())
            .set("group.id", job.env.unique("native"))
            .set("enable.auto.commit", auto)
            .set("enable.auto.offset.store", "false")
            .set("isolation.level", "read_committed")
            .set("check.crcs", "true")
            .create()?;
        let mut position = TopicPartitionList::new();
        position.add_partition_offset(&job.stock.topic, partition, Offset::Beginning)?;
        consumer.assign(&position)?;
        Ok(Self {
            consumer: Arc::new(consumer),
            stop: Arc::clone(stop),
        })
    }

    /// The consumer, for commits.
    pub(crate) fn consumer(&self) -> Arc<BaseConsumer> {
        Arc::clone(&self.consumer)
    }

    /// Polls until it is told to stop or the queue's other end is gone.
    pub(crate) fn start(self) -> Result<(mpsc::Receiver<Fetched>, JoinHandle<Result<()>>)> {
        let (sender, queue) = mpsc::channel(QUEUED * BATCH);
        let poll = move || {
            while !sender.is_closed() && !self.stop.load(Ordering::Relaxed) {
                if let Some(message) = self.consumer.poll(Duration::from_millis(100))
                    && sender.blocking_send(fetched(&message?)?).is_err()
                {
                    break;
                }
            }
            Ok(())
        };
        let thread = std::thread::Builder::new().name("native-poll".to_owned());
        Ok((queue, thread.spawn(poll)?))
    }
}

fn fetched(message: &BorrowedMessage<'_>) -> Result<Fetched> {
    let headers = message.headers().context("a record without headers")?;
    let id = headers
        .iter()
        .find(|header| header.key == "event-id")
        .and_then(|header| header.value);
    Ok(Fetched {
        offset: message.offset(),
        event_id: String::from_utf8(id.context("a record without an event id")?.to_vec())?,
        value: message
            .payload()
            .context("a record without a value")?
            .to_vec(),
    })
}
