//! The tenants of a consumer as this host knows them now.

use std::collections::HashMap;
use std::sync::Arc;

use tidegate_core::tenant::{NotRunning, Otherwise, TenantName};

use crate::config::TenantsConfig;
use crate::worker::tenant::Tenant;

/// Every tenant, and how it stands.
#[derive(Debug)]
pub struct Roster {
    /// What the fence compares.
    pub revision: i64,
    entries: HashMap<TenantName, Entry>,
    /// Dead letter topics of tenants that have their own, whether they run or not.
    letters: HashMap<TenantName, String>,
    unknown: Otherwise,
    disabled: Otherwise,
}

/// How a tenant stands.
#[derive(Clone, Debug)]
pub enum Entry {
    /// Its records are handled.
    Running(Arc<Tenant>),
    /// Its records are not handled.
    Held(NotRunning, Option<Arc<Tenant>>),
    /// Its module is being loaded: its records wait.
    Loading,
}

/// What becomes of a tenant's record.
#[derive(Clone, Debug)]
pub enum Fare {
    /// It is handled.
    Run(Arc<Tenant>),
    /// It is not, and this is done instead.
    Instead(Otherwise, NotRunning),
    /// It waits for a moment.
    Wait,
}

impl Roster {
    /// With these tenants, and the dead letter topics of those that have their own.
    pub fn new(
        revision: i64,
        config: &TenantsConfig,
        entries: HashMap<TenantName, Entry>,
        letters: HashMap<TenantName, String>,
    ) -> Self {
        Self {
            revision,
            entries,
            letters,
            unknown: config.unknown,
            disabled: config.disabled,
        }
    }

    /// What becomes of a record of this tenant.
    pub fn fare(&self, tenant: &TenantName) -> Fare {
        match self.entries.get(tenant) {
            Some(Entry::Running(tenant)) => Fare::Run(Arc::clone(tenant)),
            Some(Entry::Loading) => Fare::Wait,
            Some(Entry::Held(why @ NotRunning::Disabled(_), _)) => {
                Fare::Instead(self.disabled, why.clone())
            }
            Some(Entry::Held(why @ NotRunning::Unknown, _)) => {
                Fare::Instead(self.unknown, why.clone())
            }
            // Neither passed over nor waited for: other tenants must go on, and nothing be lost.
            Some(Entry::Held(why, _)) => Fare::Instead(Otherwise::DeadLetter, why.clone()),
            None => Fare::Instead(self.unknown, NotRunning::Unknown),
        }
    }

    /// The dead letter topic of a tenant's own, if it has one.
    pub fn letters_to(&self, tenant: &str) -> Option<&str> {
        let name = TenantName::new(tenant)?;
        self.letters.get(&name).map(String::as_str)
    }

    /// All tenants, in no order.
    pub fn entries(&self) -> impl Iterator<Item = (&TenantName, &Entry)> {
        self.entries.iter()
    }
}

impl Entry {
    /// The word in metrics.
    pub fn state(&self) -> &'static str {
        match self {
            Entry::Running(_) => "running",
            Entry::Held(NotRunning::Disabled(_), _) => "disabled",
            Entry::Held(NotRunning::Braked(_), _) => "braked",
            Entry::Held(NotRunning::Unavailable(_) | NotRunning::Unknown | NotRunning::Slow, _)
            | Entry::Loading => "unavailable",
        }
    }
}
