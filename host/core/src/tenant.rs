//! Tenants: whose a record is, and what becomes of the records of one that cannot run.

mod source;

use std::fmt;
use std::sync::Arc;

pub use self::source::{BadTenant, TenantSource};
use crate::letter::{Cause, CauseKind};

/// A tenant's name: 1 to 63 ASCII letters, digits, `.`, `_` and `-`, the first a letter or a digit. Compared byte for
/// byte. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TenantName(Arc<str>);

impl TenantName {
    /// The most bytes a name may have.
    pub const MAX_BYTES: usize = 63;

    /// Checks `name` and takes it; none if it is no tenant's name.
    pub fn new(name: &str) -> Option<Self> {
        let first = name.bytes().next()?;
        let letters = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        let fits = name.len() <= Self::MAX_BYTES
            && first.is_ascii_alphanumeric()
            && name.bytes().all(letters);
        fits.then(|| Self(name.into()))
    }

    /// The name's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name, shared.
    pub fn shared(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }

    /// What this tenant's event ids are unique within, where the consumer's are within `scope`. No name holds a `/`, so
    /// two tenants never share one.
    pub fn scope(&self, scope: &str) -> Arc<str> {
        match scope {
            "" => Arc::clone(&self.0),
            scope => format!("{}/{scope}", self.0).into(),
        }
    }
}

impl fmt::Display for TenantName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What becomes of a record whose tenant is not known, or disabled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Otherwise {
    /// It becomes a dead letter, and can be replayed once there is such a tenant.
    #[default]
    DeadLetter,
    /// It is passed over as skipped.
    Skip,
    /// Its partition waits until there is such a tenant.
    Stop,
}

/// Why a tenant's records cannot be handed to its handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotRunning {
    /// No tenant of this name is known.
    Unknown,
    /// An operator has disabled it.
    Disabled(String),
    /// It is braked: too many of its records were rejected, its module tried to leave its transaction, or what it needs
    /// is not there.
    Braked(String),
    /// Its handler cannot be loaded.
    Unavailable(String),
    /// It took more than its share of its partition's time while others waited.
    Slow,
}

impl NotRunning {
    const CODES: [&str; 5] = [
        "unknown-tenant",
        "tenant-disabled",
        "tenant-braked",
        "tenant-unavailable",
        "tenant-slow",
    ];

    /// The code of a letter that is written for it.
    pub fn code(&self) -> &'static str {
        match self {
            NotRunning::Unknown => Self::CODES[0],
            NotRunning::Disabled(_) => Self::CODES[1],
            NotRunning::Braked(_) => Self::CODES[2],
            NotRunning::Unavailable(_) => Self::CODES[3],
            NotRunning::Slow => Self::CODES[4],
        }
    }

    /// What happened, and the remedy.
    pub fn message(&self, tenant: &TenantName) -> String {
        match self {
            NotRunning::Unknown => {
                format!("no tenant {tenant} is known; add it, then replay this letter")
            }
            NotRunning::Disabled(reason) => {
                format!(
                    "tenant {tenant} is disabled ({reason}); enable it, then replay this letter"
                )
            }
            NotRunning::Braked(reason) => {
                format!(
                    "tenant {tenant} is braked ({reason}); replay this letter once it runs again"
                )
            }
            NotRunning::Unavailable(reason) => {
                format!("tenant {tenant} cannot run ({reason}); replay this letter once it can")
            }
            NotRunning::Slow => {
                format!(
                    "tenant {tenant} took more than its share of the partition's time while others waited (`tenants.share`); replay this letter"
                )
            }
        }
    }

    /// The cause of a letter that is written for it.
    pub fn cause(&self, tenant: &TenantName) -> Cause {
        Cause {
            kind: CauseKind::Tenant,
            code: self.code().to_owned(),
            message: self.message(tenant),
            server: None,
            sqlstate: None,
            attempts: 0,
        }
    }
}

impl From<BadTenant> for Cause {
    /// The cause of a record that was rejected before any try.
    fn from(bad: BadTenant) -> Self {
        Cause {
            kind: CauseKind::Record,
            code: BadTenant::CODE.to_owned(),
            message: bad.to_string(),
            server: None,
            sqlstate: None,
            attempts: 0,
        }
    }
}

/// In which order the records of a batch run: grouped by `whose` they are, the groups in the order of their first
/// records, each group's records in the order of the batch.
pub fn grouped<T: PartialEq>(whose: &[T]) -> Vec<usize> {
    let mut firsts: Vec<&T> = Vec::new();
    let group_of = |one| {
        let known = firsts.iter().position(|first| *first == one);
        known.unwrap_or_else(|| {
            firsts.push(one);
            firsts.len() - 1
        })
    };
    let groups: Vec<usize> = whose.iter().map(group_of).collect();
    let mut order: Vec<usize> = (0..whose.len()).collect();
    order.sort_by_key(|at| groups[*at]);
    order
}

#[cfg(test)]
mod tests;
