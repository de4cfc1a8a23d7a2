//! One transaction a record, as the usual article about the inbox has it, each statement awaited.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use anyhow::{Context, Result};
use rdkafka::consumer::{BaseConsumer, Consumer};
use tokio::sync::mpsc;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Statement};

use super::fetch::Fetched;
use super::sql::{Effects, settle};
use crate::load::work::Work;
use crate::peer::Job;

const CLAIM: &str = r#"
INSERT INTO peer.processed_events (consumer_name, scope, event_id, processed_at, processed_until, topic, partition,
    "offset", outcome, module_digest)
  VALUES ('bench', '', $1, now(), now() + interval '7 days', $2, $3, $4, 'done', $5)
  ON CONFLICT DO NOTHING"#;

/// One partition's part of the work.
pub(crate) struct Part {
    url: String,
    work: Work,
    consumer: Arc<BaseConsumer>,
    topic: String,
    partition: i32,
    handled: Arc<AtomicI64>,
}

impl Part {
    /// Each record committed is counted in `handled`.
    pub(crate) fn of(
        job: &Job<'_>,
        partition: i32,
        consumer: Arc<BaseConsumer>,
        handled: Arc<AtomicI64>,
    ) -> Self {
        Self {
            url: job.url.clone(),
            work: job.load.work,
            consumer,
            topic: job.stock.topic.clone(),
            partition,
            handled,
        }
    }

    /// Connects, prepares and handles record after record until offset `end` is next.
    pub(crate) async fn run(self, queue: mpsc::Receiver<Fetched>, end: i64) -> Result<()> {
        let client = super::connect(&self.url).await?;
        let worker = Worker {
            claim: client.prepare(CLAIM).await?,
            effects: Effects::prepare(&client, self.work).await?,
            client,
            part: self,
        };
        worker.run(queue, end).await
    }
}

/// One partition's writer.
struct Worker {
    client: Client,
    claim: Statement,
    effects: Effects,
    part: Part,
}

impl Worker {
    async fn run(self, mut queue: mpsc::Receiver<Fetched>, end: i64) -> Result<()> {
        let mut next = 0;
        while next < end {
            let record = queue.recv().await;
            let record = record.context("the polling thread ended early")?;
            while !self.attempt(&record).await? {}
            next = record.offset + 1;
            self.part.handled.fetch_add(1, Ordering::Relaxed);
            let Part {
                consumer,
                topic,
                partition,
                ..
            } = &self.part;
            consumer.store_offset(topic, *partition, record.offset)?;
        }
        Ok(())
    }

    /// Whether it was committed; a deadlock is tried again.
    async fn attempt(&self, record: &Fetched) -> Result<bool> {
        let error = match self.transact(record).await {
            Ok(()) => return Ok(true),
            Err(error) => error,
        };
        let sql = error.downcast_ref::<tokio_postgres::Error>();
        if sql.and_then(tokio_postgres::Error::code) != Some(&SqlState::T_R_DEADLOCK_DETECTED) {
            return Err(error);
        }
        self.client.batch_execute("ROLLBACK").await?;
        Ok(false)
    }

    async fn transact(&self, record: &Fetched) -> Result<()> {
        self.client.batch_execute("BEGIN").await?;
        if self.claim(record).await? == 1 {
            settle(self.effects.apply(&self.client, &record.value).await?).await?;
        }
        self.client.batch_execute("COMMIT").await?;
        Ok(())
    }

    async fn claim(&self, record: &Fetched) -> Result<u64, tokio_postgres::Error> {
        let digest = [0_u8; 32].as_slice();
        self.client
            .execute(
                &self.claim,
                &[
                    &record.event_id,
                    &self.part.topic,
                    &self.part.partition,
                    &record.offset,
                    &digest,
                ],
            )
            .await
    }
}
