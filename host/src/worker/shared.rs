//! What the workers of one consumer share.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tidegate_core::brake::{Brake, Ended, Trip};
use tidegate_core::control::Control;
use tidegate_core::progress::ProgressKey;
use tidegate_core::record::TopicPartition;
use tokio::sync::{Notify, Semaphore, watch};
use uuid::Uuid;

use crate::config::ConsumerConfig;
use crate::engine::{Engine, GuestEnv, Module};
use crate::inbox::{Guest, Inbox, Transaction};
use crate::kafka::Consumer;
use crate::meters::Meters;
use crate::worker::alone::Stage;
use crate::worker::lanes::Lanes;

/// What a guest's statements run in.
pub type Db = Box<Transaction>;

/// The most looks into logs under way at once.
const LOOKS: usize = 8;

/// One consumer's surroundings.
pub struct Shared {
    /// Its part of the configuration.
    pub config: ConsumerConfig,
    /// Its name.
    pub name: Arc<str>,
    /// Its place in the group.
    pub kafka: Consumer,
    /// The database.
    pub inbox: Inbox,
    /// Where guests run.
    pub engine: Engine<Db>,
    /// The module that the handler's file holds now.
    pub modules: watch::Receiver<Arc<Module<Db>>>,
    /// What its guests see and may use.
    pub env: Arc<GuestEnv>,
    /// How long the guests of one batch may run together, before the batch is made smaller.
    pub batch_time: Duration,
    /// Held while a topic's partitions are registered.
    pub registering: tokio::sync::Mutex<()>,
    /// Bounds the looks into logs that are under way.
    pub looking: Semaphore,
    /// How many of its batches run at the same time.
    pub lanes: Arc<Lanes>,
    /// What it measures.
    pub meters: Arc<Meters>,
    /// Rung when a dead letter was written.
    pub letters: Notify,
    /// This process.
    pub host: Host,
    /// Shared by all consumers: who runs beside whom.
    pub stage: Stage,
    /// Rung when the consumer's state is to be read now.
    pub look: Notify,
    control: watch::Sender<Control>,
    brake: Mutex<(Option<Brake>, Instant)>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    tokens: HashMap<TopicPartition, Uuid>,
    quarantined: HashSet<[u8; 32]>,
    stopped: HashMap<TopicPartition, String>,
    /// Partitions in which a record's mark stands, or may stand.
    marked: HashSet<TopicPartition>,
    /// Some partition was stopped when the end began.
    ended_stopped: bool,
}

/// The process that runs consumers, as others see it.
#[derive(Clone, Debug)]
pub struct Host {
    /// Another one in every process.
    pub id: Uuid,
    /// Machine and process, for people.
    pub label: String,
}

impl Host {
    /// This process.
    pub fn this() -> Self {
        let machine = nix::unistd::gethostname().unwrap_or_default();
        Self {
            id: Uuid::new_v4(),
            label: format!("{}:{}", machine.to_string_lossy(), std::process::id()),
        }
    }
}

/// What [`Shared`] is made of.
pub struct Parts {
    /// The consumer's part of the configuration.
    pub config: ConsumerConfig,
    /// Its place in the group.
    pub kafka: Consumer,
    /// The database.
    pub inbox: Inbox,
    /// Where guests run.
    pub engine: Engine<Db>,
    /// The module that the handler's file holds now.
    pub modules: watch::Receiver<Arc<Module<Db>>>,
    /// How long the guests of one batch may run together.
    pub batch_time: Duration,
    /// What it measures.
    pub meters: Arc<Meters>,
    /// This process.
    pub host: Host,
    /// Shared by all consumers: who runs beside whom.
    pub stage: Stage,
}

impl Shared {
    /// Brings the parts together.
    pub fn new(parts: Parts) -> Self {
        let name: Arc<str> = parts.config.name.as_str().into();
        let env = GuestEnv::of(&parts.config);
        let brake = parts.config.brake.map(Brake::new);
        Self {
            lanes: Lanes::new(name.clone()),
            name,
            env,
            config: parts.config,
            kafka: parts.kafka,
            inbox: parts.inbox,
            engine: parts.engine,
            modules: parts.modules,
            batch_time: parts.batch_time,
            registering: tokio::sync::Mutex::new(()),
            looking: Semaphore::new(LOOKS),
            meters: parts.meters,
            letters: Notify::new(),
            host: parts.host,
            stage: parts.stage,
            look: Notify::new(),
            control: watch::Sender::default(),
            brake: Mutex::new((brake, Instant::now())),
            state: Mutex::default(),
        }
    }

    /// The module that runs from the next transaction on.
    pub fn module(&self) -> Arc<Module<Db>> {
        Arc::clone(&self.modules.borrow())
    }

    /// What the statements of `module`'s guests run as and within.
    pub fn guest(&self, module: &Module<Db>) -> Arc<Guest> {
        let config = &self.config.guest;
        Arc::new(Guest {
            module: module.name().into(),
            role: config.role.as_deref().map(Into::into),
            limits: (&config.limits).into(),
        })
    }

