//! The poll thread: polls, copies records into queues, and does what it is asked between two polls.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rdkafka::consumer::Consumer as _;
use rdkafka::error::KafkaError as Client;
use tidegate_core::record::TopicPartition;
use tokio::sync::{mpsc, oneshot};

use super::consumer::Consumer;
use super::context::{Context, Member, Signal};
use super::missing::Missing;
use super::noise::Noise;
use super::nudge::Nudge;
use super::partitions::{Delivery, Partitions};
use super::probe::Probe;
use super::pulse::Pulse;
use super::queue::PartitionQueue;
use super::{GroupEvent, KafkaError, Subscription, commits, names, options, statistics};
use crate::config::KafkaConfig;

/// How long a poll waits while there is work about, and while there is none: the most that a command waits.
pub(super) const BUSY: Duration = Duration::from_millis(5);
const IDLE: Duration = Duration::from_millis(25);
pub(super) const BUSY_FOR: Duration = Duration::from_secs(2);
/// Messages between two looks at the commands.
const BURST: usize = 256;
/// Commands and events under way.
const COMMANDS: usize = 256;
const EVENTS: usize = 64;

/// What the rest of the host asks of the poll thread.
pub(super) enum Command {
    Join {
        reply: oneshot::Sender<Result<(), KafkaError>>,
    },
    Start {
        partition: TopicPartition,
        offset: i64,
        reply: oneshot::Sender<Result<PartitionQueue, KafkaError>>,
    },
    Release {
        partitions: Vec<TopicPartition>,
        reply: oneshot::Sender<Result<(), KafkaError>>,
    },
    Close {
        until: Instant,
        done: oneshot::Sender<()>,
    },
}

/// Makes the client and starts the thread.
pub(super) fn spawn(
    kafka: &KafkaConfig,
    subscription: Subscription,
) -> Result<(Consumer, mpsc::Receiver<GroupEvent>), KafkaError> {
    let name = Arc::clone(&subscription.consumer);
    let refused = |error: &Client| KafkaError::options(format!("consumer {name:?}"), error);
    let mut config = options::consumer(kafka, &subscription.group, false);
    config.set("statistics.interval.ms", statistics::INTERVAL_MS);
    let pulse = Arc::new(Pulse::default());
    let client: Member = config
        .create_with_context(Context::new(Arc::clone(&name), Arc::clone(&pulse)))
        .map_err(|error| refused(&error))?;

    let (commands, receiver) = mpsc::channel(COMMANDS);
    let (events, group_events) = mpsc::channel(EVENTS);
    let client = Arc::new(client);
    let no_thread = |e: std::io::Error| KafkaError::Options {
        owner: format!("consumer {name:?}"),
        reason: format!("no thread can be started: {e}"),
    };
    let commits = commits::spawn(&name, Arc::downgrade(&client)).map_err(no_thread)?;
    let handle = Consumer {
        name: Arc::clone(&name),
        pulse: Arc::clone(&pulse),
        client: Arc::downgrade(&client),
        commands,
        commits,
    };
    let nudge = Nudge::spawn(&name, Arc::downgrade(&client)).map_err(no_thread)?;
    let topics = subscription.topics.clone();
    let member = Arc::downgrade(&client);
    let missing = Missing::spawn(&name, topics, member, Arc::clone(&pulse)).map_err(no_thread)?;
    let helpers = (nudge, missing, pulse);
    let poller = Poller::new(client, (receiver, events), subscription, helpers);
    thread::Builder::new()
        .name(format!("kafka-{}", &*name))
        .spawn(move || guarded(poller))
        .map_err(no_thread)?;
    Ok((handle, group_events))
}

/// A panic of the thread must not look like silence.
fn guarded(poller: Poller) {
    let events = poller.events.clone();
    let consumer = poller.subscription.consumer.to_string();
    if catch_unwind(AssertUnwindSafe(|| poller.run())).is_err() {
        let failed = KafkaError::Fatal {
            consumer,
            reason: "its poll thread panicked".to_owned(),
            remedy: "restart the host",
        };
        drop(events.blocking_send(GroupEvent::Failed(failed)));
    }
}

/// What the thread owns.
pub(super) struct Poller {
    pub(super) client: Arc<Member>,
    pub(super) commands: mpsc::Receiver<Command>,
    pub(super) events: mpsc::Sender<GroupEvent>,
    /// Events that found the channel full. The protocol bounds them: no rebalance follows an unanswered one.
    pub(super) outbox: VecDeque<GroupEvent>,
    pub(super) subscription: Subscription,
    pub(super) partitions: Partitions,
    pub(super) probe: Probe,
    /// Rebalances that librdkafka waits for us to answer.
    pub(super) owed: usize,
    pub(super) failed: bool,
    pub(super) busy_until: Instant,
    pub(super) noise: Noise,
    pub(super) nudge: Nudge,
    pub(super) missing: Missing,
    pub(super) pulse: Arc<Pulse>,
}

