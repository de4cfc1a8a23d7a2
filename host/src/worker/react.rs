//! What a partition does about an attempt that broke.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tidegate_core::control::{Control, State};
use tidegate_core::failure::{Broken, Failure};
use tidegate_core::letter::Cause;
use tidegate_core::progress::Failing;
use tidegate_core::verdict::{Facts, Verdict, exhausted, verdict};
use tidegate_core::witness::Others;

use crate::engine::Module;
use crate::worker::attempt::Tripped;
use crate::worker::partition::Partition;
use crate::worker::repeats::Say;
use crate::worker::roster::Fare;
use crate::worker::shared::Db;
use crate::worker::tenant::Tenant;

/// The longest wait of an infrastructure failure.
const INFRASTRUCTURE_MAX: Duration = Duration::from_secs(5);
/// How long a batch that tripped the brake waits for its consumer's state to be known.
const BRAKE: Duration = Duration::from_secs(1);
/// The shortest pace of contention.
const CONTENTION: Duration = Duration::from_millis(5);

impl Partition {
    /// Decides on a broken attempt at the first `taken` records.
    pub(super) async fn react(&mut self, broken: Broken, taken: usize, took: Duration) {
        let index = self.breaker(&broken, taken);
        let attempts = index.map_or(0, |i| self.pending[i].attempts.saturating_add(1));
        let facts = self.facts(&broken, attempts, taken).await;
        let verdict = verdict(&broken.failure, facts);
        self.shared.meters.retried(verdict.name());
        self.say(&broken, &verdict);
        if taken == 1
            && let Some(index) = index
        {
            self.pending[index].elapsed += took;
        }
        match verdict {
            Verdict::Infrastructure => self.infrastructure(&broken, taken).await,
            Verdict::Contention => self.contention(&broken, taken).await,
            Verdict::Reconnect => self.fresh = true,
            Verdict::Transient { after } => self.transient(index, &broken, after, taken).await,
            Verdict::AgainFresh => self.again(index, &broken, taken).await,
            Verdict::Permanent(cause) => self.permanent(index, &broken, cause, taken).await,
            Verdict::Stop(reason) => self.stop(index, &broken, reason, taken).await,
            Verdict::Escape(cause) => self.escape(index, &broken, cause, taken).await,
        }
    }

    /// The index of the record that broke the attempt, where one is known. An escape of a lone record is its
    /// own; any other failure that names no record is the database's, or the host's.
    fn breaker(&self, broken: &Broken, taken: usize) -> Option<usize> {
        match broken.offset {
            Some(offset) => self
                .pending
                .iter()
                .take(taken)
                .position(|p| p.offset() == offset),
            None => {
                let escaped = matches!(broken.failure, Failure::Escape { .. });
                (escaped && taken == 1).then_some(0)
            }
        }
    }

    async fn facts(&mut self, broken: &Broken, attempts: u32, taken: usize) -> Facts {
        // What has to be asked for is asked for where the answer counts alone.
        let others = match taken == 1 && self.was_fresh {
            true => self.others(broken).await,
            false => Others::Unknown,
        };
        Facts {
            attempts,
            fresh_connection: self.was_fresh,
            of_nobody: broken.offset.is_none(),
            confirmed_healthy: broken.is_doubtful() && self.shared.inbox.ping().await.is_ok(),
            others,
        }
    }

    /// What other records say of the statement that stops the one at the front.
    async fn others(&mut self, broken: &Broken) -> Others {
        let before = broken.offset.is_some() && self.vouched == broken.offset;
        let others = self.witnesses().asked(broken, before).await;
        self.vouched = broken.offset.filter(|_| others == Others::OneWorks);
        others
    }

    async fn transient(
        &mut self,
        index: Option<usize>,
        broken: &Broken,
        after: Option<Duration>,
        taken: usize,
    ) {
        let now = Instant::now();
        let retry = self.shared.config.retry.clone();
        let Some(index) = index else {
            return self.isolate(broken, taken);
        };
        let record = &mut self.pending[index];
        record.attempts = record.attempts.saturating_add(1);
        // The handler's own word needs no proof by a run alone; what a limit or the database says may be a neighbour's
        // doing.
        let proven = taken == 1 || matches!(broken.failure, Failure::Retry { .. });
        if proven && retry.exhausted(record.attempts, record.elapsed) {
            let facts = Facts {
                attempts: record.attempts,
                ..Facts::default()
            };
            let cause = exhausted(&broken.failure, facts);
            return self.decide(index, cause);
        }
        let wait = after.map_or_else(
            || retry.wait(record.attempts, fastrand::f64()),
            |a| a.min(retry.max),
        );
        record.not_before = Some(now + wait);
        record.elapsed += wait;
        if taken > 1 {
            self.isolate(broken, taken);
        }
        self.remember(index).await;
    }

