//! A batch's transaction: fence, claims, guest statements, proof, commit.
//!
//! Invariants:
//! - Nothing commits but through [`Transaction::commit`], and there only after the final update proved that this
//!   is still the transaction that the fence began.
//! - The breaker is the earliest offset known to have failed; SQLSTATE 25P02 is never a cause.
//! - Dropped half-way, the connection is cut, so the server rolls back.

mod begin;
mod claim;
mod deferred;
mod fence;
mod finish;
mod guest;
mod ledger;
mod letters;
mod memory;
mod proof;
mod refusal;
mod replay;
mod rows;
mod stay;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tidegate_core::claim::{ClaimRequest, Claimed, EventId};
use tidegate_core::control::Digest;
use tidegate_core::failure::{Broken, Failure};
use tidegate_core::lanes::Locks;
use tidegate_core::letter::Letter;
use tidegate_core::limits::{GuestLimits, Limit};
use tidegate_core::outcome::Outcome;
use tidegate_core::progress::{Counts, LastRecord, ProgressKey};
use tidegate_core::witness::{Refusal, Schema, Statement};
use tidegate_wall::Judge;
use tokio::time::timeout;
use uuid::Uuid;

use super::error::{failure_of, overdue, unreachable};
use super::gate::Gate;
use super::pool::Held;
use fence::Fence;
use ledger::{Ledger, Worked, is_unusable};
use rows::Returned;
use stay::Stay;

pub use claim::ModulesOf;
pub use memory::Memory;
pub use replay::{ReplayBegun, ReplayEnd, ReplayHead, ReplayResult};

/// What a batch begins with.
#[derive(Clone, Debug)]
pub struct BatchHead {
    /// The progress row.
    pub key: ProgressKey,
    /// The token that this host took at assignment.
    pub owner: Uuid,
    /// The log's epoch, as the token was taken with it.
    pub log_epoch: i32,
    /// N as this host knows it.
    pub expected: i64,
    /// The ids to claim; each scope and id once, offsets rising.
    pub claims: Vec<ClaimRequest>,
    /// The handler modules that the claims are for.
    pub modules: ModulesOf,
    /// What this host knows the tenants by; none where records have no tenants.
    pub tenants_revision: Option<i64>,
    /// The consumer's own module, which a brake may hold back.
    pub module: Digest,
    /// What the transaction does about locks.
    pub locks: Locks,
}

/// How beginning a batch went.
#[derive(Debug)]
pub enum Begun {
    /// The transaction is open; the answers stand in the order of the claims.
    Open(Box<Transaction>, Vec<Claimed>),
    /// Still ours, but N is this: an earlier commit whose answer was lost has landed.
    Landed(i64),
    /// Still ours and at this N, but the consumer is paused, or its module is braked, or its tenants are not what this host knows.
    Held,
    /// Another host owns the partition, or the row is gone.
    Fenced,
}

/// What a batch ends with.
#[derive(Clone, Debug)]
pub struct Finish {
    /// The new N.
    pub next_offset: i64,
    /// C, if Kafka acknowledged another since the last batch.
    pub committed: Option<i64>,
    /// The last record handled, if any was.
    pub last: Option<LastRecord>,
    /// What to add to the counters.
    pub counts: Counts,
    /// Scope, id and outcome of the claimed records that are not done.
    pub outcomes: Vec<(Arc<str>, EventId, Outcome)>,
    /// Dead letters and their ids.
    pub letters: Vec<(String, Letter)>,
    /// Scope and id of the events whose open letters this batch supersedes.
    pub superseded: Vec<(Arc<str>, EventId)>,
    /// The Kafka cluster.
    pub cluster_id: String,
}

impl From<&GuestLimits> for ResultLimits {
    fn from(limits: &GuestLimits) -> Self {
        Self {
            rows: limits.result_rows,
            bytes: limits.result_bytes,
        }
    }
}

