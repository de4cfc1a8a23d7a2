//! The native consumer: the host's batching in plain Rust, with the handler's logic compiled in.
//!
//! One thread polls Kafka into a bounded queue, one task (`worker`) writes. It has no WebAssembly, no fence, no
//! failure handling and no dead letters: the difference to the host is what those cost.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::{BorrowedMessage, Headers, Message};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::clock::{Course, Run};
use crate::peer::Job;
use crate::worker::Worker;
use crate::{BATCH, tables};

/// Batches that wait in the queue.
const QUEUED: usize = 4;

/// What the worker needs of a record.
pub(crate) struct Fetched {
    pub(crate) offset: i64,
    pub(crate) event_id: String,
    pub(crate) value: Vec<u8>,
}

/// Consumes the topic with a group of its own.
pub(crate) async fn run(job: &Job<'_>) -> Result<Run> {
    tables::settle(&job.env.db).await;
    let consumer = Arc::new(subscribe(job)?);
    let (sender, queue) = mpsc::channel(QUEUED * BATCH);
    let poller = poll_on_thread(Arc::clone(&consumer), sender)?;
    let worker = Worker::new(&job.env.db, consumer, job.topic).await?;
    let run = timed(job, worker, queue).await;
    join(poller).await?;
    run
}

/// The worker in a task of its own, as the host's, under the clock; it is aborted where the clock gives up.
async fn timed(job: &Job<'_>, worker: Worker, queue: mpsc::Receiver<Fetched>) -> Result<Run> {
    let course = Course {
        db: &job.env.db,
        progress: "SELECT next_offset FROM peer.progress",
        end: i64::try_from(job.records)?,
    };
    let mut tasks = JoinSet::new();
    tasks.spawn(worker.run(queue, course.end));
    let worked = async { tasks.join_next().await.context("no worker was started")?? };
    let (run, ()) = tokio::try_join!(course.time(|| Ok(())), worked)?;
    Ok(run)
}

fn subscribe(job: &Job<'_>) -> Result<BaseConsumer> {
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", job.env.kafka.bootstrap())
        .set("group.id", job.env.unique("native"))
        .set("auto.offset.reset", "earliest")
        .set("enable.auto.commit", "false")
        .set("enable.auto.offset.store", "false")
        .set("isolation.level", "read_committed")
        .set("partition.assignment.strategy", "cooperative-sticky")
        .set("check.crcs", "true")
        .create()?;
    consumer.subscribe(&[job.topic])?;
    Ok(consumer)
}

/// The thread ends when the queue's other end is gone.
fn poll_on_thread(
    consumer: Arc<BaseConsumer>,
    queue: mpsc::Sender<Fetched>,
) -> Result<JoinHandle<Result<()>>> {
    let poll = move || {
        while !queue.is_closed() {
            if let Some(message) = consumer.poll(Duration::from_millis(100)) {
                let sent = queue.blocking_send(fetched(&message?)?);
                if sent.is_err() {
                    break;
                }
            }
        }
        Ok(())
    };
    Ok(std::thread::Builder::new()
        .name("native-poll".to_owned())
        .spawn(poll)?)
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

async fn join(poller: JoinHandle<Result<()>>) -> Result<()> {
    tokio::task::spawn_blocking(|| poller.join())
        .await?
        .map_err(|_| anyhow!("the polling thread panicked"))?
}