    async fn again(&mut self, index: Option<usize>, broken: &Broken, taken: usize) {
        if taken > 1 {
            self.isolate(broken, taken);
        }
        if let Some(index) = index {
            let record = &mut self.pending[index];
            record.attempts = record.attempts.saturating_add(1);
            self.remember(index).await;
        }
    }

    /// Writes the record's attempts down for whoever owns the partition next. Where that fails, the next failure's write
    /// has them all.
    async fn remember(&mut self, index: usize) {
        let record = &self.pending[index];
        let failing = Failing {
            offset: record.offset(),
            attempts: record.attempts,
            elapsed: record.elapsed,
        };
        let key = self.shared.key(&self.source);
        if let Err(error) = self.shared.inbox.failed(&key, self.at.token, failing).await {
            tracing::debug!(partition = %self.source, %error, "a record's attempts could not be written down now");
        }
    }

    /// A record is rejected only for what it does alone.
    async fn permanent(
        &mut self,
        index: Option<usize>,
        broken: &Broken,
        cause: Cause,
        taken: usize,
    ) {
        match index {
            Some(index) if taken == 1 => self.decide(index, cause),
            _ => self.again(index, broken, taken).await,
        }
    }

    async fn escape(&mut self, index: Option<usize>, broken: &Broken, cause: Cause, taken: usize) {
        if taken == 1 {
            let tenant = index.map_or_else(|| Arc::clone(&self.shared.own), |at| self.whose(at));
            let module = tenant.module();
            tracing::error!(partition = %self.source, consumer = %self.shared.name, tenant = tenant.name(), module = module.name(), digest = %hex::encode(module.digest()), "the module tried to leave its transaction; it is quarantined until another module is activated");
            tenant.conduct.quarantine(module.digest());
        }
        self.permanent(index, broken, cause, taken).await;
    }

    fn decide(&mut self, index: usize, cause: Cause) {
        let record = &mut self.pending[index];
        record.not_before = None;
        record.decided = Some(cause);
        let offset = record.offset();
        self.planner.settled(offset);
    }

    fn isolate(&mut self, broken: &Broken, taken: usize) {
        let first = self.pending[0].offset();
        self.planner.broke(first, taken, broken.offset);
    }

    /// The record that met the lock waits for it by itself, which needs no lane.
    async fn contention(&mut self, broken: &Broken, taken: usize) {
        self.isolate(broken, taken);
        let pace = CONTENTION * u32::try_from(self.repeats.count().min(20)).unwrap_or(20);
        self.wait(pace.mul_f64(0.5 + fastrand::f64())).await;
    }

    /// Waits for as long as it takes. A statement that came to its time limit without being a record's may have
    /// been too large: the next batch is smaller.
    async fn infrastructure(&mut self, broken: &Broken, taken: usize) {
        if matches!(broken.failure, Failure::Sql { .. }) {
            self.isolate(broken, taken);
        }
        let retry = &self.shared.config.retry;
        let turn = u32::try_from(self.repeats.count()).unwrap_or(u32::MAX);
        let wait = retry
            .wait(turn.max(1), fastrand::f64())
            .min(INFRASTRUCTURE_MAX);
        self.wait(wait).await;
    }

    async fn stop(&mut self, index: Option<usize>, broken: &Broken, reason: String, taken: usize) {
        if taken > 1 {
            return self.isolate(broken, taken);
        }
        self.fresh = true;
        let unknown = matches!(broken.failure, Failure::NoTenant { .. });
        if let Some(tenant) = index.filter(|_| !unknown).map(|at| self.whose(at))
            && tenant.name.is_some()
        {
            // Its neighbours must not wait for what it lacks.
            return self.brake(&tenant, &tenant.module(), &reason).await;
        }
        // Others are told which record it is, once.
        if let Some(index) = index.filter(|_| !self.shared.is_stopped(&self.source)) {
            self.remember(index).await;
        }
        self.shared.stopped(&self.source, Some(reason));
        let wait = self.shared.config.retry.max;
        let mut module = self.shared.own.modules();
        let mut tenants = self.shared.rosters();
        module.mark_unchanged();
        tokio::select! {
            () = self.wait(wait) => {}
            _ = module.changed() => {}
            _ = tenants.changed() => {}
        }
    }

    /// The tenant of a record; a consumer without tenants is its own.
    pub(super) fn whose(&self, index: usize) -> Arc<Tenant> {
        let roster = self.shared.roster();
        let name = self.pending[index].tenant.as_ref();
        match roster.zip(name).map(|(roster, name)| roster.fare(name)) {
            Some(Fare::Run(tenant)) => tenant,
            _ => Arc::clone(&self.shared.own),
        }
    }

