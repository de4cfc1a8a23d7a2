//! What the workers of one consumer share.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tidegate_core::control::{self, Control};
use tidegate_core::progress::ProgressKey;
use tidegate_core::readiness;
use tidegate_core::record::TopicPartition;
use tokio::sync::{Notify, Semaphore, watch};
use uuid::Uuid;

use crate::config::ConsumerConfig;
use crate::engine::{Engine, Module};
use crate::inbox::{Inbox, Transaction};
use crate::kafka::Consumer;
use crate::meters::Meters;
use crate::worker::alone::Stage;
use crate::worker::lanes::Lanes;
use crate::worker::registration::Registration;
use crate::worker::roster::Roster;
use crate::worker::tenant::{Modules, Tenant};

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
    /// What runs where records have no tenants, and what tenants have that say nothing else.
    pub own: Arc<Tenant>,
    /// How long the guests of one batch may run together, before the batch is made smaller.
    pub batch_time: Duration,
    /// For how long a sound partition may have records without a committed batch.
    pub patience: Duration,
    /// Where its topics end, where that counts: written down before the group is joined.
    pub registration: Registration,
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
    /// Rung when the tenants are to be read now.
    pub look_at_tenants: Notify,
    /// Rung when a partition was stopped, or goes again.
    pub stops: Notify,
    control: watch::Sender<Control>,
    roster: watch::Sender<Option<Arc<Roster>>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    tokens: HashMap<TopicPartition, Uuid>,
    stopped: HashMap<TopicPartition, String>,
    /// Why positions cannot be had now.
    waiting: HashMap<TopicPartition, String>,
    /// Partitions in which a record's mark stands, or may stand.
    marked: HashSet<TopicPartition>,
    /// Some partition was stopped when the end began.
    ended_stopped: bool,
    /// Some position of the consumer's is this host's to work on.
    ours: bool,
    /// That the rule for event ids has changed was told.
    rule_told: bool,
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
    pub modules: Modules,
    /// How long the guests of one batch may run together.
    pub batch_time: Duration,
    /// What it measures.
    pub meters: Arc<Meters>,
    /// Where its topics end, where that counts.
    pub registration: Registration,
    /// This process.
    pub host: Host,
    /// Shared by all consumers: who runs beside whom.
    pub stage: Stage,
}

impl Shared {
    /// Brings the parts together.
    pub fn new(parts: Parts) -> Self {
        let name: Arc<str> = parts.config.name.as_str().into();
        let judge = parts.inbox.judge(&parts.config.guest.sql);
        let own = Tenant::own(&parts.config, parts.modules, judge);
        let walls = parts.config.guests().map(|guest| guest.limits.wall);
        let (wall, retry) = (walls.max().unwrap_or_default(), parts.config.retry.max);
        let patience = readiness::patience(parts.batch_time, wall, retry);
        Self {
            lanes: Lanes::new(name.clone()),
            name,
            own: Arc::new(own),
            config: parts.config,
            kafka: parts.kafka,
            inbox: parts.inbox,
            engine: parts.engine,
            batch_time: parts.batch_time,
            patience,
            registration: parts.registration,
            registering: tokio::sync::Mutex::new(()),
            looking: Semaphore::new(LOOKS),
            meters: parts.meters,
            letters: Notify::new(),
            host: parts.host,
            stage: parts.stage,
            look: Notify::new(),
            look_at_tenants: Notify::new(),
            stops: Notify::new(),
            control: watch::Sender::default(),
            roster: watch::Sender::default(),
            state: Mutex::default(),
        }
    }

    /// The tenants, once they are known.
    pub fn roster(&self) -> Option<Arc<Roster>> {
        self.roster.borrow().clone()
    }

    /// Follows the tenants.
    pub fn rosters(&self) -> watch::Receiver<Option<Arc<Roster>>> {
        self.roster.subscribe()
    }

    /// The tenants are these now.
    pub fn roster_is(&self, roster: Arc<Roster>) {
        self.roster.send_replace(Some(roster));
    }

