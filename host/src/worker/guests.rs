//! The guests of one transaction: an instance holds the transaction while it runs.

use std::sync::Arc;

use tidegate_core::claim::EventId;
use tidegate_core::failure::{Broken, Failure};
use tidegate_core::letter::Cause;
use tidegate_core::outcome::{GuestEnd, Outcome};
use tidegate_core::tenant::TenantName;
use tidegate_core::verdict::{Facts, cause};

use crate::config::InstancePer;
use crate::engine::{Event, Instance, NoInstance};
use crate::faults::{self, Point};
use crate::worker::cast::Runner;
use crate::worker::pending::Pending;
use crate::worker::shared::{Db, Shared};
use crate::worker::tenant::Tenant;

/// How a record's own run ended.
#[derive(Debug)]
pub enum Ran {
    /// Its outcome stands, if its staged statements hold.
    As(Outcome),
    /// It was rejected before it touched the database: its letter may ride in this transaction.
    Rejected(Cause),
}

/// Runs modules on the records of one transaction, one after the other.
pub struct Guests<'a> {
    shared: &'a Shared,
    /// Whose records run now.
    runner: Option<Arc<Runner>>,
    place: Place,
}

enum Place {
    Idle(Db),
    Running(Box<Instance<Db>>),
    Moving,
}

const ALWAYS_SOMEWHERE: &str = "the transaction is with us or with an instance";

impl<'a> Guests<'a> {
    /// No instance is made until a record needs one.
    pub fn new(shared: &'a Shared, db: Db) -> Self {
        Self {
            shared,
            runner: None,
            place: Place::Idle(db),
        }
    }

    /// The transaction.
    #[expect(
        clippy::expect_used,
        reason = "the stated invariant: `Moving` lasts within `instance` only"
    )]
    pub fn db(&mut self) -> &mut Db {
        match &mut self.place {
            Place::Idle(db) => Some(db),
            Place::Running(instance) => Some(instance.db()),
            Place::Moving => None,
        }
        .expect(ALWAYS_SOMEWHERE)
    }

    /// Drops the instance and gives the transaction back.
    #[expect(
        clippy::expect_used,
        reason = "the stated invariant: `Moving` lasts within `instance` only"
    )]
    pub fn into_db(self) -> Db {
        match self.place {
            Place::Idle(db) => Some(db),
            Place::Running(instance) => Some(end(self.shared, self.runner.as_deref(), *instance)),
            Place::Moving => None,
        }
        .expect(ALWAYS_SOMEWHERE)
    }

    /// Runs the handler on one record. The error names the earliest record known to have failed, which may
    /// be one before this.
    pub async fn run(&mut self, runner: &Arc<Runner>, pending: &Pending) -> Result<Ran, Broken> {
        self.db().enter(pending.offset());
        self.turn_to(runner);
        let end = match self.instance(runner).await {
            Ok(mut instance) => {
                faults::at(Point::BeforeCall, pending.offset());
                let end = instance.call(event(pending)).await;
                faults::at(Point::AfterCall, pending.offset());
                if let Some((code, lines)) = instance.dropped() {
                    self.shared.meters.limited(code, lines);
                }
                self.place = Place::Running(instance);
                end
            }
            Err(NoInstance::Guest(end)) => end,
            // Back-pressure is nobody's failure: the batch waits, as for any infrastructure.
            Err(busy @ NoInstance::Busy) => {
                return Err(Broken {
                    offset: None,
                    failure: Failure::Unreachable {
                        message: busy.to_string(),
                    },
                });
            }
        };
        let ran = self.judge(pending, end).await;
        if let Err(Broken {
            failure: Failure::Limit(limit),
            ..
        }) = &ran
        {
            self.shared.meters.limited(limit.code(), 1);
        }
        ran
    }

    /// Another tenant's records begin: nothing of the last one's instance is left to it.
    fn turn_to(&mut self, runner: &Arc<Runner>) {
        let now = self.runner.as_ref();
        if now.is_some_and(|now| Arc::ptr_eq(now, runner)) {
            return;
        }
        self.place = match std::mem::replace(&mut self.place, Place::Moving) {
            Place::Running(instance) => {
                Place::Idle(end(self.shared, self.runner.as_deref(), *instance))
            }
            place => place,
        };
        let guest = runner.tenant.guest(&runner.module);
        self.db().run_by(guest);
        self.runner = Some(Arc::clone(runner));
    }

    async fn instance(&mut self, runner: &Runner) -> Result<Box<Instance<Db>>, NoInstance> {
        let tenant = &runner.tenant;
        let db = match std::mem::replace(&mut self.place, Place::Moving) {
            Place::Running(instance) if may_go_on(tenant, &instance) => return Ok(instance),
            Place::Running(instance) => end(self.shared, Some(runner), *instance),
            Place::Idle(db) => db,
            Place::Moving => return Err(NoInstance::Guest(GuestEnd::Unheard)),
        };
        match self
            .shared
            .engine
            .instantiate(&runner.module, &tenant.env, db)
            .await
        {
            Ok(instance) => Ok(Box::new(instance)),
            Err((db, none)) => {
                self.place = Place::Idle(db);
                Err(none)
            }
        }
    }

    async fn judge(&mut self, pending: &Pending, end: GuestEnd) -> Result<Ran, Broken> {
        let failure = match end {
            GuestEnd::Done => return self.unless_failed(Ran::As(Outcome::Done)),
            GuestEnd::Skip(_) => return self.unless_failed(Ran::As(Outcome::Skipped)),
            GuestEnd::Reject { code, message } => Failure::Reject { code, message },
            GuestEnd::Retry { message, after_ms } => Failure::Retry { message, after_ms },
            GuestEnd::Trap { message } => Failure::Trap { message },
            GuestEnd::Limit(limit) => Failure::Limit(limit),
            GuestEnd::Unheard => Failure::Unreachable {
                message: "the transaction ended".to_owned(),
            },
        };
        if let (Failure::Reject { .. }, 0) = (&failure, self.db().calls()) {
            let facts = Facts {
                attempts: pending.attempts + 1,
                ..Facts::default()
            };
            return Ok(Ran::Rejected(cause(&failure, facts)));
        }
        // What the database said first is the cause: the guest may only have stumbled over it.
        let first = self.db().drain().await;
        Err(first.unwrap_or(Broken {
            offset: Some(pending.offset()),
            failure,
        }))
    }

    fn unless_failed(&mut self, ran: Ran) -> Result<Ran, Broken> {
        match self.db().failure() {
            Some(broken) => Err(broken.clone()),
            None => Ok(ran),
        }
    }
}

fn may_go_on(tenant: &Tenant, instance: &Instance<Db>) -> bool {
    tenant.config.instance == InstancePer::Batch && !instance.is_spent()
}

/// Drops an instance and gives its transaction back.
fn end(shared: &Shared, runner: Option<&Runner>, instance: Instance<Db>) -> Db {
    let tenant = runner.and_then(|runner| runner.tenant.name());
    shared.meters.guest_ended(tenant, instance.used());
    instance.into_db()
}

fn event(pending: &Pending) -> Event<'_> {
    Event {
        id: pending.event_id.as_ref().map_or("", EventId::as_str),
        tenant: pending.tenant.as_ref().map(TenantName::as_str),
        record: &pending.record,
        attempt: pending.attempts + 1,
        replay_round: pending.replay_round,
    }
}
