//! One assigned partition: carries out what the core's partition states ask for.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tidegate_core::backoff::RetryPolicy;
use tidegate_core::partition::{Action, Event, Partition as State};
use tidegate_core::record::TopicPartition;
use tokio::sync::watch;
use uuid::Uuid;

use crate::config::KafkaConfig;
use crate::kafka::KafkaError;
use crate::meters::Stay;
use crate::worker::assignment::{self, NotPlaced};
use crate::worker::partition::{End, Partition};
use crate::worker::position::Placed;
use crate::worker::repeats::{Repeats, Say};
use crate::worker::shared::Shared;

/// How long a fenced partition waits for the group to tell that it is gone, before it is taken up again.
const FENCED: Duration = Duration::from_secs(4);
/// How long a partition that could not be read waits.
const UNREADABLE: Duration = Duration::from_secs(5);
/// When a stopped partition is looked at again: an operator may have decided. A host that is refused beside the right one
/// asks ever more rarely.
const STOPPED: RetryPolicy = RetryPolicy {
    initial: Duration::from_secs(5),
    max: Duration::from_secs(30),
    max_elapsed: Duration::MAX,
    max_attempts: None,
};
/// How long giving a token back may take.
const UNTAKE: Duration = Duration::from_secs(1);
/// How often an answer that Kafka or PostgreSQL could not give is asked for again.
const UNREADY: Duration = Duration::from_millis(500);

/// Whether the group still gives us the partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// Ours.
    Held,
    /// To be given back: end the batch, commit, by the deadline.
    Draining(Instant),
    /// Gone already: another host may run it.
    Lost,
}

/// Owns `source` from its assignment until `hold` ends. `stay` shows it from the moment of its assignment.
pub async fn own(
    shared: Arc<Shared>,
    kafka: Arc<KafkaConfig>,
    source: TopicPartition,
    hold: watch::Receiver<Hold>,
    stay: Stay,
) {
    let owner = Owner {
        stay,
        shared,
        kafka,
        source,
        hold,
        doing: Doing::Nothing,
        token: None,
        batches: watch::channel(true).0,
        drained: None,
        pause: UNREADY,
        stops: 0,
        unreadable: None,
        repeats: Repeats::default(),
    };
    owner.run().await;
}

struct Owner {
    shared: Arc<Shared>,
    kafka: Arc<KafkaConfig>,
    source: TopicPartition,
    hold: watch::Receiver<Hold>,
    doing: Doing,
    /// The last token that was taken, or may have been.
    token: Option<Uuid>,
    /// Whether the partition may begin another batch.
    batches: watch::Sender<bool>,
    drained: Option<Box<Partition>>,
    /// How long the next backoff lasts.
    pause: Duration,
    /// How often in a row the position was refused.
    stops: u32,
    /// N, where what follows it could not be read. Taking the position anew does not mend that.
    unreadable: Option<i64>,
    repeats: Repeats,
    /// The metrics show the partition for as long as this is here.
    stay: Stay,
}