    /// Whether nothing can run before another module is activated. Where there are tenants each is barred by itself.
    pub fn is_barred(&self) -> bool {
        self.config.tenants.is_none() && self.own.is_quarantined(&self.own.module())
    }

    /// How event ids are read, in a line.
    pub fn id_rule(&self) -> String {
        self.config.dedup.id_rule(self.config.tenants.is_some())
    }

    /// Whether nobody has told yet that this has changed; asked once, it has been.
    pub fn is_first_to_tell_rule(&self) -> bool {
        !std::mem::replace(&mut self.state().rule_told, true)
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
        state.waiting.remove(source);
    }

    /// The tokens of the partitions owned now.
    pub fn tokens(&self) -> Vec<Uuid> {
        self.state().tokens.values().copied().collect()
    }

    /// How many partitions are owned now.
    pub fn partitions(&self) -> usize {
        self.state().tokens.len()
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
        let now = reason.clone();
        let before = match reason {
            Some(reason) => state.stopped.insert(source.clone(), reason),
            None => state.stopped.remove(source),
        };
        if before != now {
            self.stops.notify_one();
        }
    }

    /// Whether a partition is stopped now.
    pub fn is_stopped(&self, source: &TopicPartition) -> bool {
        self.state().stopped.contains_key(source)
    }

    /// The partitions that are stopped now, and why each is.
    pub fn stopped_for(&self) -> HashMap<TopicPartition, String> {
        self.state().stopped.clone()
    }

    /// Whether some position of the consumer's is its group's on this cluster, so that its letters and its brake are this
    /// host's to work on too.
    pub fn is_ours(&self) -> bool {
        self.state().ours
    }

    /// Notes that it is so, or not.
    pub fn ours(&self, ours: bool) {
        self.state().ours = ours;
    }

    /// The position of `source` cannot be had now, for this reason; or it is had.
    pub fn waits(&self, source: &TopicPartition, reason: Option<String>) {
        let mut state = self.state();
        match reason {
            Some(reason) => state.waiting.insert(source.clone(), reason),
            None => state.waiting.remove(source),
        };
    }

    /// Why the position of `source` could not be had when it was last tried.
    pub fn waits_for(&self, source: &TopicPartition) -> Option<String> {
        self.state().waiting.get(source).cloned()
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

    /// Whether this host may handle records with the module that it runs now, as far as it has heard.
    pub fn runs(&self) -> bool {
        self.state_here() == control::State::Running
    }

    /// What this host may do with the module that it runs now.
    pub fn state_here(&self) -> control::State {
        self.control.borrow().state_of(&self.own.module().digest())
    }

    /// Follows the consumer's state.
    pub fn controls(&self) -> watch::Receiver<Control> {
        self.control.subscribe()
    }

    /// The consumer's state is this now.
    pub fn control_is(&self, control: Control) {
        self.control.send_replace(control);
    }

    /// Brakes a tenant, or a consumer without tenants, on all hosts for what `module` did.
    pub async fn hold_back(&self, whose: &Tenant, module: &Module<Db>, reason: &str) {
        let (consumer, tenant) = (&self.name, whose.name());
        let (digest, since) = (module.digest(), whose.conduct.running_for());
        let braked = match &whose.name {
            None => self.inbox.brake(consumer, reason, &digest, since).await,
            Some(name) => {
                let of = (&**consumer, name);
                let braked = self.inbox.brake_tenant(of, reason, Some(digest), since);
                braked.await
            }
        };
        match braked {
            Ok(episode) => {
                if let (Some(tenant), Some(episode)) = (tenant, episode) {
                    tracing::error!(%consumer, tenant, reason, episode, "the tenant is braked: its records are put aside as dead letters until another module of it is active or `tidegate tenant enable` lets it go on");
                }
                self.look.notify_one();
                self.look_at_tenants.notify_one();
            }
            Err(error) => {
                tracing::warn!(%consumer, tenant, reason, %error, "a brake is to be set, which cannot be written down now");
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
