//! The native consumer's transactions: one a batch, updates sent ahead and awaited at the end.

use std::collections::{BTreeMap, HashSet};
use std::pin::Pin;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use futures_util::poll;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::{Offset, TopicPartitionList};
use serde_json::value::RawValue;
use tidegate_tests::Db;
use tokio::sync::mpsc;
use tokio_postgres::{Client, Error, Statement};

use crate::BATCH;
use crate::native::Fetched;

/// The claim that `pgbench` makes, of ids that come from the batch.
const CLAIM: &str = r#"
INSERT INTO peer.processed_events (consumer_name, scope, event_id, processed_at, processed_until, topic, partition,
    "offset", outcome, module_digest)
  SELECT 'bench', '', id, now(), now() + interval '7 days', $1, 0, at, 'done', $2
  FROM unnest($3::text[], $4::bigint[]) AS claims (id, at)
  ORDER BY id COLLATE "C" ON CONFLICT DO NOTHING RETURNING event_id"#;

const UPDATE: &str = "UPDATE accounts SET balance = balance + $1 WHERE id = $2";

const PROGRESS: &str = "UPDATE peer.progress SET next_offset = $1";

/// A statement under way.
type Staged<'a> = Pin<Box<dyn Future<Output = Result<u64, Error>> + Send + 'a>>;

/// One partition's writer.
pub(crate) struct Worker {
    client: Client,
    claim: Statement,
    update: Statement,
    progress: Statement,
    consumer: Arc<BaseConsumer>,
    topic: String,
}

impl Worker {
    /// Connects and prepares.
    pub(crate) async fn new(db: &Db, consumer: Arc<BaseConsumer>, topic: &str) -> Result<Self> {
        let client = db.client().await;
        Ok(Self {
            claim: client.prepare(CLAIM).await?,
            update: client.prepare(UPDATE).await?,
            progress: client.prepare(PROGRESS).await?,
            client,
            consumer,
            topic: topic.to_owned(),
        })
    }

    /// Handles batches, each as large as the queue allows, until offset `end` is next.
    pub(crate) async fn run(self, mut queue: mpsc::Receiver<Fetched>, end: i64) -> Result<()> {
        let mut batch = Vec::with_capacity(BATCH);
        let mut next = 0;
        while next < end {
            batch.clear();
            queue.recv_many(&mut batch, BATCH).await;
            next = batch
                .last()
                .context("the polling thread ended early")?
                .offset
                + 1;
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
                let (amount, account) = payment(&record.value)?;
                stage(
                    &mut staged,
                    credit(&self.client, &self.update, amount, account),
                )
                .await?;
            }
        }
        stage(&mut staged, advance(&self.client, &self.progress, next)).await?;
        for statement in staged {
            ensure!(
                statement.await? == 1,
                "an update did not touch exactly one row"
            );
        }
        self.client.batch_execute("COMMIT").await?;
        Ok(())
    }

    /// The ids that were new.
    async fn claim(&self, batch: &[Fetched]) -> Result<HashSet<String>> {
        let ids: Vec<&str> = batch
            .iter()
            .map(|record| record.event_id.as_str())
            .collect();
        let offsets: Vec<i64> = batch.iter().map(|record| record.offset).collect();
        let digest = [0_u8; 32].as_slice();
        let rows = self
            .client
            .query(&self.claim, &[&self.topic, &digest, &ids, &offsets])
            .await?;
        rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
    }

    /// Asynchronous, as the host's.
    fn commit_offset(&self, next: i64) -> Result<()> {
        let mut position = TopicPartitionList::new();
        position.add_partition_offset(&self.topic, 0, Offset::Offset(next))?;
        Ok(self.consumer.commit(&position, CommitMode::Async)?)
    }
}

/// Polls a statement once, which sends it, and keeps it for later.
async fn stage<'a>(
    staged: &mut Vec<Staged<'a>>,
    statement: impl Future<Output = Result<u64, Error>> + Send + 'a,
) -> Result<()> {
    let mut statement: Staged<'a> = Box::pin(statement);
    match poll!(&mut statement) {
        std::task::Poll::Pending => staged.push(statement),
        std::task::Poll::Ready(rows) => {
            ensure!(rows? == 1, "an update did not touch exactly one row")
        }
    }
    Ok(())
}

async fn credit(
    client: &Client,
    update: &Statement,
    amount: i64,
    account: i64,
) -> Result<u64, Error> {
    client.execute(update, &[&amount, &account]).await
}

async fn advance(client: &Client, progress: &Statement, next: i64) -> Result<u64, Error> {
    client.execute(progress, &[&next]).await
}

/// Amount and account of a payment.
fn payment(value: &[u8]) -> Result<(i64, i64)> {
    let fields: BTreeMap<&str, &RawValue> = serde_json::from_slice(value)?;
    Ok((
        number(&fields, "amount_minor")?,
        number(&fields, "account_id")?,
    ))
}

fn number(fields: &BTreeMap<&str, &RawValue>, name: &str) -> Result<i64> {
    let raw = fields
        .get(name)
        .with_context(|| format!("a payment without {name}"))?;
    Ok(raw.get().parse()?)
}