enum Doing {
    Nothing,
    Waiting(BoxFuture<'static, ()>),
    Placing(BoxFuture<'static, Result<Placed, NotPlaced>>),
    Starting(BoxFuture<'static, Result<Box<Partition>, KafkaError>>),
    Consuming(BoxFuture<'static, (End, Box<Partition>)>),
}

enum Did {
    Waited,
    Placed(Result<Placed, NotPlaced>),
    Started(Result<Box<Partition>, KafkaError>),
    Consumed(End, Box<Partition>),
}

impl Owner {
    async fn run(mut self) {
        let start = Instant::now();
        let (mut state, mut actions) = State::assigned();
        loop {
            for action in actions {
                self.act(action, start).await;
            }
            if state == State::Closed {
                return;
            }
            let event = self.event(state, start).await;
            if event == Event::Lost {
                self.say_lost();
            }
            (state, actions) = state.on(event, start.elapsed());
        }
    }

    async fn act(&mut self, action: Action, start: Instant) {
        match action {
            Action::FindPosition => self.find_position(),
            Action::FindPositionLater => {
                self.doing = Doing::Waiting(tokio::time::sleep(self.pause).boxed());
            }
            Action::ShowStopped => self.wait_stopped(),
            Action::BeginNoBatch => {
                self.batches.send_replace(false);
            }
            Action::CancelPosition => {
                self.doing = Doing::Nothing;
                self.untake().await;
            }
            Action::AbandonBatch => self.doing = Doing::Nothing,
            Action::CommitOffset { deadline } => {
                if let Some(mut partition) = self.drained.take() {
                    partition.give_back(start + deadline).await;
                }
            }
            // The queue ends with its partition, the supervisor answers the group for all of an event's
            // partitions, and a position is fetched from as soon as it is placed.
            Action::DropBuffers | Action::Unassign | Action::Fetch { .. } => {}
        }
    }

    /// Waits until a stopped partition is looked at again: at once where a command holds the consumer back or lets it go
    /// on, as it does around `offsets adopt`.
    fn wait_stopped(&mut self) {
        self.stops = self.stops.saturating_add(1);
        let time = STOPPED.wait(self.stops, fastrand::f64());
        let mut controls = self.shared.controls();
        controls.mark_unchanged();
        let wait = async move {
            tokio::select! {
                () = tokio::time::sleep(time) => {}
                Ok(()) = controls.changed() => {}
            }
        };
        self.doing = Doing::Waiting(wait.boxed());
    }

    fn find_position(&mut self) {
        let (shared, kafka, source) =
            (self.shared.clone(), self.kafka.clone(), self.source.clone());
        let token = Uuid::new_v4();
        self.token = Some(token);
        let take = async move { assignment::take(&shared, &kafka, &source, token).await };
        self.doing = Doing::Placing(take.boxed());
    }

    /// Gives a position back that was taken, or may have been, and never consumed: its owner did not die.
    async fn untake(&mut self) {
        if let Some(token) = self.token.take() {
            let key = self.shared.key(&self.source);
            let release = self.shared.inbox.release(&key, token, None);
            let _late = tokio::time::timeout(UNTAKE, release).await;
        }
    }

    async fn event(&mut self, state: State, start: Instant) -> Event {
        loop {
            let deadline = match state {
                State::Draining { deadline } => Some(start + deadline),
                State::Assigned | State::Consuming | State::Closed => None,
            };
            let did = tokio::select! {
                biased;
                event = taken_away(&mut self.hold) => return event,
                () = until(deadline) => return Event::Tick,
                did = self.doing.next() => did,
            };
            if let Some(event) = self.did(did) {
                return event;
            }
        }
    }

    fn did(&mut self, did: Did) -> Option<Event> {
        self.doing = Doing::Nothing;
        match did {
            Did::Waited => Some(Event::Again),
            Did::Placed(placed) => self.placed(placed),
            Did::Started(started) => Some(self.started(started)),
            Did::Consumed(end, partition) => Some(self.consumed(end, partition)),
        }
    }

    fn placed(&mut self, placed: Result<Placed, NotPlaced>) -> Option<Event> {
        match placed {
            Ok(placed) => {
                // Where the log ends there is nothing that could not be read: another partition's batch was meant.
                if placed.at_end || self.unreadable != Some(placed.position.next) {
                    self.unreadable = None;
                    self.repeats.over();
                    self.shared.stopped(&self.source, None);
                }
                self.stops = 0;
                self.shared.owns(&self.source, placed.position.token);
                let (shared, batches) = (self.shared.clone(), self.batches.subscribe());
                self.doing = Doing::Starting(start(shared, placed, batches).boxed());
                None
            }
            Err(NotPlaced::NotNow(reason)) => {
                self.pause = UNREADY;
                self.shared.waits(&self.source, Some(reason.clone()));
                self.say(
                    "the position cannot be taken now; it is tried again",
                    &reason,
                );
                Some(Event::Unready)
            }
            Err(NotPlaced::Stopped(reason)) => {
                self.say("partition stopped", &reason);
                self.shared.stopped(&self.source, Some(reason));
                Some(Event::Refused)
            }
        }
    }

    fn started(&mut self, started: Result<Box<Partition>, KafkaError>) -> Event {
        match started {
            Ok(partition) => {
                let at = partition.next();
                self.shared.waits(&self.source, None);
                self.doing = Doing::Consuming(consume(partition).boxed());
                Event::Placed { at }
            }
            Err(error) => {
                self.pause = UNREADY;
                self.say("the partition cannot be fetched yet", &error.to_string());
                Event::Unready
            }
        }
    }

    fn consumed(&mut self, end: End, partition: Box<Partition>) -> Event {
        let (consumer, source) = (&self.shared.name, &self.source);
        match end {
            End::Drained => {
                self.drained = Some(partition);
                Event::Drained
            }
            End::Fenced => {
                tracing::warn!(%consumer, partition = %source, "fenced: another host, or an `offsets` command, has taken this position; nothing more is committed from it here");
                self.shared.disowns(source);
                self.stay.place.forget();
                self.pause = FENCED;
                Event::Fenced
            }
            End::Unreadable(reason) => {
                let at = partition.next();
                let reason = format!(
                    "unreadable at {at}: {reason}; it is tried again; to go on behind it, run `tidegate consumer pause {consumer}`, then `tidegate offsets set {consumer} --topic {} --partition {} --skip COUNT` with the COUNT of offsets to leave out, then `tidegate consumer resume {consumer}`: the gap is kept as a dead letter",
                    source.topic, source.partition
                );
                self.unreadable = Some(at);
                self.say("partition stopped", &reason);
                self.shared.stopped(&self.source, Some(reason));
                self.pause = UNREADABLE;
                Event::Fenced
            }
            End::Again(reason) => {
                tracing::warn!(%consumer, partition = %source, reason, "the position is taken anew");
                self.stay.place.forget();
                self.pause = UNREADY;
                Event::Fenced
            }
        }
    }

    fn say_lost(&self) {
        let (consumer, partition) = (&self.shared.name, &self.source);
        tracing::warn!(%consumer, %partition, "fenced: the group has given this partition away unasked; what was under way is rolled back, and nothing more is committed here");
    }

    fn say(&mut self, what: &str, reason: &str) {
        let (consumer, partition) = (&self.shared.name, &self.source);
        match self.repeats.failed(Instant::now()) {
            Say::First => tracing::warn!(%consumer, %partition, "{what}: {reason}"),
            Say::Again(times, since) => {
                tracing::warn!(%consumer, %partition, times, ?since, "{what}: {reason}");
            }
            Say::Nothing => {}
        }
    }
}

impl Doing {
    async fn next(&mut self) -> Did {
        match self {
            Doing::Nothing => std::future::pending().await,
            Doing::Waiting(waiting) => {
                waiting.await;
                Did::Waited
            }
            Doing::Placing(placing) => Did::Placed(placing.await),
            Doing::Starting(starting) => Did::Started(starting.await),
            Doing::Consuming(consuming) => {
                let (end, partition) = consuming.await;
                Did::Consumed(end, partition)
            }
        }
    }
}

async fn start(
    shared: Arc<Shared>,
    placed: Placed,
    batches: watch::Receiver<bool>,
) -> Result<Box<Partition>, KafkaError> {
    let queue = shared
        .kafka
        .start(&placed.source, placed.position.next)
        .await?;
    Ok(Box::new(Partition::new(shared, queue, batches, placed)))
}

async fn consume(mut partition: Box<Partition>) -> (End, Box<Partition>) {
    let end = partition.run().await;
    (end, partition)
}

async fn taken_away(hold: &mut watch::Receiver<Hold>) -> Event {
    loop {
        if hold.changed().await.is_err() {
            return Event::Lost;
        }
        match *hold.borrow_and_update() {
            Hold::Held => {}
            Hold::Draining(deadline) => {
                return Event::Revoked {
                    grace: deadline.saturating_duration_since(Instant::now()),
                };
            }
            Hold::Lost => return Event::Lost,
        }
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}
