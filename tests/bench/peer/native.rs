//! Native consumers: plain Rust, a polling thread, a writing task and a connection for each partition.
//!
//! They have no WebAssembly, no fence, no failure handling and no dead letters: the difference to the host is what
//! those cost.

mod batch;
mod fetch;
mod record;
mod sql;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread::JoinHandle;

use anyhow::{Result, anyhow};
use tokio::runtime::Builder;
use tokio::task::JoinSet;
use tokio_postgres::{Client, NoTls};

use crate::measure::gauge::Progress;
use crate::peer::{Job, tables};
use fetch::{Commit, Fetcher};

/// All partitions at work.
pub(crate) struct Native {
    stop: Arc<AtomicBool>,
    workers: JoinSet<Result<()>>,
    pollers: Vec<JoinHandle<Result<()>>>,
    progress: Progress,
}

impl Native {
    /// The host's batching; progress is a row, written in the batch's transaction.
    pub(crate) async fn batches(job: &Job<'_>) -> Result<Self> {
        let mut native = Self::idle(tables::PROGRESS);
        for (partition, &end) in (0..).zip(&job.ends) {
            let fetcher = Fetcher::new(job, partition, Commit::ByHand, &native.stop)?;
            let worker = batch::Worker::new(job, partition, fetcher.consumer()).await?;
            let (queue, poller) = fetcher.start()?;
            native.pollers.push(poller);
            native.workers.spawn(worker.run(queue, end));
        }
        Ok(native)
    }

    /// One transaction a record; progress is a counter in memory. Each partition has a thread of its own, connection
    /// included: statement after statement awaited, threads that wake one another would only cost.
    pub(crate) fn records(job: &Job<'_>) -> Result<Self> {
        let counter = Arc::new(AtomicI64::new(0));
        let mut native = Self::idle(Progress::Counter(Arc::clone(&counter)));
        for (partition, &end) in (0..).zip(&job.ends) {
            let fetcher = Fetcher::new(job, partition, Commit::Stored, &native.stop)?;
            let part = record::Part::of(job, partition, fetcher.consumer(), Arc::clone(&counter));
            let (queue, poller) = fetcher.start()?;
            native.pollers.push(poller);
            native.workers.spawn_blocking(move || {
                let runtime = Builder::new_current_thread().enable_all().build()?;
                runtime.block_on(part.run(queue, end))
            });
        }
        Ok(native)
    }

    fn idle(progress: Progress) -> Self {
        Self {
            stop: Arc::default(),
            workers: JoinSet::new(),
            pollers: Vec::new(),
            progress,
        }
    }

    /// Where it shows how far it has come.
    pub(crate) fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// Says why a worker has failed, if one has.
    pub(crate) fn alive(&mut self) -> Result<()> {
        while let Some(ended) = self.workers.try_join_next() {
            ended??;
        }
        Ok(())
    }

    /// Waits for the workers; where the clock gave up, they end with their queues, and complain of it.
    pub(crate) async fn stop(mut self, finished: bool) -> Result<()> {
        self.stop.store(!finished, Ordering::Relaxed);
        while let Some(ended) = self.workers.join_next().await {
            let ended = ended?;
            if finished {
                ended?;
            }
        }
        let pollers = self.pollers;
        let join = move || {
            for poller in pollers {
                let ended = poller
                    .join()
                    .map_err(|_| anyhow!("a polling thread panicked"));
                ended??;
            }
            Ok(())
        };
        tokio::task::spawn_blocking(join).await?
    }
}

/// A connection that ends with its client, or with an error that the client's next call reports.
async fn connect(url: &str) -> Result<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}