type Ends = (mpsc::Receiver<Command>, mpsc::Sender<GroupEvent>);

impl Poller {
    fn new(
        client: Arc<Member>,
        ends: Ends,
        subscription: Subscription,
        (nudge, missing, pulse): (Nudge, Missing, Arc<Pulse>),
    ) -> Self {
        Self {
            client,
            commands: ends.0,
            events: ends.1,
            outbox: VecDeque::new(),
            subscription,
            partitions: Partitions::default(),
            probe: Probe::default(),
            owed: 0,
            failed: false,
            busy_until: Instant::now() + BUSY_FOR,
            noise: Noise::default(),
            nudge,
            missing,
            pulse,
        }
    }

    fn run(mut self) {
        let close = loop {
            self.pulse.beat();
            match self.obey() {
                Ok(()) => {}
                Err(close) => break close,
            }
            self.poll();
            self.listen();
            self.resume();
            self.blame_ranges();
            self.tell();
        };
        self.close(close);
    }

    /// Polls until nothing is there, or for a burst.
    fn poll(&mut self) {
        let client = Arc::clone(&self.client);
        let mut now = Instant::now();
        let mut wait = if now < self.busy_until { BUSY } else { IDLE };
        for _ in 0..BURST {
            match client.poll(wait) {
                None => break,
                Some(Ok(message)) => {
                    if !wait.is_zero() {
                        now = Instant::now();
                    }
                    let delivery = self.partitions.deliver(&message, now);
                    drop(message);
                    match delivery {
                        Delivery::Taken => {}
                        Delivery::Full(tp) => self.pause(&tp),
                        Delivery::Skipped(tp, end) => self.skipped(&tp, &end),
                    }
                    wait = Duration::ZERO;
                    self.busy_until = now + BUSY_FOR;
                }
                Some(Err(error)) => {
                    self.failure(&error);
                    break;
                }
            }
        }
    }

    pub(super) fn pause(&mut self, tp: &TopicPartition) {
        if let Err(error) = self.client.pause(&names::list([tp])) {
            tracing::warn!(consumer = %self.subscription.consumer, partition = %tp, %error, "pausing failed");
            self.partitions.not_paused(tp);
        }
    }

    fn resume(&mut self) {
        let room = self.partitions.take_resumable();
        if room.is_empty() {
            return;
        }
        if let Err(error) = self.client.resume(&names::list(&room)) {
            tracing::warn!(consumer = %self.subscription.consumer, %error, "resuming failed; it is tried again");
            return self.partitions.still_paused(&room);
        }
        self.nudge.wake(&room);
    }

    /// Acts on what librdkafka has called back. Returns the text of the error that a poll has just returned.
    pub(super) fn listen(&mut self) -> Option<String> {
        let mut said = None;
        for signal in self.client.context().take() {
            match signal {
                Signal::Assign(tps) => self.assigned(tps),
                Signal::Revoke { partitions, lost } => self.revoked(partitions, lost),
                Signal::Error(text) => said = Some(text),
                Signal::Fetched(all) => self.pulse.reaches(self.partitions.reach(all)),
            }
        }
        said
    }

    /// Does what was asked; `Err` when it is to end.
    fn obey(&mut self) -> Result<(), Close> {
        loop {
            let command = match self.commands.try_recv() {
                Ok(command) => command,
                Err(mpsc::error::TryRecvError::Empty) => return Ok(()),
                Err(mpsc::error::TryRecvError::Disconnected) => return Err(Close::unasked()),
            };
            self.busy_until = Instant::now() + BUSY_FOR;
            match command {
                Command::Join { reply } => drop(reply.send(self.join())),
                Command::Start {
                    partition,
                    offset,
                    reply,
                } => drop(reply.send(self.start(&partition, offset))),
                Command::Release { partitions, reply } => {
                    drop(reply.send(self.release(&partitions)));
                }
                Command::Close { until, done } => {
                    let done = Some(done);
                    return Err(Close { until, done });
                }
            }
        }
    }
}

/// How the thread is to end.
pub(super) struct Close {
    pub(super) until: Instant,
    pub(super) done: Option<oneshot::Sender<()>>,
}

impl Close {
    /// Every handle has been dropped.
    fn unasked() -> Self {
        Self {
            until: Instant::now() + Duration::from_secs(5),
            done: None,
        }
    }
}
