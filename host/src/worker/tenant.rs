//! A tenant at run time: its module, and what its guests run as and within. A consumer without tenants is one, without a
//! name.

use std::sync::Arc;

use tidegate_core::tenant::TenantName;
use tokio::sync::watch;

use crate::config::{ConsumerConfig, GuestConfig, TenantConfig};
use crate::engine::{GuestEnv, Module};
use crate::inbox::{Guest, Judge};
use crate::worker::conduct::Conduct;
use crate::worker::shared::Db;

/// The module that a handler's file holds now.
pub type Modules = watch::Receiver<Arc<Module<Db>>>;

/// A tenant, or a consumer that has none.
pub struct Tenant {
    /// Its name; none of a consumer without tenants.
    pub name: Option<TenantName>,
    /// What its guests run as and within.
    pub config: GuestConfig,
    /// The same, as the engine takes it.
    pub env: Arc<GuestEnv>,
    /// A dead letter topic of its own.
    pub letters_to: Option<String>,
    /// What it did on this host lately.
    pub conduct: Arc<Conduct>,
    modules: Modules,
    judge: Arc<Judge>,
}

impl Tenant {
    /// A consumer as its own.
    pub fn own(consumer: &ConsumerConfig, modules: Modules, judge: Arc<Judge>) -> Self {
        let config = consumer.guest.clone();
        let conduct = Arc::new(Conduct::new(consumer.brake));
        Self::new((consumer, None), config, None, (modules, conduct, judge))
    }

    /// One of a consumer's tenants; its statements are judged as all of that consumer's.
    pub fn named(
        consumer: &ConsumerConfig,
        name: TenantName,
        config: TenantConfig,
        (modules, conduct, own): (Modules, Arc<Conduct>, &Tenant),
    ) -> Self {
        let letters_to = config.dead_letter_topic;
        let at_run_time = (modules, conduct, Arc::clone(&own.judge));
        Self::new(
            (consumer, Some(name)),
            config.guest,
            letters_to,
            at_run_time,
        )
    }

    fn new(
        (consumer, name): (&ConsumerConfig, Option<TenantName>),
        config: GuestConfig,
        letters_to: Option<String>,
        (modules, conduct, judge): (Modules, Arc<Conduct>, Arc<Judge>),
    ) -> Self {
        Self {
            env: GuestEnv::of(
                &consumer.name,
                name.as_ref().map(TenantName::as_str),
                &config,
            ),
            name,
            config,
            letters_to,
            conduct,
            modules,
            judge,
        }
    }

    /// The module that runs from the next transaction on.
    pub fn module(&self) -> Arc<Module<Db>> {
        Arc::clone(&self.modules.borrow())
    }

    /// Follows the module.
    pub fn modules(&self) -> Modules {
        self.modules.clone()
    }

    /// What the statements of `module`'s guests run as and within.
    pub fn guest(&self, module: &Module<Db>) -> Arc<Guest> {
        Arc::new(Guest {
            module: module.name().into(),
            role: self.config.role.as_deref().map(Into::into),
            limits: (&self.config.limits).into(),
            judge: Some(Arc::clone(&self.judge)),
            memory: Arc::clone(&self.conduct.memory),
        })
    }

    /// Whether `module` tried to leave its transaction here and no other has been activated since.
    pub fn is_quarantined(&self, module: &Module<Db>) -> bool {
        self.conduct.is_quarantined(&module.digest())
    }

    /// The name's text.
    pub fn name(&self) -> Option<&str> {
        self.name.as_ref().map(TenantName::as_str)
    }
}

impl std::fmt::Debug for Tenant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Tenant").field(&self.name).finish()
    }
}
