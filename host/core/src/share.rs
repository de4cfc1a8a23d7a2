//! A tenant's share of its partition's time: what it takes beyond that while others wait, it has to make up for.
//!
//! An account a tenant, in time: what its records take is owed, and `share` of the time that passes pays it off. Who owes
//! more than `share` of the window is held back until half of that is paid. So over any stretch of time a tenant's
//! records take at most `share` of it, `share` of one window, and one record more, however long one record is.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

/// `share` and `share_window` of `[consumer.tenants]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharePolicy {
    /// The share of a partition's time that one tenant may take while others wait: above 0, at most 1.
    pub share: f64,
    /// The time over which it may take it at once.
    pub window: Duration,
}

impl Default for SharePolicy {
    fn default() -> Self {
        Self {
            share: 0.5,
            window: Duration::from_secs(10),
        }
    }
}

/// Records that take less than the window by this are not counted.
const FLOOR: u32 = 200;

impl SharePolicy {
    /// What a tenant may owe before it is held back.
    pub fn most(&self) -> Duration {
        self.window.mul_f64(self.share)
    }

    /// Whether a record that took so long counts. A tenant with many quick ones is busy, not slow: its neighbours wait no
    /// longer than for as many of anybody's.
    pub fn counts(&self, took: Duration) -> bool {
        took >= self.window / FLOOR
    }
}

/// The accounts of one partition's tenants. Time is counted from any moment on, and never goes back.
#[derive(Clone, Debug)]
pub struct Shares<K> {
    policy: SharePolicy,
    accounts: HashMap<K, Account>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Account {
    owed: Duration,
    at: Duration,
    held: bool,
}

impl Account {
    fn pay(&mut self, now: Duration, policy: &SharePolicy) {
        let passed = now.saturating_sub(self.at);
        self.at = self.at.max(now);
        self.owed = self.owed.saturating_sub(passed.mul_f64(policy.share));
    }

    /// Held back from the moment it owes too much, until half of that is paid.
    fn settle(&mut self, policy: &SharePolicy) {
        let most = policy.most();
        self.held = self.owed > most || (self.held && self.owed > most / 2);
    }
}

impl<K: Clone + Eq + Hash> Shares<K> {
    /// Nobody owes anything.
    pub fn new(policy: SharePolicy) -> Self {
        Self {
            policy,
            accounts: HashMap::new(),
        }
    }

    /// The rule.
    pub fn policy(&self) -> &SharePolicy {
        &self.policy
    }

    /// A tenant has had the partition to itself for `took`, up to `now`, while others waited.
    pub fn took(&mut self, who: &K, now: Duration, took: Duration) {
        self.settle(now);
        let fresh = Account {
            at: now,
            ..Account::default()
        };
        let account = self.accounts.entry(who.clone()).or_insert(fresh);
        account.owed = account.owed.saturating_add(took);
        account.settle(&self.policy);
    }

    /// Whether a tenant is held back now.
    pub fn holds(&mut self, who: &K, now: Duration) -> bool {
        let Some(account) = self.accounts.get_mut(who) else {
            return false;
        };
        account.pay(now, &self.policy);
        account.settle(&self.policy);
        account.held
    }

    /// How long a tenant may have the partition to itself from `now` on before it is held back; none where that is for
    /// ever.
    pub fn patience(&self, who: &K, now: Duration) -> Option<Duration> {
        let mut account = self.accounts.get(who).copied().unwrap_or(Account {
            at: now,
            ..Account::default()
        });
        account.pay(now, &self.policy);
        let left = self.policy.most().saturating_sub(account.owed);
        let net = 1.0 - self.policy.share;
        // Far beyond any wait, and within what a duration holds.
        let seconds = left.as_secs_f64() / net;
        (seconds < 1e9).then(|| Duration::from_secs_f64(seconds))
    }

    /// Forgets who owes nothing more, so that no more are known than may owe something at a time.
    fn settle(&mut self, now: Duration) {
        let policy = self.policy;
        self.accounts.retain(|_, account| {
            account.pay(now, &policy);
            account.settle(&policy);
            !account.owed.is_zero()
        });
    }
}

#[cfg(test)]
mod tests;
