//! Keeps the roster: reads which tenants there are and which may run, and has their modules loaded.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tidegate_core::control::Digest;
use tidegate_core::failure::Failure;
use tidegate_core::tenant::{NotRunning, TenantName};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::config::{GuestConfig, TenantConfig, TenantsConfig, tenants};
use crate::engine::{GuestEnv, LoadError, watch};
use crate::inbox::{TenantRow, TenantState};
use crate::worker::conduct::Conduct;
use crate::worker::roster::{Entry, Roster};
use crate::worker::shared::{Db, Shared};
use crate::worker::tenant::{Modules, Tenant};

/// How often it looks when nothing rings.
const BEAT: Duration = Duration::from_secs(2);
/// How long loading one module may take, before its tenant's records are put aside.
const LOAD: Duration = Duration::from_secs(60);
/// How often a handler that could not be loaded is tried again, in looks.
const AGAIN: u32 = 3;

/// The watched handlers of a consumer's tenants, by file; tenants of one file share one.
#[derive(Default)]
pub struct Handlers(HashMap<PathBuf, Watched>);

enum Watched {
    Handler(watch::Handler<Db>),
    Broken(String),
}

impl Handlers {
    /// Loads the handlers of the tenants that the configuration file defines.
    ///
    /// # Errors
    /// The first that cannot be loaded.
    pub async fn open(
        engine: &crate::engine::Engine<Db>,
        consumer: &crate::config::ConsumerConfig,
    ) -> Result<Self, LoadError> {
        let mut handlers = Self::default();
        let listed = consumer.tenants.iter().flat_map(|t| t.listed.values());
        for tenant in listed {
            let path = &tenant.guest.handler;
            let env = GuestEnv::of(&consumer.name, None, &tenant.guest);
            if *path == consumer.guest.handler || handlers.0.contains_key(path) {
                continue;
            }
            let handler = watch::open(engine, path, &env).await?;
            handlers.0.insert(path.clone(), Watched::Handler(handler));
        }
        Ok(handlers)
    }

    async fn stop(self) {
        for watched in self.0.into_values() {
            if let Watched::Handler(handler) = watched {
                handler.stop().await;
            }
        }
    }
}

/// Keeps the roster of a consumer that has tenants until `stop`.
pub async fn keep(shared: Arc<Shared>, handlers: Handlers, stop: CancellationToken) {
    let Some(config) = shared.config.tenants.clone() else {
        return;
    };
    let mut keeper = Keeper {
        shared: Arc::clone(&shared),
        config,
        handlers,
        tenants: HashMap::new(),
        revision: None,
        known: HashMap::new(),
        looks: 0,
    };
    loop {
        let looked = tokio::select! {
            () = stop.cancelled() => break,
            looked = keeper.look() => looked,
        };
        if let Err(error) = looked {
            tracing::debug!(consumer = %shared.name, %error, "the tenants cannot be read now; the next batch meets what changed at the fence");
        }
        tokio::select! {
            () = stop.cancelled() => break,
            () = tokio::time::sleep(BEAT) => {}
            () = shared.look_at_tenants.notified() => {}
        }
    }
    keeper.handlers.stop().await;
}

struct Keeper {
    shared: Arc<Shared>,
    config: TenantsConfig,
    handlers: Handlers,
    /// What was read last, and at which revision.
    tenants: HashMap<TenantName, Defined>,
    revision: Option<i64>,
    known: HashMap<TenantName, Known>,
    looks: u32,
}

/// What is remembered of a tenant from one look to the next.
struct Known {
    conduct: Arc<Conduct>,
    /// The definition that was refused, so that it is said once.
    refused: Option<String>,
    ran: bool,
    digest: Option<Digest>,
}

impl Keeper {
    async fn look(&mut self) -> Result<(), Failure> {
        let (inbox, name) = (&self.shared.inbox, &self.shared.name);
        if self.revision != Some(inbox.tenants_revision(name).await?) {
            let (revision, rows) = inbox.tenants(name).await?;
            self.tenants = self.defined(rows);
            self.revision = Some(revision);
            // Known at once, so that nobody waits for another's module.
            self.publish();
        }
        self.looks = self.looks.wrapping_add(1);
        if self.looks.is_multiple_of(AGAIN) {
            let is_there = |watched: &Watched| matches!(watched, Watched::Handler(_));
            self.handlers.0.retain(|_, watched| is_there(watched));
        }
        if self.load().await {
            self.publish();
        }
        self.follow().await
    }

