//! Says which subscribed topics do not exist (any more). librdkafka knows, but its bindings do not pass the name on.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use rdkafka::error::{KafkaError as Client, RDKafkaErrorCode as Code};

use super::answers;
use super::context::Member;
use super::pulse::Pulse;

/// How often missing topics are looked for again.
const AGAIN: Duration = Duration::from_secs(5);

/// The thread's handle; the thread ends with it.
pub(super) struct Missing(SyncSender<()>);

impl Missing {
    /// Starts the thread, which sleeps until somebody suspects that a topic is gone.
    pub(super) fn spawn(
        consumer: &Arc<str>,
        topics: Vec<String>,
        client: Weak<Member>,
        pulse: Arc<Pulse>,
    ) -> std::io::Result<Self> {
        let (sender, suspicions) = sync_channel(1);
        let look = Look {
            consumer: Arc::clone(consumer),
            topics,
            client,
            pulse,
            missing: BTreeSet::new(),
        };
        thread::Builder::new()
            .name(format!("topics-{consumer}"))
            .spawn(move || look.run(&suspicions))?;
        Ok(Self(sender))
    }

    /// Some topic may be gone: has it looked for.
    pub(super) fn suspect(&self) {
        self.0.try_send(()).ok();
    }
}

/// Whether an error may mean that a topic is gone.
pub(super) fn may_be_missing(code: Option<Code>) -> bool {
    matches!(
        code,
        Some(Code::UnknownTopicOrPartition | Code::UnknownTopic | Code::UnknownPartition)
    )
}

struct Look {
    consumer: Arc<str>,
    topics: Vec<String>,
    client: Weak<Member>,
    pulse: Arc<Pulse>,
    missing: BTreeSet<String>,
}

impl Look {
    fn run(mut self, suspicions: &Receiver<()>) {
        loop {
            let ended = match self.missing.is_empty() {
                true => suspicions.recv().is_err(),
                false => suspicions.recv_timeout(AGAIN) == Err(RecvTimeoutError::Disconnected),
            };
            let Some(client) = self.client.upgrade().filter(|_| !ended) else {
                return;
            };
            let topics = self.topics.clone().into_iter();
            let absent = topics.filter(|topic| self.look(&client, topic.clone()));
            let none = absent.count() == self.topics.len();
            self.pulse.set_without_topics(none);
        }
    }

    /// Whether the broker says that a topic is not there. What it does not answer is as it was.
    fn look(&mut self, client: &Member, topic: String) -> bool {
        let consumer = &self.consumer;
        match answers::partitions(client, &topic) {
            Err(Client::MetadataFetch(Code::UnknownTopicOrPartition)) => {
                if self.missing.insert(topic.clone()) {
                    tracing::error!(%consumer, topic, "topic {topic:?} does not exist (any more), or this user may not see it: nothing of it is consumed, its positions stay recorded, other topics go on; if it is made again, its partitions are compared with what was recorded and stop where they are another log's");
                }
                return true;
            }
            Ok(partitions) if self.missing.remove(&topic) => {
                let partitions = partitions.len();
                tracing::warn!(%consumer, topic, partitions, "topic {topic:?} exists again; it is consumed once the group has noticed");
            }
            Ok(_) | Err(_) => {}
        }
        false
    }
}
