//! `tidegate run`: the order in which things start and stop.

mod retention;
mod watched;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::watched::Watched;
use crate::config::{Config, ConsumerConfig, KafkaConfig, defaults};
use crate::engine::{Engine, EngineOptions, GuestEnv, watch};
use crate::inbox::{Inbox, InboxError, KeepRule, PruneRule, Wall};
use crate::kafka::{self, Publisher, Subscription};
use crate::meters::{Meters, names};
use crate::signals::Signals;
use crate::worker::alone::Stage;
use crate::worker::control;
use crate::worker::prune::{Rules, prune};
use crate::worker::readiness;
use crate::worker::registration::Registration;
use crate::worker::relay::relay;
use crate::worker::replay::replay;
use crate::worker::shared::{Db, Host, Parts, Shared};
use crate::worker::stops;
use crate::worker::supervisor::supervise;
use crate::worker::tenant::Modules;
use crate::worker::tenants::{self, Handlers};

/// The most guest instances alive at once; each reserves address space.
const MAX_INSTANCES: u32 = 64;

/// How long leaving a group may take: it needs one answer of the broker.
const CLOSE: Duration = Duration::from_secs(5);

/// How a run is wanted.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Bring the schema up to date first.
    pub migrate: bool,
    /// The allow-list in front of guest SQL.
    pub wall: Wall,
}

/// Why a run ended badly.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// Something was wrong before the first record: the configuration, the schema or a module.
    #[error("{0}")]
    Setup(String),
    /// The database, or how it is set up.
    #[error(transparent)]
    Inbox(#[from] InboxError),
    /// The run failed.
    #[error("{0}")]
    Failed(String),
    /// Some partition was waiting under a *stop* verdict at the end.
    #[error("stopped: {0}")]
    Stopped(String),
}

fn setup(error: impl std::fmt::Display) -> AppError {
    AppError::Setup(error.to_string())
}

/// Runs every consumer of `config` until a signal stops it ([`Signals`]); a second one ends at once.
pub async fn run(config: Config, options: RunOptions) -> Result<(), AppError> {
    let stop = CancellationToken::new();
    let signals = Signals::listen().map_err(setup)?;
    let signals = tokio::spawn(signals.cancel(stop.clone()));
    let result = run_until(config, options, stop).await;
    signals.abort();
    result
}

/// Runs every consumer of `config` until `stop`.
pub async fn run_until(
    config: Config,
    options: RunOptions,
    stop: CancellationToken,
) -> Result<(), AppError> {
    let mut tasks = JoinSet::new();
    // First of all: who watches is told from the start what the host waits for.
    let watched = Watched::start(&config, &mut tasks, &stop).await?;
    let inbox = Inbox::new(&config.postgres, options.wall)?;
    if !schema(&inbox, options.migrate, &stop).await? {
        tracing::info!("stopped before the database was ready: nothing was begun");
        return Ok(());
    }
    let kafka = Arc::new(config.kafka.clone());
    let registrations = register(&config, (&kafka, &inbox), &mut tasks, &stop).await;
    let engine = Engine::new(engine_options(&config)).map_err(setup)?;
    // Nobody joins a group before every module is there.
    let (mut handlers, mut tenants) = (Vec::new(), Vec::new());
    for consumer in &config.consumers {
        let handler = watch::open(
            &engine,
            &consumer.guest.handler,
            &GuestEnv::of(&consumer.name, None, &consumer.guest),
        )
        .await;
        handlers.push(handler.map_err(setup)?);
        tenants.push(Handlers::open(&engine, consumer).await.map_err(setup)?);
    }
    let mut consumers = Vec::new();
    let (host, stage) = (Host::this(), Stage::default());
    let handled = config.consumers.iter().zip(&handlers);
    for ((consumer, handler), (tenants, registration)) in
        handled.zip(tenants.into_iter().zip(registrations))
    {
        let meters = Meters::new(&watched.registry, consumer);
        let handlers = (handler.changed(), tenants);
        let parts = (consumer, handlers, inbox.clone(), engine.clone());
        let process = (&host, &stage, meters, registration);
        consumers.push(start(&config, parts, process, (&mut tasks, &stop))?);
    }
    tasks.spawn(task(retention::warn(config.clone(), stop.clone())));
    watched.consumers(&inbox, &consumers, &mut tasks, &stop);
    let interval = config.postgres.prune_interval;
    tasks.spawn(task(prune(
        inbox.clone(),
        prune_rules(&config),
        interval,
        watched.registry.counter(&names::PRUNED, &[]),
        stop.clone(),
    )));
    let patience = config.shutdown_timeout.saturating_sub(CLOSE);
    let result = first_failure(&mut tasks, &stop, patience).await;
    let stopped = consumers
        .iter()
        .find(|s| s.any_stopped())
        .map(|s| s.name.to_string());
    close(consumers, handlers).await;
    result?;
    stopped.map_or(Ok(()), |name| {
        Err(AppError::Stopped(format!(
            "consumer \"{name}\" has a stopped partition; the log says why"
        )))
    })
}