    /// Every tenant that is defined or has a state, with its configuration or what is wrong with it.
    fn defined(&mut self, rows: Vec<TenantRow>) -> HashMap<TenantName, Defined> {
        let listed = self.config.listed.iter();
        let mut tenants: HashMap<TenantName, Defined> = listed
            .map(|(name, config)| (name.clone(), Defined::listed(config)))
            .collect();
        for row in rows {
            let name = row.name.clone();
            let config = match (self.config.listed.get(&name), &row.definition) {
                (Some(config), _) => Ok(config.clone()),
                (None, Some(text)) => tenants::definition(text, &name, &self.shared.config)
                    .map_err(|errors| NotRunning::Unavailable(errors.to_string())),
                (None, None) => Err(NotRunning::Unknown),
            };
            self.say_refused(&row, &config);
            tenants.insert(
                name,
                Defined {
                    config,
                    row: Some(row),
                },
            );
        }
        tenants
    }

    fn say_refused(&mut self, row: &TenantRow, config: &Result<TenantConfig, NotRunning>) {
        let consumer = Arc::clone(&self.shared.name);
        let known = self.known(&row.name);
        match config {
            Err(NotRunning::Unavailable(reason)) if known.refused != row.definition => {
                tracing::error!(%consumer, tenant = %row.name, reason, "a tenant's definition cannot be used here; its records are put aside as dead letters");
                known.refused.clone_from(&row.definition);
            }
            Err(_) => {}
            Ok(_) => known.refused = None,
        }
    }

    fn known(&mut self, name: &TenantName) -> &mut Known {
        let policy = self.shared.config.brake;
        self.known.entry(name.clone()).or_insert_with(|| Known {
            conduct: Arc::new(Conduct::new(policy)),
            refused: None,
            ran: true,
            digest: None,
        })
    }

    /// Loads what is not loaded; whether anything was to be.
    async fn load(&mut self) -> bool {
        let configs = self.tenants.values().filter_map(|d| d.config.as_ref().ok());
        let own = &self.shared.config.guest.handler;
        let configs: Vec<&TenantConfig> = configs.collect();
        let is_used = |path: &PathBuf| configs.iter().any(|c| c.guest.handler == *path);
        self.handlers.0.retain(|path, _| is_used(path));
        let is_missing = |path: &PathBuf| path != own && !self.handlers.0.contains_key(path);
        let missing = configs.iter().filter(|c| is_missing(&c.guest.handler));
        // Tenants of one file share its module; it is tried within the limits of one of them.
        let missing: HashMap<PathBuf, GuestConfig> = missing
            .map(|c| (c.guest.handler.clone(), c.guest.clone()))
            .collect();
        for (path, guest) in &missing {
            let watched = self.open(guest).await;
            self.handlers.0.insert(path.clone(), watched);
        }
        !missing.is_empty()
    }

    async fn open(&self, guest: &GuestConfig) -> Watched {
        let path = guest.handler.as_path();
        let env = GuestEnv::of(&self.shared.name, None, guest);
        let opening = watch::open(&self.shared.engine, path, &env);
        let reason = match timeout(LOAD, opening).await {
            Ok(Ok(handler)) => return Watched::Handler(handler),
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("loading it took longer than {LOAD:?}"),
        };
        tracing::error!(consumer = %self.shared.name, handler = %path.display(), reason, "a tenant's handler cannot be loaded; its records are put aside as dead letters until it can");
        Watched::Broken(reason)
    }

    fn publish(&mut self) {
        let tenants = std::mem::take(&mut self.tenants);
        let entry =
            |(name, defined): (&TenantName, &Defined)| (name.clone(), self.entry(name, defined));
        let entries = tenants.iter().map(entry).collect();
        self.known.retain(|name, _| tenants.contains_key(name));
        self.tenants = tenants;
        let revision = self.revision.unwrap_or_default();
        // Also of those that cannot run here: their letters go nowhere else for that.
        let letters = self.tenants.iter().filter_map(|(name, defined)| {
            let topic = defined.config.as_ref().ok()?.dead_letter_topic.clone();
            topic.map(|topic| (name.clone(), topic))
        });
        let letters = letters.collect();
        let roster = Roster::new(revision, &self.config, entries, letters);
        self.shared.roster_is(Arc::new(roster));
    }