/// The most that one record's queries may return, all together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResultLimits {
    /// Rows.
    pub rows: usize,
    /// Bytes.
    pub bytes: usize,
}

impl Default for ResultLimits {
    fn default() -> Self {
        (&GuestLimits::default()).into()
    }
}

/// Whose statements run, and within what.
#[derive(Clone, Debug, Default)]
pub struct Guest {
    /// What the log calls the module.
    pub module: Arc<str>,
    /// The database role that they run under; none for the login's own.
    pub role: Option<Arc<str>>,
    /// What one record's queries may return.
    pub limits: ResultLimits,
    /// Who judges them; none for the default rules.
    pub judge: Option<Arc<Judge>>,
    /// Where it is remembered which of them have worked.
    pub memory: Arc<Memory>,
}

/// An open batch, or a letter's open replay.
pub struct Transaction {
    held: Held,
    key: ProgressKey,
    log_epoch: i32,
    /// The row that it began with and is proved by.
    fence: Fence,
    gate: Gate,
    ledger: Ledger,
    /// Whose statements run now.
    guest: Arc<Guest>,
    /// All whose statements have run, in their order.
    guests: Vec<Arc<Guest>>,
    /// What the schema was before the first statement of a guest's ran.
    schema: Option<Schema>,
    /// Whom the server takes for running: the host, or a guest.
    stay: Stay,
    /// The constraints that wait for the end of the current record, in lists.
    deferred: Vec<Arc<str>>,
    /// How long a statement waits for a lock.
    lock_wait: Duration,
    /// The record whose guest runs now.
    current: Option<i64>,
    calls: u32,
    /// What the current record's queries have returned.
    returned: Returned,
    /// A call is being answered. Found set by the next one, its future was dropped half-way.
    in_call: bool,
}

/// How long cancelling an abandoned statement may take.
const CANCEL_WAIT: Duration = Duration::from_secs(2);

impl Transaction {
    fn new(mut held: Held, (key, log_epoch): (ProgressKey, i32), fence: Fence, gate: Gate) -> Self {
        held.pipeline.clear();
        let lock_wait = held.settings.lock_timeout;
        Self {
            held,
            key,
            log_epoch,
            fence,
            gate,
            ledger: Ledger::default(),
            guest: Arc::default(),
            guests: Vec::new(),
            schema: None,
            stay: Stay::default(),
            deferred: Vec::new(),
            lock_wait,
            current: None,
            calls: 0,
            returned: Returned::default(),
            in_call: false,
        }
    }

    /// Says whose statements run from now on. Their role is taken before the first of them, if there is any.
    pub fn run_by(&mut self, guest: Arc<Guest>) {
        self.guests.push(Arc::clone(&guest));
        self.guest = guest;
    }

    /// Whether a statement has worked here that proves this refusal to be its record's own fault.
    fn refutes(&self, refusal: Refusal) -> bool {
        let mut worked = self.ledger.have_worked().iter();
        worked.any(|worked| refusal.is_refuted_by(worked.statement))
    }

    /// Rolls back a try, and answers whether a statement has worked in it that proves the refusal to be its record's own
    /// fault. It counts only where the transaction is still the one that was begun.
    pub async fn bear_witness(mut self: Box<Self>, refusal: Refusal) -> bool {
        let left = self.end_stay();
        let broken = self.drain().await;
        let kept = left.is_ok() && !broken.as_ref().is_some_and(is_unusable);
        let refutes = kept && self.refutes(refusal);
        self.rollback().await;
        refutes
    }

    /// What worked is remembered, once it is committed.
    fn remember(&self) {
        let Some(schema) = self.schema else {
            return;
        };
        for worked in self.ledger.have_worked() {
            if let Some(guest) = self.guests.get(worked.turn) {
                guest.memory.worked(worked.statement, schema);
            }
        }
    }

    /// A statement of the guest that runs now.
    fn of_guest(&self, statement: Statement) -> Worked {
        Worked {
            turn: self.guests.len().saturating_sub(1),
            statement,
        }
    }

