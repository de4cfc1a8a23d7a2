//! The handle on a consumer: what the rest of the host may ask of it.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tidegate_core::record::TopicPartition;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::commits::Ask;
use super::context::Member;
use super::poll::Command;
use super::pulse::Pulse;
use super::statistics::Reach;
use super::{KafkaError, PartitionQueue};

/// How long Kafka may take to acknowledge an offset commit.
const COMMIT: Duration = Duration::from_secs(30);
/// How long the poll thread may take to hear a command.
const COMMAND: Duration = Duration::from_secs(10);

/// A member of a consumer group. Clones are the same member.
#[derive(Clone)]
pub struct Consumer {
    pub(super) name: Arc<str>,
    pub(super) pulse: Arc<Pulse>,
    pub(super) client: Weak<Member>,
    pub(super) commands: mpsc::Sender<Command>,
    pub(super) commits: mpsc::Sender<Ask>,
}

impl Consumer {
    /// Why brokers do not let this client in (TLS, SASL), if that is so now: it is not ready then, whatever it holds.
    pub fn refused(&self) -> Option<String> {
        self.pulse.trouble.current(Instant::now())
    }

    /// Joins the group. Whether or not a broker can be reached, joining goes on in the background.
    ///
    /// # Errors
    /// The consumer is closed, or librdkafka refuses.
    pub async fn join(&self) -> Result<(), KafkaError> {
        self.ask(|reply| Command::Join { reply }).await
    }

    /// Starts fetching an assigned partition at `offset`, or starts anew one that is fetched already: the
    /// queue it had then ends.
    ///
    /// # Errors
    /// The partition is not assigned (any more), the offset is negative, the consumer is closed.
    pub async fn start(
        &self,
        tp: &TopicPartition,
        offset: i64,
    ) -> Result<PartitionQueue, KafkaError> {
        let partition = tp.clone();
        self.ask(|reply| Command::Start {
            partition,
            offset,
            reply,
        })
        .await
    }

    /// Hands over the partitions of one [`GroupEvent::Revoked`](super::GroupEvent::Revoked) or
    /// [`GroupEvent::Lost`](super::GroupEvent::Lost), started or not. To be called exactly once for each such
    /// event, with its partitions: the group's next generation waits for it.
    ///
    /// # Errors
    /// The consumer is closed, or librdkafka refuses.
    pub async fn release(&self, partitions: Vec<TopicPartition>) -> Result<(), KafkaError> {
        self.ask(|reply| Command::Release { partitions, reply })
            .await
    }

    /// Commits `offset`, the next to be handled, and waits until Kafka has acknowledged it (the value) or
    /// refused it. The caller keeps one in flight a partition.
    ///
    /// # Errors
    /// A refusal costs nothing but a log line: PostgreSQL knows the position. After a timeout the commit may
    /// still happen.
    pub async fn commit(&self, tp: &TopicPartition, offset: i64) -> Result<i64, KafkaError> {
        super::names::at(tp, offset)?;
        let (reply, answer) = oneshot::channel();
        let ask = Ask {
            partition: tp.clone(),
            offset,
            reply,
        };
        let what = format!("committing offset {offset} of {tp}");
        self.exchange(COMMIT, what, &self.commits, (ask, answer))
            .await
    }

    /// How far fetching has come, by librdkafka's own word every few seconds, of each partition that is fetched.
    pub fn reach(&self) -> HashMap<TopicPartition, Reach> {
        self.pulse.reach()
    }

    /// How long ago the poll thread turned last. While it lives that is milliseconds.
    pub fn silence(&self) -> Duration {
        self.pulse.since()
    }

    /// Whether the group has taken this member in: with partitions, or as a standby.
    pub fn has_joined(&self) -> bool {
        self.pulse.has_joined()
    }

    /// Whether the broker says that none of the topics exists: then there is no group to be in, and nothing to handle.
    pub fn is_without_topics(&self) -> bool {
        self.pulse.is_without_topics()
    }

    /// How many partitions the group has given this member, whether or not anybody has taken them up yet.
    pub fn assigned(&self) -> usize {
        self.pulse.assigned()
    }

    /// Leaves the group and ends the poll thread, within `deadline`: beyond it the thread is abandoned, with
    /// an error in the log. Partitions that were not released are handed over as they are.
    pub async fn close(self, deadline: Duration) {
        let until = Instant::now() + deadline;
        let (done, ended) = oneshot::channel();
        let name = Arc::clone(&self.name);
        let close = async move {
            let sent = self.commands.send(Command::Close { until, done }).await;
            drop(self);
            if sent.is_ok() {
                ended.await.ok();
            }
        };
        if timeout(deadline, close).await.is_err() {
            tracing::error!(
                consumer = &*name,
                ?deadline,
                "the Kafka client did not close in time; its thread is abandoned, and the broker \
                 will notice the member's absence by its session timeout"
            );
        }
    }

    async fn ask<T>(
        &self,
        command: impl FnOnce(oneshot::Sender<Result<T, KafkaError>>) -> Command,
    ) -> Result<T, KafkaError> {
        let (reply, answer) = oneshot::channel();
        let command = command(reply);
        let what = command.to_string();
        self.exchange(COMMAND, what, &self.commands, (command, answer))
            .await
    }

    async fn exchange<Q, T>(
        &self,
        within: Duration,
        what: String,
        to: &mpsc::Sender<Q>,
        (question, answer): (Q, oneshot::Receiver<Result<T, KafkaError>>),
    ) -> Result<T, KafkaError> {
        let closed = || KafkaError::Closed(self.name.to_string());
        let exchange = async {
            to.send(question).await.map_err(|_| closed())?;
            answer.await.map_err(|_| closed())?
        };
        let late = |_| KafkaError::Timeout {
            what,
            after: within,
        };
        timeout(within, exchange).await.map_err(late)?
    }
}

impl std::fmt::Display for Command {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Command::Join { .. } => f.write_str("joining the group"),
            Command::Start {
                partition, offset, ..
            } => write!(f, "starting {partition} at offset {offset}"),
            Command::Release { partitions, .. } => {
                write!(f, "handing over {} partitions", partitions.len())
            }
            Command::Close { .. } => f.write_str("closing"),
        }
    }
}