    /// The name of a partition's progress row.
    pub fn key(&self, source: &TopicPartition) -> ProgressKey {
        ProgressKey {
            consumer: self.name.to_string(),
            source: source.clone(),
        }
    }

    /// Remembers the token under which this host owns `source`.
    pub fn owns(&self, source: &TopicPartition, token: Uuid) {
        self.state().tokens.insert(source.clone(), token);
    }

    /// Forgets a partition that this host no longer owns.
    pub fn disowns(&self, source: &TopicPartition) {
        let mut state = self.state();
        state.tokens.remove(source);
        state.stopped.remove(source);
    }

    /// The tokens of the partitions owned now.
    pub fn tokens(&self) -> Vec<Uuid> {
        self.state().tokens.values().copied().collect()
    }

    /// How many partitions are owned now.
    pub fn partitions(&self) -> usize {
        self.state().tokens.len()
    }

    /// Bars a module that tried to leave its transaction. It runs no more until another is activated.
    pub fn quarantine(&self, module: &Module<Db>) {
        self.state().quarantined.insert(module.digest());
    }

    /// Whether `module` is barred.
    pub fn is_quarantined(&self, module: &Module<Db>) -> bool {
        self.state().quarantined.contains(&module.digest())
    }

    /// A record's mark is about to stand in a partition.
    pub fn marks(&self, source: &TopicPartition) {
        self.state().marked.insert(source.clone());
    }

    /// No mark stands there.
    pub fn unmarks(&self, source: &TopicPartition) {
        self.state().marked.remove(source);
    }

    /// Partitions that this host lost while a mark of it stood.
    pub fn lost_under_a_mark(&self) -> Vec<TopicPartition> {
        let state = self.state();
        let lost = |tp: &&TopicPartition| !state.tokens.contains_key(*tp);
        state.marked.iter().filter(lost).cloned().collect()
    }

    /// Marks a partition as stopped, with the reason, or as going again.
    pub fn stopped(&self, source: &TopicPartition, reason: Option<String>) {
        let mut state = self.state();
        match reason {
            Some(reason) => state.stopped.insert(source.clone(), reason),
            None => state.stopped.remove(source),
        };
    }

    /// The consumer ends: what is stopped now decides the exit code, whatever is given back after this.
    pub fn ending(&self) {
        let mut state = self.state();
        state.ended_stopped = !state.stopped.is_empty();
    }

    /// Whether some partition waits under a *stop* verdict, or did when the consumer ended.
    pub fn any_stopped(&self) -> bool {
        let state = self.state();
        state.ended_stopped || !state.stopped.is_empty()
    }

    /// The partitions that are stopped now.
    pub fn stopped_partitions(&self) -> Vec<TopicPartition> {
        self.state().stopped.keys().cloned().collect()
    }

    /// Whether the consumer may handle records, as far as this host has heard.
    pub fn control(&self) -> Control {
        self.control.borrow().clone()
    }

    /// Follows the consumer's state.
    pub fn controls(&self) -> watch::Receiver<Control> {
        self.control.subscribe()
    }

    /// The consumer's state is this now.
    pub fn control_is(&self, control: Control) {
        self.control.send_replace(control);
    }

    /// Whether committing records that ended so would trip the brake.
    pub fn trips(&self, ends: impl Iterator<Item = Ended>) -> Option<Trip> {
        self.brake().0.as_ref()?.trips(ends)
    }

    /// Records that ended so are committed.
    pub fn ended(&self, ends: impl Iterator<Item = Ended>) {
        if let Some(brake) = self.brake().0.as_mut() {
            brake.committed(ends);
        }
    }

    /// The consumer runs again: what held it back counts no more.
    pub fn brake_released(&self) {
        let mut brake = self.brake();
        brake.1 = Instant::now();
        if let Some(brake) = brake.0.as_mut() {
            brake.clear();
        }
        drop(brake);
        self.state().quarantined.clear();
    }

    /// Another module is active: what the last one's records came to counts no more.
    pub fn module_changed(&self) {
        if let Some(brake) = self.brake().0.as_mut() {
            brake.clear();
        }
    }

    /// How long this host has run the consumer since it was last held back.
    pub fn running_for(&self) -> Duration {
        self.brake().1.elapsed()
    }

    /// Brakes the consumer on all hosts, for what the active module did.
    pub async fn hold_back(&self, reason: &str) {
        let (name, digest, since) = (&self.name, self.module().digest(), self.running_for());
        match self.inbox.brake(name, reason, &digest, since).await {
            Ok(_) => self.look.notify_one(),
            Err(error) => {
                tracing::warn!(consumer = %name, reason, %error, "the consumer is to be braked, which cannot be written down now");
            }
        }
    }

    fn brake(&self) -> MutexGuard<'_, (Option<Brake>, Instant)> {
        self.brake.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
