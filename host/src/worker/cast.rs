//! Who runs each record of a batch, and in which order: settled once an attempt.

use std::sync::Arc;

use tidegate_core::control::Digest;
use tidegate_core::letter::Cause;
use tidegate_core::tenant::{NotRunning, Otherwise, TenantName, grouped};

use crate::engine::Module;
use crate::inbox::ModulesOf;
use crate::worker::pending::Pending;
use crate::worker::roster::{Fare, Roster};
use crate::worker::shared::{Db, Shared};
use crate::worker::tenant::Tenant;

/// Why a tenant whose module tried to leave its transaction is braked.
pub const ESCAPED: &str = "the module tried to leave its transaction";

/// A tenant, and the module of it that runs in this attempt.
#[derive(Debug)]
pub struct Runner {
    /// Whose.
    pub tenant: Arc<Tenant>,
    /// What runs.
    pub module: Arc<Module<Db>>,
}

/// One record's part.
#[derive(Clone)]
pub enum Part {
    /// This one runs it.
    Run(Arc<Runner>),
    /// Its tenant cannot run: it becomes a letter.
    PutAside(Cause),
    /// Its tenant cannot run: it is passed over.
    PassOver,
    /// Its tenant cannot run: its partition waits, for this reason.
    Stop(String),
    /// It names no tenant, and is decided.
    Nobody,
}

/// A batch's parts.
pub struct Cast {
    /// One a record.
    pub parts: Vec<Part>,
    /// What is known of the tenants, for the fence.
    pub revision: Option<i64>,
    runners: Vec<Arc<Runner>>,
}

/// Why a batch cannot be cast now.
pub enum NoCast {
    /// The tenants are not known yet, or the first record's is being loaded.
    Later,
    /// The tenant of this record, which is not the first, is being loaded.
    Before(i64),
}

impl Cast {
    /// Casts `batch`, which is not empty, by what is known of the tenants now.
    pub fn of(shared: &Shared, batch: &[Pending]) -> Result<Self, NoCast> {
        let mut cast = Self {
            parts: Vec::with_capacity(batch.len()),
            revision: None,
            runners: Vec::new(),
        };
        if shared.config.tenants.is_none() {
            let own = cast.runner(&shared.own);
            cast.parts = vec![Part::Run(own); batch.len()];
            return Ok(cast);
        }
        let roster = shared.roster().ok_or(NoCast::Later)?;
        cast.revision = Some(roster.revision);
        for pending in batch {
            let Some(part) = cast.part(&roster, pending) else {
                return Err(match cast.parts.is_empty() {
                    true => NoCast::Later,
                    false => NoCast::Before(pending.offset()),
                });
            };
            cast.parts.push(part);
        }
        Ok(cast)
    }

    fn part(&mut self, roster: &Roster, pending: &Pending) -> Option<Part> {
        let Some(name) = &pending.tenant else {
            return Some(Part::Nobody);
        };
        Some(match roster.fare(name) {
            Fare::Wait => return None,
            Fare::Run(tenant) => {
                let runner = self.runner(&tenant);
                let barred = pending.decided.is_none() && tenant.is_quarantined(&runner.module);
                match barred {
                    true => put_aside(name, &NotRunning::Braked(ESCAPED.to_owned())),
                    false => Part::Run(runner),
                }
            }
            Fare::Instead(Otherwise::DeadLetter, why) => put_aside(name, &why),
            Fare::Instead(Otherwise::Skip, _) => Part::PassOver,
            Fare::Instead(Otherwise::Stop, why) => Part::Stop(why.message(name)),
        })
    }

    /// The tenant's runner in this attempt: one module from its first record to its last.
    fn runner(&mut self, tenant: &Arc<Tenant>) -> Arc<Runner> {
        let known = self.runners.iter();
        let mut known = known.filter(|runner| Arc::ptr_eq(&runner.tenant, tenant));
        if let Some(runner) = known.next() {
            return Arc::clone(runner);
        }
        let runner = Arc::new(Runner {
            tenant: Arc::clone(tenant),
            module: tenant.module(),
        });
        self.runners.push(Arc::clone(&runner));
        runner
    }

    /// Everyone who runs a record.
    pub fn runners(&self) -> &[Arc<Runner>] {
        &self.runners
    }

    /// The order in which the records run: each tenant's together.
    pub fn order(&self) -> Vec<usize> {
        if self.runners.len() < 2 {
            return (0..self.parts.len()).collect();
        }
        let of = |part: &Part| part.runner().map(Arc::as_ptr);
        grouped(&self.parts.iter().map(of).collect::<Vec<_>>())
    }

    /// The modules that the claims at these indices are for.
    pub fn modules(&self, asking: &[usize]) -> ModulesOf {
        match &self.runners[..] {
            [one] => ModulesOf::All(Some(one.module.digest())),
            _ => ModulesOf::Each(asking.iter().map(|at| self.digest(*at)).collect()),
        }
    }

    /// The module that the consumer's own brake is asked about.
    pub fn consumers_module(&self, shared: &Shared) -> Digest {
        match (&shared.config.tenants, &self.runners[..]) {
            (None, [own]) => own.module.digest(),
            _ => shared.own.module().digest(),
        }
    }

    /// The module that the record at this index is for.
    pub fn digest(&self, index: usize) -> Option<[u8; 32]> {
        let runner = self.parts.get(index)?.runner()?;
        Some(runner.module.digest())
    }
}

impl Part {
    /// Who runs it, if anybody does.
    pub fn runner(&self) -> Option<&Arc<Runner>> {
        match self {
            Part::Run(runner) => Some(runner),
            Part::PutAside(_) | Part::PassOver | Part::Stop(_) | Part::Nobody => None,
        }
    }

    /// Whether it is this one's.
    pub fn is_of(&self, runner: &Arc<Runner>) -> bool {
        self.runner().is_some_and(|own| Arc::ptr_eq(own, runner))
    }
}

fn put_aside(tenant: &TenantName, why: &NotRunning) -> Part {
    Part::PutAside(why.cause(tenant))
}