    /// A batch of the first `taken` records would have too many rejected. One that holds more than may be rejected is made
    /// smaller first, so that the letters of what is within the limit tell what is wrong.
    pub(super) async fn tripped(&mut self, tripped: Tripped, taken: usize) {
        let most = self.shared.config.brake.map(|p| p.most_rejected().max(1));
        if let Some(most) = most.filter(|most| taken > *most) {
            return self.planner.at_most(most);
        }
        let Tripped { trip, last, runner } = tripped;
        let reason = format!("{trip}; {last}");
        self.brake(&runner.tenant, &runner.module, &reason).await;
    }

    /// Holds a tenant, or the consumer, back on all hosts.
    pub(super) async fn brake(&mut self, tenant: &Tenant, module: &Module<Db>, reason: &str) {
        self.shared.hold_back(tenant, module, reason).await;
        self.await_news().await;
    }

    /// Waits until it is known anew who may run, no longer than a moment.
    pub(super) async fn await_news(&mut self) {
        let (mut controls, mut rosters) = (self.shared.controls(), self.shared.rosters());
        self.shared.look.notify_one();
        self.shared.look_at_tenants.notify_one();
        tokio::select! {
            () = self.wait(BRAKE) => {}
            _ = controls.changed() => {}
            _ = rosters.changed() => {}
        }
    }

    /// Waits while the consumer is paused or braked, no longer than until the next look at the token.
    pub(super) async fn held(&mut self) {
        let (mut controls, mut may_begin) = (self.shared.controls(), self.may_begin.clone());
        let module = self.shared.own.module().digest();
        let runs = |control: &Control| control.state_of(&module) == State::Running;
        tokio::select! {
            _ = controls.wait_for(runs) => {}
            _ = may_begin.wait_for(|may| !may) => {}
            () = tokio::time::sleep(BRAKE) => {}
        }
    }

    /// Whether the record at the front has to wait: for its time, or for another module.
    pub(super) fn must_wait(&mut self) -> bool {
        let Some(front) = self.pending.front() else {
            return false;
        };
        // One whose tenant is held back is put aside, not waited for.
        let too_early =
            front.not_before.is_some_and(|t| t > Instant::now()) && !self.burden.holds(front);
        too_early || (front.decided.is_none() && self.shared.is_barred())
    }

    /// Waits for what [`must_wait`](Self::must_wait) found, no longer than `most`.
    pub(super) async fn hold_back(&mut self, most: Duration) {
        let now = Instant::now();
        let until = self
            .pending
            .front()
            .and_then(|p| p.not_before)
            .filter(|t| *t > now);
        let wait = until.map_or(Duration::from_millis(200), |t| t.duration_since(now));
        let tenant = self.pending.front().and_then(|front| front.tenant.clone());
        let patience = self.burden.patience(tenant.as_ref()).unwrap_or(most);
        self.wait(wait.min(most).min(patience)).await;
        self.burden.waited(tenant.as_ref(), now.elapsed());
    }

    /// Waits, but no longer than the partition is ours.
    async fn wait(&mut self, time: Duration) {
        let mut may_begin = self.may_begin.clone();
        tokio::select! {
            () = tokio::time::sleep(time) => {}
            _ = may_begin.wait_for(|may| !may) => {}
        }
    }

    /// What failed is over.
    pub(super) fn going_again(&mut self) {
        if let Some(times) = self.repeats.over().filter(|times| *times > 1) {
            tracing::info!(partition = %self.source, consumer = %self.shared.name, times, "going again");
        }
        self.shared.stopped(&self.source, None);
    }

    fn say(&mut self, broken: &Broken, verdict: &Verdict) {
        let (consumer, partition) = (&self.shared.name, &self.source);
        let offset = broken.offset;
        match self.repeats.failed(Instant::now()) {
            Say::First => {
                tracing::warn!(%consumer, %partition, offset, failure = short(&broken.failure), verdict = verdict.name(), "an attempt broke and was rolled back");
            }
            Say::Again(times, since) => {
                tracing::warn!(%consumer, %partition, offset, times, ?since, failure = short(&broken.failure), verdict = verdict.name(), "attempts still break");
            }
            Say::Nothing => {}
        }
    }
}

/// A failure in one line: a trap's frames and a guest's last words are in the dead letter, and in its own lines.
pub(super) fn short(failure: &Failure) -> String {
    let text = failure.to_string();
    let line = text.lines().next().unwrap_or_default();
    tidegate_core::text::bounded(line, 400)
}