    fn entry(&mut self, name: &TenantName, defined: &Defined) -> Entry {
        let config = match (&defined.config, defined.held(None)) {
            (Ok(config), _) => config,
            (Err(_), Some(disabled @ NotRunning::Disabled(_))) => {
                return Entry::Held(disabled, None);
            }
            (Err(why), _) => return Entry::Held(why.clone(), None),
        };
        let modules = match self.modules(&config.guest.handler) {
            Some(Ok(modules)) => modules,
            Some(Err(reason)) => {
                let held = defined.held(None);
                let why = held.unwrap_or(NotRunning::Unavailable(reason));
                return Entry::Held(why, None);
            }
            None => {
                let held = defined.held(None);
                return held.map_or(Entry::Loading, |why| Entry::Held(why, None));
            }
        };
        let held = defined.held(Some(&modules.borrow().digest()));
        let known = self.known(name);
        if held.is_none() && !std::mem::replace(&mut known.ran, held.is_none()) {
            known.conduct.released();
        }
        known.ran = held.is_none();
        let conduct = Arc::clone(&known.conduct);
        let (consumer, config) = (&self.shared.config, config.clone());
        let tenant = Tenant::named(
            consumer,
            name.clone(),
            config,
            (modules, conduct, &self.shared.own),
        );
        let tenant = Arc::new(tenant);
        match held {
            None => Entry::Running(tenant),
            Some(why) => Entry::Held(why, Some(tenant)),
        }
    }

    /// A handler's module, why there is none, or nothing while it is to be loaded.
    fn modules(&self, path: &PathBuf) -> Option<Result<Modules, String>> {
        if *path == self.shared.config.guest.handler {
            return Some(Ok(self.shared.own.modules()));
        }
        self.handlers.0.get(path).map(|watched| match watched {
            Watched::Handler(handler) => Ok(handler.changed()),
            Watched::Broken(reason) => Err(reason.clone()),
        })
    }

    /// Follows the tenants' modules: activating another one than those that tripped a brake lifts it, and a brake holds
    /// back those that tripped it alone.
    async fn follow(&mut self) -> Result<(), Failure> {
        let tenants = std::mem::take(&mut self.tenants);
        let (mut lift, mut changed) = (Vec::new(), false);
        for (name, defined) in &tenants {
            let Ok(config) = &defined.config else {
                continue;
            };
            let Some(Ok(modules)) = self.modules(&config.guest.handler) else {
                continue;
            };
            let digest = modules.borrow().digest();
            let known = self.known(name);
            let old = known.digest.replace(digest);
            if old.is_some_and(|old| old != digest) {
                known.conduct.module_changed();
                changed = true;
            }
            if old != Some(digest) && defined.is_lifted_by(&digest) {
                lift.push((name.clone(), digest));
            }
        }
        self.tenants = tenants;
        if changed {
            self.publish();
        }
        for (name, digest) in lift {
            self.lift(&name, &digest).await?;
        }
        Ok(())
    }

    async fn lift(&self, name: &TenantName, digest: &Digest) -> Result<(), Failure> {
        let shared = &self.shared;
        // A host whose positions are another's activates nothing.
        if shared.is_ours() && shared.inbox.lift_tenant(&shared.name, name, digest).await? {
            tracing::info!(consumer = %shared.name, tenant = %name, module = %hex::encode(digest), "another module of the tenant is active: its brake is lifted");
            shared.look_at_tenants.notify_one();
        }
        Ok(())
    }
}

struct Defined {
    config: Result<TenantConfig, NotRunning>,
    row: Option<TenantRow>,
}

impl Defined {
    fn listed(config: &TenantConfig) -> Self {
        Self {
            config: Ok(config.clone()),
            row: None,
        }
    }

    /// Whether it is braked, and other modules than this one did it.
    fn is_lifted_by(&self, module: &Digest) -> bool {
        let row = self.row.as_ref();
        row.is_some_and(|row| row.state == TenantState::Braked && row.braked.lifted_by(module))
    }

    /// Why it may not run by its row, with this module where it is loaded.
    fn held(&self, module: Option<&Digest>) -> Option<NotRunning> {
        let row = self.row.as_ref()?;
        let reason = row.reason.clone().unwrap_or_default();
        match row.state {
            TenantState::Running => None,
            TenantState::Disabled => Some(NotRunning::Disabled(reason)),
            TenantState::Braked if module.is_some_and(|module| !row.braked.holds(module)) => None,
            TenantState::Braked => Some(NotRunning::Braked(reason)),
        }
    }
}
