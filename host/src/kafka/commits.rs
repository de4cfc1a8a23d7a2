//! Offset commits: a thread of their own, one request in flight, carrying what all partitions had waiting.
//!
//! The bindings never report an asynchronous commit that the application asked for, so the synchronous call
//! is made where it may block. One request at a time also leaves librdkafka room: it starts no partition and
//! ends no rebalance while a commit is in flight, and many small ones that overlap would hold up both.

use std::collections::HashMap;
use std::sync::Weak;
use std::thread;

use rdkafka::consumer::{CommitMode, Consumer as _};
use rdkafka::error::KafkaError as Client;
use rdkafka::{Offset, TopicPartitionList};
use tidegate_core::record::TopicPartition;
use tokio::sync::{mpsc, oneshot};

use super::KafkaError;
use super::context::Member;

/// Commits that wait for the one in flight: one a partition.
const WAITING: usize = 1024;

/// One partition's commit, and who wants to hear what Kafka said.
pub(super) struct Ask {
    pub(super) partition: TopicPartition,
    pub(super) offset: i64,
    pub(super) reply: oneshot::Sender<Result<i64, KafkaError>>,
}

/// Starts the thread. It ends when every handle that could ask is gone.
pub(super) fn spawn(consumer: &str, client: Weak<Member>) -> std::io::Result<mpsc::Sender<Ask>> {
    let (sender, mut asks) = mpsc::channel::<Ask>(WAITING);
    thread::Builder::new()
        .name(format!("commit-{consumer}"))
        .spawn(move || {
            while let Some(first) = asks.blocking_recv() {
                let waiting = gather(first, &mut asks);
                // Dropping what cannot be asked any more tells the callers that the consumer is closed.
                if let Some(client) = client.upgrade() {
                    settle(&client, waiting);
                }
            }
        })?;
    Ok(sender)
}

/// `first` and all that waits behind it, the newest of each partition.
fn gather(first: Ask, asks: &mut mpsc::Receiver<Ask>) -> Vec<Ask> {
    let mut newest = HashMap::from([(first.partition.clone(), first)]);
    while let Ok(ask) = asks.try_recv() {
        if let Some(older) = newest.insert(ask.partition.clone(), ask) {
            older.refuse("a newer offset took its place", true);
        }
    }
    newest.into_values().collect()
}

/// One request for all. Its error may be that of one partition among many: then each is asked alone.
fn settle(client: &Member, asks: Vec<Ask>) {
    match commit(client, &asks) {
        Err(_) if asks.len() > 1 => {
            for ask in asks {
                let result = commit(client, std::slice::from_ref(&ask));
                ask.answer(result);
            }
        }
        result => {
            for ask in asks {
                ask.answer(result.clone());
            }
        }
    }
}

fn commit(client: &Member, asks: &[Ask]) -> Result<(), Client> {
    let mut list = TopicPartitionList::with_capacity(asks.len());
    for ask in asks {
        let tp = &ask.partition;
        list.add_partition_offset(&tp.topic, tp.partition, Offset::Offset(ask.offset))?;
    }
    client.commit(&list, CommitMode::Sync)
}

impl Ask {
    fn answer(self, result: Result<(), Client>) {
        let Err(error) = result else {
            self.reply.send(Ok(self.offset)).ok();
            return;
        };
        let code = error.rdkafka_error_code();
        let transient = code.and_then(super::error::remedy).is_none();
        self.refuse(&super::error::text(&error), transient);
    }

    fn refuse(self, reason: &str, transient: bool) {
        let error = KafkaError::Refused {
            what: format!("committing offset {} of {}", self.offset, self.partition),
            reason: reason.to_owned(),
            transient,
        };
        self.reply.send(Err(error)).ok();
    }
}
