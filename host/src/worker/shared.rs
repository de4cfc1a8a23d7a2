//! What the workers of one consumer share.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tidegate_core::progress::ProgressKey;
use tidegate_core::record::TopicPartition;
use tokio::sync::{Notify, Semaphore, watch};
use uuid::Uuid;

use crate::config::ConsumerConfig;
use crate::engine::{Engine, GuestEnv, Module};
use crate::inbox::{Inbox, Transaction};
use crate::kafka::Consumer;
use crate::meters::Meters;
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
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    tokens: HashMap<TopicPartition, Uuid>,
    quarantined: HashSet<[u8; 32]>,
    stopped: HashMap<TopicPartition, String>,
    /// Some partition was stopped when the end began.
    ended_stopped: bool,
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
}

impl Shared {
    /// Brings the parts together.
    pub fn new(parts: Parts) -> Self {
        let name: Arc<str> = parts.config.name.as_str().into();
        let env = GuestEnv {
            consumer: name.clone(),
            limits: parts.config.limits.clone(),
            settings: parts.config.settings.clone(),
        };
        Self {
            lanes: Lanes::new(name.clone()),
            name,
            env: Arc::new(env),
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
            state: Mutex::default(),
        }
    }

    /// The module that runs from the next transaction on.
    pub fn module(&self) -> Arc<Module<Db>> {
        Arc::clone(&self.modules.borrow())
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

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
