//! One transaction a batch: a claim of all ids, writes sent ahead and awaited at the end, the progress row.

use std::collections::HashSet;
use std::sync::Arc;

use anyhow::{Context, Result};
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::{Offset, TopicPartitionList};
use tokio::sync::mpsc;
use tokio_postgres::{Client, Statement};

use super::fetch::Fetched;
use super::sql::{Effects, send, settle};
use crate::BATCH;
use crate::peer::Job;

/// The claim that `pgbench` makes, of ids that come from the batch.
const CLAIM: &str = r#"
INSERT INTO peer.processed_events (consumer_name, scope, event_id, processed_at, processed_until, topic, partition,
    "offset", outcome, module_digest)
  SELECT 'bench', '', id, now(), now() + interval '7 days', $1, $2, at, 'done', $3
  FROM unnest($4::text[], $5::bigint[]) AS claims (id, at)
  ORDER BY id COLLATE "C" ON CONFLICT DO NOTHING RETURNING event_id"#;

const PROGRESS: &str = "UPDATE peer.progress SET next_offset = $1 WHERE partition = $2";

/// One partition's writer.
pub(crate) struct Worker {
    client: Client,
    claim: Statement,
    effects: Effects,
    progress: Statement,
    consumer: Arc<BaseConsumer>,
    topic: String,
    partition: i32,
}

impl Worker {
    /// Connects and prepares.
    pub(crate) async fn new(
        job: &Job<'_>,
        partition: i32,
        consumer: Arc<BaseConsumer>,
    ) -> Result<Self> {
        let client = super::connect(&job.url).await?;
        Ok(Self {
            claim: client.prepare(CLAIM).await?,
            effects: Effects::prepare(&client, job.load.work).await?,
            progress: client.prepare(PROGRESS).await?,
            client,
            consumer,
            topic: job.stock.topic.clone(),
            partition,
        })
    }

    /// Handles batches, each as large as the queue allows, until offset `end` is next.
    pub(crate) async fn run(self, mut queue: mpsc::Receiver<Fetched>, end: i64) -> Result<()> {
        let mut batch = Vec::with_capacity(BATCH);
        let mut next = 0;
        while next < end {
            batch.clear();
            queue.recv_many(&mut batch, BATCH).await;
            let last = batch.last().context("the polling thread ended early")?;
            next = last.offset + 1;
            self.transact(&batch, next).await?;
            self.commit_offset(next)?;
        }
        Ok(())
    }

    async fn transact(&self, batch: &[Fetched], next: i64) -> Result<()> {
        self.client.batch_execute("BEGIN").await?;
        let mut fresh = self.claim(batch).await?;
        let mut staged = Vec::with_capacity(batch.len() + 1);
        for record in batch {
            if fresh.remove(&record.event_id) {
                staged.push(self.effects.apply(&self.client, &record.value).await?);
            }
        }
        staged.push(send(self.advance(next)).await?);
        for statement in staged {
            settle(statement).await?;
        }
        self.client.batch_execute("COMMIT").await?;
        Ok(())
    }

    /// The ids that were new.
    async fn claim(&self, batch: &[Fetched]) -> Result<HashSet<String>> {
        let ids = batch.iter().map(|record| record.event_id.as_str());
        let ids: Vec<&str> = ids.collect();
        let offsets: Vec<i64> = batch.iter().map(|record| record.offset).collect();
        let digest = [0_u8; 32].as_slice();
        let rows = self
            .client
            .query(
                &self.claim,
                &[&self.topic, &self.partition, &digest, &ids, &offsets],
            )
            .await?;
        rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
    }

    async fn advance(&self, next: i64) -> Result<u64, tokio_postgres::Error> {
        self.client
            .execute(&self.progress, &[&next, &self.partition])
            .await
    }

    /// Asynchronous, as the host's.
    fn commit_offset(&self, next: i64) -> Result<()> {
        let mut position = TopicPartitionList::new();
        position.add_partition_offset(&self.topic, self.partition, Offset::Offset(next))?;
        Ok(self.consumer.commit(&position, CommitMode::Async)?)
    }
}
