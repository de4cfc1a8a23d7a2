//! What a partition's tenants cost one another in time, and who is held back for it.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tidegate_core::letter::Cause;
use tidegate_core::share::Shares;
use tidegate_core::tenant::{NotRunning, TenantName};

use crate::config::ConsumerConfig;
use crate::kafka::PartitionQueue;
use crate::worker::pending::Pending;

/// One partition's. Where there are no tenants, or no bound, nobody is ever held back.
pub struct Burden {
    consumer: Arc<str>,
    began: Instant,
    shares: Option<Shares<TenantName>>,
    /// Whether records of more than one tenant are in hand: each waits for the others.
    others_wait: bool,
    /// A record took long while no other tenant's was in hand.
    slow_alone: bool,
    /// Who was held back when it was last looked at, so that it is said once.
    told: HashSet<TenantName>,
}

impl Burden {
    pub(super) fn new(consumer: Arc<str>, config: &ConsumerConfig) -> Self {
        let policy = config.tenants.as_ref().and_then(|tenants| tenants.share);
        Self {
            consumer,
            began: Instant::now(),
            shares: policy.map(Shares::new),
            others_wait: false,
            slow_alone: false,
            told: HashSet::new(),
        }
    }

    /// Looks who is in hand: among what is taken in, and behind it too where a record took long.
    pub(super) fn look(
        &mut self,
        pending: &VecDeque<Pending>,
        queue: &PartitionQueue,
        config: &ConsumerConfig,
    ) {
        let Some(tenants) = config.tenants.as_ref().filter(|t| t.share.is_some()) else {
            return;
        };
        let mut named = pending.iter().filter_map(|pending| pending.tenant.as_ref());
        let Some(first) = named.next() else {
            self.others_wait = false;
            return;
        };
        let other = |record: &_| matches!(tenants.from.of(record), Ok(name) if name != *first);
        self.others_wait = named.any(|name| name != first) || (self.slow_alone && queue.any(other));
    }

    /// A tenant's record ran for so long.
    pub(super) fn ran(&mut self, tenant: Option<&TenantName>, took: Duration) {
        let (Some(shares), Some(tenant)) = (&mut self.shares, tenant) else {
            return;
        };
        if !shares.policy().counts(took) {
            return;
        }
        match self.others_wait {
            true => shares.took(tenant, self.began.elapsed(), took),
            false => self.slow_alone = true,
        }
    }

    /// The partition waited so long for a tenant's record to be tried again.
    pub(super) fn waited(&mut self, tenant: Option<&TenantName>, took: Duration) {
        if let (Some(shares), Some(tenant), true) = (&mut self.shares, tenant, self.others_wait) {
            shares.took(tenant, self.began.elapsed(), took);
        }
    }

    /// How long the partition may wait for a tenant's record before the tenant is held back; none: as long as it takes.
    pub(super) fn patience(&self, tenant: Option<&TenantName>) -> Option<Duration> {
        let (shares, tenant) = (self.shares.as_ref()?, tenant?);
        let patience = shares.patience(tenant, self.began.elapsed())?;
        // Just beyond it: who owes exactly as much as it may is not held back yet.
        self.others_wait
            .then_some(patience + Duration::from_millis(5))
    }

    /// Whether a tenant's record is to be put aside: the tenant has had more than its share, and others wait.
    pub(super) fn holds(&mut self, pending: &Pending) -> bool {
        let (Some(shares), Some(tenant)) = (&mut self.shares, &pending.tenant) else {
            return false;
        };
        let held = shares.holds(tenant, self.began.elapsed()) && self.others_wait;
        let (consumer, partition) = (&self.consumer, &pending.record.source);
        let offset = pending.offset();
        match held {
            true if !self.told.contains(tenant) => {
                self.told.insert(tenant.clone());
                tracing::warn!(%consumer, %partition, %tenant, from = offset, "the tenant took more than its share of the partition's time while others waited (tenants.share): its records are put aside as dead letters until it has made up for it");
            }
            false if self.told.remove(tenant) => {
                tracing::warn!(%consumer, %partition, %tenant, from = offset, "the tenant goes on; what was put aside before waits for a replay: `tidegate dlt replay --tenant`");
            }
            _ => {}
        }
        held
    }

    /// The cause of the letter of a record that is put aside.
    pub(super) fn cause(pending: &Pending) -> Option<Cause> {
        let tenant = pending.tenant.as_ref()?;
        Some(Cause {
            attempts: pending.attempts,
            ..NotRunning::Slow.cause(tenant)
        })
    }
}
