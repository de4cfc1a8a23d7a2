//! The engine: all of Wasmtime. Bytes become a compiled, linked module; a module becomes instances.
//!
//! Nothing here trusts a guest: instantiation, start functions, the lifting of arguments and the call itself
//! run under the same limits, and whatever a guest does ends as a [`GuestEnd`], never as a panic or a hang.

mod bindings;
mod cache;
mod config;
mod convert;
mod ending;
mod imports;
mod inspect;
mod instance;
mod load_error;
mod memory;
mod meter;
mod module;
mod output;
mod place;
mod state;
mod ticker;
mod trial;
mod wasi;
pub mod watch;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use tidegate_core::limits::GuestLimits;
use tidegate_core::outcome::GuestEnd;
use tidegate_core::sql::GuestSql;
use tidegate_core::turns::Places;
use tokio::sync::{Mutex, Semaphore};
use wasmtime::component::{HasSelf, Linker};

use crate::config::GuestConfig;
use crate::turnstile::Turnstile;

pub use self::instance::{Event, Instance};
pub use self::load_error::LoadError;
pub use self::module::Module;
pub use self::trial::NoDatabase;

use self::cache::Cache;
use self::state::State;
use self::ticker::Ticker;

/// What the engine is made with.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// Where compiled modules are kept: a directory of this host's own, made with mode 0700 when it is missing.
    pub cache_dir: PathBuf,
    /// The most instances alive at once, 2 or more. A large module may count as two.
    pub max_instances: u32,
    /// The most linear memory any instance may be allowed, in bytes; at most 4 GiB.
    pub max_memory: usize,
}

/// What a consumer gives each of its guests.
#[derive(Clone, Debug)]
pub struct GuestEnv {
    /// The consumer's name.
    pub consumer: Arc<str>,
    /// The tenant's, where there are tenants.
    pub tenant: Option<Arc<str>>,
    /// The consumer's limits.
    pub limits: GuestLimits,
    /// What the guest's `settings.get` reads.
    pub settings: BTreeMap<String, String>,
}

impl GuestEnv {
    /// What a consumer, or one of its tenants, gives its guests.
    pub fn of(consumer: &str, tenant: Option<&str>, guest: &GuestConfig) -> Arc<Self> {
        Arc::new(Self {
            consumer: consumer.into(),
            tenant: tenant.map(Into::into),
            limits: guest.limits.clone(),
            settings: guest.settings.clone(),
        })
    }
}

/// How many guests compute at a time: as many as the process has cores. A runtime with one worker thread more always has
/// one that no guest holds.
pub fn compute_places() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Why the engine cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The pool of instances does not fit the process's address space.
    #[error(
        "cannot reserve memory for {instances} instances of handlers (about {gib} GiB of address space, not of \
         memory): {reason}. Lift the limit on address space (`ulimit -v`) or allow fewer instances"
    )]
    AddressSpace {
        /// `max_instances`
        instances: u32,
        /// Address space, in GiB.
        gib: u64,
        /// Wasmtime's words.
        reason: String,
    },
    /// The directory for compiled modules cannot be used.
    #[error("cannot keep compiled modules in {path}: {reason}")]
    CacheDir {
        /// The directory.
        path: PathBuf,
        /// What is wrong, and the remedy.
        reason: String,
    },
    /// Something that no input should bring about.
    #[error("cannot start the WebAssembly engine: {0}")]
    Internal(String),
}

/// Why there is no instance. The transaction is handed back beside it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoInstance {
    /// The guest trapped or ran into a limit before its first call.
    #[error("the guest ended before its first call: {0:?}")]
    Guest(GuestEnd),
    /// Every place in the pool stayed taken until the deadline: back-pressure, never a record's failure.
    #[error("no place for another instance became free within {} s", config::SLOT_WAIT.as_secs())]
    Busy,
}

/// Compiles and links modules, and makes instances. Cheap to clone.
pub struct Engine<D: GuestSql> {
    inner: Arc<Inner<D>>,
}