/// Waits for a database that cannot be reached, as for any infrastructure; `false` if it was stopped meanwhile.
async fn schema(inbox: &Inbox, migrate: bool, stop: &CancellationToken) -> Result<bool, AppError> {
    let mut said = false;
    loop {
        let prepared = tokio::select! {
            () = stop.cancelled() => return Ok(false),
            prepared = Box::pin(prepare(inbox, migrate)) => prepared,
        };
        match prepared {
            Err(error) if is_infrastructure(&error) => {
                if !std::mem::replace(&mut said, true) {
                    tracing::warn!(%error, "waiting for the database");
                }
            }
            Ok(()) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
        tokio::select! {
            () = stop.cancelled() => return Ok(false),
            () = tokio::time::sleep(Duration::from_millis(500)) => {}
        }
    }
}

/// Begins to write down where topics end, where consumers begin there, and waits for that a while: so the end is the one
/// of the start, however long modules take.
async fn register(
    config: &Config,
    (kafka, inbox): (&Arc<KafkaConfig>, &Inbox),
    tasks: &mut JoinSet<Result<(), String>>,
    stop: &CancellationToken,
) -> Vec<Registration> {
    let mut registrations = Vec::new();
    for consumer in &config.consumers {
        let (registration, work) = Registration::of(consumer, kafka, inbox);
        let stop = stop.clone();
        tasks.spawn(task(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = work => {}
            }
        }));
        registrations.push(registration);
    }
    tokio::select! {
        () = stop.cancelled() => {}
        _ = join_all(registrations.iter().cloned().map(Registration::done_soon)) => {}
    }
    registrations
}

/// The schema is this binary's, and what the host relies on in it works.
async fn prepare(inbox: &Inbox, migrate: bool) -> Result<(), InboxError> {
    if migrate {
        inbox.migrate().await?;
    }
    inbox.check_schema().await?;
    inbox.prove().await
}

fn start(
    config: &Config,
    (consumer, (modules, handlers), inbox, engine): (
        &ConsumerConfig,
        (Modules, Handlers),
        Inbox,
        Engine<Db>,
    ),
    (host, stage, meters, registration): (&Host, &Stage, Arc<Meters>, Registration),
    (tasks, stop): (&mut JoinSet<Result<(), String>>, &CancellationToken),
) -> Result<Arc<Shared>, AppError> {
    let subscription = Subscription {
        consumer: consumer.name.as_str().into(),
        group: consumer.group.clone(),
        topics: consumer.topics.clone(),
        queue: consumer.queue,
    };
    let (kafka, events) = kafka::subscribe(&config.kafka, subscription).map_err(setup)?;
    // A transaction that stands for longer would be ended by the server, over and over.
    let batch_time = config.postgres.idle_in_transaction_timeout / 4;
    let config_of = consumer.clone();
    let parts = Parts {
        config: config_of,
        kafka,
        inbox,
        engine,
        modules,
        batch_time,
        meters,
        registration,
        host: host.clone(),
        stage: stage.clone(),
    };
    let shared = Arc::new(Shared::new(parts));
    tasks.spawn(supervise(
        shared.clone(),
        Arc::new(config.kafka.clone()),
        events,
        stop.clone(),
    ));
    tasks.spawn(task(control::keep(shared.clone(), stop.clone())));
    tasks.spawn(task(stops::keep(shared.clone(), stop.clone())));
    tasks.spawn(task(readiness::watch(shared.clone(), stop.clone())));
    tasks.spawn(task(replay(shared.clone(), stop.clone())));
    tasks.spawn(task(tenants::keep(shared.clone(), handlers, stop.clone())));
    if let Some(topic) = consumer.dead_letter_topic.clone() {
        let publisher = Publisher::new(&config.kafka).map_err(setup)?;
        tasks.spawn(task(relay(
            shared.clone(),
            (publisher, topic),
            stop.clone(),
        )));
    }
    Ok(shared)
}

