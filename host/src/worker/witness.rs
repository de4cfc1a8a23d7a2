//! Whether a record that a *stop* code met is itself at fault: asks what its statement does for other records.
//!
//! The memory of what has worked is asked first, then the next records of the same tenant are tried, each in a fresh instance
//! and a transaction of its own, which is rolled back: nothing of it counts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tidegate_core::failure::Broken;
use tidegate_core::lanes::Locks;
use tidegate_core::record::TopicPartition;
use tidegate_core::witness::{MOST_TRIED, Others, Refusal, TRIED_FOR};
use tokio::sync::watch;

use crate::inbox::{BatchHead, Begun, Memory, ModulesOf};
use crate::worker::cast::Cast;
use crate::worker::guests::Guests;
use crate::worker::partition::Partition;
use crate::worker::pending::Pending;
use crate::worker::position::Position;
use crate::worker::shared::Shared;

/// How long a try waits for a lock: it proves nothing about locks.
const LOCK_WAIT: Duration = Duration::from_millis(250);

/// Who may be asked about the lone record at a partition's front.
pub(super) struct Witnesses<'a> {
    shared: &'a Shared,
    at: &'a Position,
    source: &'a TopicPartition,
    /// Whether the partition is to be given back.
    may_begin: watch::Receiver<bool>,
    memory: Arc<Memory>,
    /// The next records of the same tenant; none where hosts have died: nothing runs unannounced there.
    behind: Vec<&'a Pending>,
}

impl Partition {
    /// Who may be asked about the record at the front.
    pub(super) fn witnesses(&self) -> Witnesses<'_> {
        let tenant = self.pending.front().map(|front| &front.tenant);
        let behind = self.pending.iter().skip(1).chain(&self.ahead);
        let able = |p: &&Pending| Some(&p.tenant) == tenant && p.decided.is_none();
        let most = match self.caution.alone() {
            true => 0,
            false => MOST_TRIED,
        };
        Witnesses {
            shared: &self.shared,
            at: &self.at,
            source: &self.source,
            may_begin: self.may_begin.clone(),
            memory: Arc::clone(&self.whose(0).conduct.memory),
            behind: behind.filter(able).take(most).collect(),
        }
    }
}

impl Witnesses<'_> {
    /// What they say of the statement that stops the record; `before`: one of them has worked before it was refused now.
    pub(super) async fn asked(&self, broken: &Broken, before: bool) -> Others {
        let Some(refusal) = broken.in_question() else {
            return Others::Unknown;
        };
        if let Ok(schema) = self.shared.inbox.schema().await
            && self.memory.refute(refusal, schema)
        {
            return Others::Work;
        }
        match self.one_works(refusal).await {
            true => Others::tried(before),
            false => Others::Unknown,
        }
    }

    async fn one_works(&self, refusal: Refusal) -> bool {
        let until = Instant::now() + TRIED_FOR;
        for other in &self.behind {
            if !*self.may_begin.borrow() || Instant::now() > until {
                return false;
            }
            let _turn = self.shared.stage.shared().await;
            if Box::pin(self.works(other, refusal)).await == Some(true) {
                return true;
            }
        }
        false
    }

    /// Tries one record; none where it cannot run now.
    async fn works(&self, other: &Pending, refusal: Refusal) -> Option<bool> {
        let cast = Cast::of(self.shared, std::slice::from_ref(other)).ok()?;
        let runner = cast.parts.first()?.runner()?;
        let head = BatchHead {
            key: self.shared.key(self.source),
            owner: self.at.token,
            log_epoch: self.at.log_epoch,
            expected: self.at.next,
            claims: Vec::new(),
            modules: ModulesOf::All(None),
            tenants_revision: cast.revision,
            module: cast.consumers_module(self.shared),
            locks: Locks {
                wait: Some(LOCK_WAIT),
                alone: false,
            },
        };
        let Ok(Begun::Open(db, _)) = self.shared.inbox.begin(&head, false).await else {
            return None;
        };
        let mut guests = Guests::new(self.shared, db);
        // What it comes to is its own affair, when its turn has come.
        let _ended = guests.run(runner, other).await;
        Some(guests.into_db().bear_witness(refusal).await)
    }
}