struct Inner<D: GuestSql> {
    engine: wasmtime::Engine,
    linker: Linker<State<D>>,
    trial_linker: Linker<State<NoDatabase>>,
    slots: Arc<Semaphore>,
    max_instances: u32,
    /// Places in the pool for modules that are tried.
    trials: Semaphore,
    cache: Cache,
    /// Where guests compute.
    places: Arc<Turnstile>,
    /// Held while a module compiles, so that a module wanted twice is compiled once.
    loading: Mutex<()>,
    ticker: Arc<Ticker>,
}

impl<D: GuestSql> Clone for Engine<D> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
        }
    }
}

impl<D: GuestSql> Engine<D> {
    /// Reserves the pool, opens the cache and starts the clock that interrupts guests. The clock stops with the
    /// last engine, module and instance.
    pub fn new(options: EngineOptions) -> Result<Self, EngineError> {
        let max_instances = options.max_instances.max(2);
        let engine = config::engine(max_instances, options.max_memory)?;
        let cache = Cache::open(options.cache_dir, &engine)?;
        let internal = |e: wasmtime::Error| EngineError::Internal(format!("{e:#}"));
        let trial_linker = linker(&engine).map_err(internal)?;
        let linker = linker(&engine).map_err(internal)?;
        let ticker = Ticker::start(engine.clone())
            .map_err(|e| EngineError::Internal(format!("cannot start a thread: {e}")))?;
        Ok(Self {
            inner: Arc::new(Inner {
                engine,
                linker,
                trial_linker,
                slots: Arc::new(Semaphore::new(max_instances as usize)),
                max_instances,
                trials: Semaphore::new(config::TRIALS as usize),
                cache,
                places: Turnstile::new(Places::new(compute_places())),
                loading: Mutex::new(()),
                ticker: Arc::new(ticker),
            }),
        })
    }

    /// Compiles (or finds in the cache) and links `wasm`, on a thread for blocking work. `name` is what messages
    /// call the module.
    pub async fn load(&self, name: &str, wasm: Vec<u8>) -> Result<Arc<Module<D>>, LoadError> {
        let _one_at_a_time = self.inner.loading.lock().await;
        let inner = Arc::clone(&self.inner);
        let name: Arc<str> = name.into();
        let task = tokio::task::spawn_blocking({
            let name = Arc::clone(&name);
            move || module::load(&inner, name, &wasm).map(Arc::new)
        });
        task.await.unwrap_or_else(|e| {
            Err(LoadError::Interrupted {
                name: name.to_string(),
                reason: e.to_string(),
            })
        })
    }

    /// Starts `module` once within `env`'s limits and without a database, and drops it again: what cannot start is to be
    /// found before a record depends on it.
    ///
    /// # Errors
    /// [`LoadError::CannotStart`], with the limit's code where it ran into one.
    pub async fn try_start(
        &self,
        module: &Arc<Module<D>>,
        env: &Arc<GuestEnv>,
    ) -> Result<(), LoadError> {
        let wanted = module.slots().min(config::TRIALS);
        let place = self.inner.trials.acquire_many(wanted);
        let Ok(Ok(_place)) = tokio::time::timeout(config::TRIAL_WAIT, place).await else {
            return Err(LoadError::Interrupted {
                name: module.name().to_owned(),
                reason: "other modules that start took too long".to_owned(),
            });
        };
        Box::pin(trial::run(module, env)).await
    }

    /// Makes an instance that writes through `db`. Waits for a place in the pool, with a deadline; the guest's
    /// limits hold for its start functions as for a call.
    pub async fn instantiate(
        &self,
        module: &Arc<Module<D>>,
        env: &Arc<GuestEnv>,
        db: D,
    ) -> Result<Instance<D>, (D, NoInstance)> {
        let wanted = module.slots().min(self.inner.max_instances);
        let slots = Arc::clone(&self.inner.slots).acquire_many_owned(wanted);
        let Ok(Ok(slot)) = tokio::time::timeout(config::SLOT_WAIT, slots).await else {
            return Err((db, NoInstance::Busy));
        };
        Box::pin(Instance::start(module, env, db, slot)).await
    }
}

fn linker<D: GuestSql>(engine: &wasmtime::Engine) -> wasmtime::Result<Linker<State<D>>> {
    let mut linker = Linker::new(engine);
    wasi::link(&mut linker)?;
    bindings::Handler::add_to_linker::<_, HasSelf<State<D>>>(&mut linker, |state| state)?;
    Ok(linker)
}