/// A pool that every consumer's batches fit in, for guests as large as the largest limit.
fn engine_options(config: &Config) -> EngineOptions {
    let guests = config.consumers.iter().flat_map(ConsumerConfig::guests);
    let memory = guests.map(|guest| guest.limits.memory).max();
    let instances = u32::try_from(config.postgres.max_connections).unwrap_or(u32::MAX);
    EngineOptions {
        cache_dir: config.module_cache.clone(),
        max_instances: instances.clamp(2, MAX_INSTANCES),
        max_memory: memory.unwrap_or_default(),
    }
}

fn prune_rules(config: &Config) -> Rules {
    let grace = |c: &ConsumerConfig| (c.name.clone(), c.dedup.grace);
    let grace: Vec<_> = config.consumers.iter().map(grace).collect();
    let others = grace.iter().map(|(_, grace)| *grace).max();
    let keep = |c: &ConsumerConfig| {
        let publishes = c.dead_letter_topic.is_some();
        (c.name.clone(), c.letters.keep_closed, publishes)
    };
    let keep: Vec<_> = config.consumers.iter().map(keep).collect();
    let longest = keep.iter().map(|(_, keep, _)| *keep).max();
    Rules {
        claims: PruneRule {
            grace,
            others: others.unwrap_or_default(),
        },
        letters: KeepRule {
            keep,
            others: longest.unwrap_or(defaults::KEEP_CLOSED),
        },
    }
}

async fn task(work: impl Future<Output = ()>) -> Result<(), String> {
    work.await;
    Ok(())
}

/// Waits for all tasks; the first that fails stops the others. What has not ended `patience` after the stop is
/// aborted, which rolls its batch back.
async fn first_failure(
    tasks: &mut JoinSet<Result<(), String>>,
    stop: &CancellationToken,
    patience: Duration,
) -> Result<(), AppError> {
    let mut result = Ok(());
    let overdue = overdue(stop, patience);
    tokio::pin!(overdue);
    loop {
        let ended = tokio::select! {
            ended = tasks.join_next() => ended,
            () = &mut overdue => {
                tracing::warn!(?patience, "not everything ended in time (shutdown_timeout); batches under way are rolled back");
                tasks.shutdown().await;
                return result;
            }
        };
        let failure = match ended {
            None => return result,
            Some(Ok(Ok(()))) => continue,
            Some(Ok(Err(reason))) => reason,
            Some(Err(panicked)) => panicked.to_string(),
        };
        stop.cancel();
        if result.is_ok() {
            result = Err(AppError::Failed(failure));
        }
    }
}

async fn overdue(stop: &CancellationToken, patience: Duration) {
    stop.cancelled().await;
    tokio::time::sleep(patience).await;
}

async fn close(consumers: Vec<Arc<Shared>>, handlers: Vec<watch::Handler<Db>>) {
    let consumers = consumers
        .into_iter()
        .map(|shared| shared.kafka.clone().close(CLOSE));
    join_all(consumers).await;
    for handler in handlers {
        handler.stop().await;
    }
}

fn is_infrastructure(error: &InboxError) -> bool {
    matches!(error, InboxError::Unreachable(_))
}