    /// Names the record whose guest runs from now on.
    pub fn enter(&mut self, offset: i64) {
        if let Err(why) = self.end_record() {
            self.lost(unreachable(why));
        }
        self.current = Some(offset);
        self.calls = 0;
        self.returned = Returned::default();
        self.ledger.enter(offset);
    }

    /// Database calls of the current record so far, refused ones included.
    pub fn calls(&self) -> u32 {
        self.calls
    }

    /// The earliest failure known, without waiting.
    pub fn failure(&self) -> Option<&Broken> {
        self.ledger.failure()
    }

    /// Waits for every staged result; returns the earliest failure.
    pub async fn drain(&mut self) -> Option<Broken> {
        if self.in_call {
            // The wall limit alone drops a call half-way. Its statement may still run: no use to wait.
            self.fail(Failure::Limit(Limit::DatabaseWait));
        } else {
            self.drain_window().await;
            self.probe().await;
        }
        self.ledger.failure().cloned()
    }

    /// Rolls back. Cancels what an abandoned call left running; a connection in doubt is cut.
    pub async fn rollback(self: Box<Self>) {
        if self.ledger.failure().is_some_and(is_of_a_constraint) {
            self.gate.doubt();
        }
        let doubtful = self.in_call || self.ledger.failure().is_some_and(is_unusable);
        if self.in_call {
            timeout(CANCEL_WAIT, self.held.cancel()).await.ok();
        }
        if !doubtful {
            self.held.roll_back().await;
        }
    }

    /// Notes a failure of the current record.
    fn fail(&mut self, failure: Failure) {
        self.ledger.note(Broken {
            offset: self.current,
            failure,
        });
    }

    /// Waits, to the deadline, until everything staged is answered.
    async fn drain_window(&mut self) {
        self.held.pipeline.flush();
        while !self.ledger.is_idle() && self.settle_some().await {}
    }

    /// Waits for some answers to staged statements; false when none will come.
    async fn settle_some(&mut self) -> bool {
        let patience = self.held.patience;
        let lost = match timeout(patience, self.held.pipeline.wait()).await {
            Ok(Ok(answers)) => {
                self.ledger.settle(answers);
                return true;
            }
            Ok(Err(why)) => unreachable(why),
            Err(_) => overdue("a staged statement", patience),
        };
        self.lost(lost);
        false
    }

    /// Waits for an answer of the driver's, to the deadline. What is staged goes first.
    async fn attend<T>(&mut self, what: &str, work: impl Future<Output = T>) -> Result<T, Failure> {
        self.held.pipeline.flush();
        let patience = self.held.patience;
        let answer = timeout(patience, work).await;
        answer.map_err(|_| overdue(what, patience))
    }

    /// After the server refused a statement: are we still in the transaction that it aborted? There every
    /// statement fails with 25P02; one that succeeds proves that the guest has ended our transaction.
    async fn probe(&mut self) {
        if !self.ledger.take_suspicion() {
            return;
        }
        let client = std::sync::Arc::clone(&self.held.client);
        let probe = client.batch_execute("SELECT 1");
        match self.attend("a statement", probe).await {
            Ok(Ok(())) => self
                .ledger
                .escaped("a statement succeeded after another had failed"),
            Ok(Err(error)) => self.ledger.probed(failure_of(&error)),
            Err(failure) => self.ledger.lost(failure),
        }
    }
}

/// Whether a constraint refused a row, or the server a constraint's name.
fn is_of_a_constraint(broken: &Broken) -> bool {
    matches!(&broken.failure, Failure::Sql { sqlstate, .. } if sqlstate.starts_with("23") || sqlstate == "42704")
}

impl std::fmt::Debug for Transaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transaction")
            .field("key", &self.key)
            .field("fence", &self.fence)
            .finish_non_exhaustive()
    }
}
