//! The configuration, validated: what the rest of the host works with.

mod consumer;
mod dedup;
pub mod defaults;
#[doc(hidden)]
pub mod fuzzing;
mod guest;
mod load;
mod names;
mod overlay;
pub(crate) mod postgres_url;
mod problems;
mod rules;
mod secrets;
mod section;
mod shown;
mod sql;
pub mod tenants;
#[cfg(test)]
mod tests;
mod tree;
mod units;

pub use load::{CheckOptions, load};
pub(crate) use names::bad_topic;
pub use postgres_url::UrlError;
pub use problems::ConfigErrors;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use tidegate_core::backoff::RetryPolicy;
use tidegate_core::batch::BatchLimits;
use tidegate_core::brake::BrakePolicy;
use tidegate_core::event_id::IdRule;
use tidegate_core::letter::{Cause, Profile};
use tidegate_core::limits::GuestLimits;
use tidegate_core::resume::Start;
use tidegate_core::share::SharePolicy;
use tidegate_core::tenant::{Otherwise, TenantName, TenantSource};
use tidegate_core::ttl::TtlRule;

/// The whole file.
#[derive(Clone, Debug)]
pub struct Config {
    /// `[kafka]`
    pub kafka: KafkaConfig,
    /// `[postgres]`
    pub postgres: PostgresConfig,
    /// `[[consumer]]`, at least one
    pub consumers: Vec<ConsumerConfig>,
    /// `[host] module_cache`: where compiled modules are kept.
    pub module_cache: PathBuf,
    /// `[host] shutdown_timeout`: how long a stop may take.
    pub shutdown_timeout: Duration,
    /// `[host] http`: where metrics and health are served; none after `"off"`.
    pub http: Option<SocketAddr>,
    /// What is allowed and seldom meant, each with its place; for the log and for `check`.
    pub warnings: Vec<String>,
    /// Every key with the value that holds, secrets left out; for `config show`.
    pub shown: toml::Table,
}

/// `[kafka]`
#[derive(Clone)]
pub struct KafkaConfig {
    /// `bootstrap_servers`
    pub bootstrap_servers: String,
    /// `[kafka.librdkafka]`: passed through, the names that the host must own refused.
    pub librdkafka: BTreeMap<String, String>,
}

impl std::fmt::Debug for KafkaConfig {
    /// Names of options alone: their values may be secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KafkaConfig")
            .field("bootstrap_servers", &self.bootstrap_servers)
            .field("librdkafka", &self.librdkafka.keys())
            .finish()
    }
}

/// `[postgres]`
#[derive(Clone)]
pub struct PostgresConfig {
    /// `url` or what `url_file` holds. A secret: never printed.
    pub url: String,
    /// `password` or what `password_file` holds, for a URL without one. A secret: never printed.
    pub password: Option<String>,
    /// What relative paths in the URL are relative to.
    pub directory: PathBuf,
    /// `max_connections`: the most connections this process opens for batches.
    pub max_connections: usize,
    /// `connect_timeout`
    pub connect_timeout: Duration,
    /// `statement_timeout`: set on the server for each statement.
    pub statement_timeout: Duration,
    /// `lock_timeout`: how long a statement waits for a lock.
    pub lock_timeout: Duration,
    /// `idle_in_transaction_timeout`: how long the server keeps a batch whose host has gone silent, and with it
    /// the partition from its next owner. A quarter of it bounds how long one batch runs; longer than that and
    /// what any guest may compute.
    pub idle_in_transaction_timeout: Duration,
    /// `search_path`: the schemas in which guests' statements look for names without one, in this order.
    pub search_path: Vec<String>,
    /// `prune_interval`: time between two rounds of pruning.
    pub prune_interval: Duration,
}

impl std::fmt::Debug for PostgresConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresConfig")
            .field("max_connections", &self.max_connections)
            .finish_non_exhaustive()
    }
}

/// `[[consumer]]`
#[derive(Clone, Debug)]
pub struct ConsumerConfig {
    /// `name`: scopes the inbox.
    pub name: String,
    /// `topics`: names, no patterns.
    pub topics: Vec<String>,
    /// `group`: default the name.
    pub group: String,
    /// What its guests run as and within.
    pub guest: GuestConfig,
    /// `start`: only where neither Kafka nor PostgreSQL knows a position.
    pub start: Start,
    /// `[consumer.dedup]`
    pub dedup: DedupConfig,
    /// `[consumer.batch]`
    pub batch: BatchLimits,
    /// `[consumer.queue]`: records and bytes buffered for one partition before it is paused.
    pub queue: QueueLimits,
    /// `[consumer.retry]`
    pub retry: RetryPolicy,
    /// `[consumer.brake]`; none after `brake = "off"`.
    pub brake: Option<BrakePolicy>,
    /// `[consumer.dead_letter] topic`: default the first topic's name and `.dlt`. None after
    /// `dead_letter = "off"`: letters stay in PostgreSQL alone.
    pub dead_letter_topic: Option<String>,
    /// The rest of `[consumer.dead_letter]`.
    pub letters: LetterConfig,
    /// `[consumer.tenants]` and `[consumer.tenant.NAME]`; none where records have no tenants.
    pub tenants: Option<TenantsConfig>,
    /// `drain_timeout`: how long a revoked partition's batch may take to end.
    pub drain_timeout: Duration,
    /// What relative paths are relative to.
    pub directory: PathBuf,
}

impl ConsumerConfig {
    /// Its guests' configurations: its own, and those of the tenants that the file defines.
    pub fn guests(&self) -> impl Iterator<Item = &GuestConfig> {
        let listed = self
            .tenants
            .iter()
            .flat_map(|tenants| tenants.listed.values());
        std::iter::once(&self.guest).chain(listed.map(|tenant| &tenant.guest))
    }
}

/// `[consumer.tenants]`
#[derive(Clone, Debug, PartialEq)]
pub struct TenantsConfig {
    /// `from`: where a record names its tenant.
    pub from: TenantSource,
    /// `unknown`: what becomes of records of tenants that nobody has defined.
    pub unknown: Otherwise,
    /// `disabled`: what becomes of records of tenants that an operator has disabled.
    pub disabled: Otherwise,
    /// `share` and `share_window`: how much of a partition's time one tenant may take while others wait; none after
    /// `share = "off"`.
    pub share: Option<SharePolicy>,
    /// `[consumer.tenant.NAME]`: those that the file defines. Others are in PostgreSQL.
    pub listed: BTreeMap<TenantName, TenantConfig>,
}

/// `[consumer.tenant.NAME]`. What it leaves out is the consumer's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantConfig {
    /// What its guests run as and within.
    pub guest: GuestConfig,
    /// `dead_letter_topic`: a topic of its own for its letters.
    pub dead_letter_topic: Option<String>,
}

/// What guests run as and within: a consumer's, or one tenant's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestConfig {
    /// `handler`: a file, watched, relative to the configuration file's directory.
    pub handler: PathBuf,
    /// `role`: the database role that their statements run under; by default the login's own.
    pub role: Option<String>,
    /// `[consumer.limits]`
    pub limits: GuestLimits,
    /// `instance`: `batch` or `record`.
    pub instance: InstancePer,
    /// `[consumer.sql]`: what their statements may be.
    pub sql: tidegate_wall::Rules,
    /// `[consumer.settings]`: what the guest's `settings.get` reads.
    pub settings: BTreeMap<String, String>,
}

/// `[consumer.dead_letter]`, all but its topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LetterConfig {
    /// `headers`: whose names a published letter's headers have.
    pub headers: Profile,
    /// `keep_closed`: how long a closed letter is kept, if it has no more to be published.
    pub keep_closed: Duration,
    /// `max_replays`: rounds after which a letter is parked. At least 1.
    pub max_replays: i32,
    /// `messages`: whether a letter's row keeps what the server said, which may hold values of rows.
    pub full_messages: bool,
}

impl LetterConfig {
    /// What a letter keeps of its cause.
    pub fn kept(&self, cause: Cause) -> Cause {
        let server = cause.server.filter(|_| self.full_messages);
        Cause { server, ..cause }
    }
}

impl Default for LetterConfig {
    fn default() -> Self {
        Self {
            headers: Profile::default(),
            keep_closed: defaults::KEEP_CLOSED,
            max_replays: i32::try_from(defaults::MAX_REPLAYS).unwrap_or(i32::MAX),
            full_messages: true,
        }
    }
}

/// `[consumer.dedup]`
#[derive(Clone, Debug)]
pub struct DedupConfig {
    /// Whether ids are claimed in the inbox; `dedup = "off"` leaves the position alone to guard.
    pub enabled: bool,
    /// `id`, `id_format`
    pub id: IdRule,
    /// `scope`
    pub scope: Scope,
    /// `ttl`, `ttl_from`, `min_ttl`, `max_ttl`, `ttl_out_of_range`
    pub ttl: TtlRule,
    /// `grace`: how long after its expiry a claim is kept before it is pruned.
    pub grace: Duration,
}

/// What an event id is unique within, beside the consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Nothing: one event is one event on whatever topic.
    Consumer,
    /// The topic.
    Topic,
}

/// How long a guest instance lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstancePer {
    /// As long as the batch's transaction.
    Batch,
    /// One record.
    Record,
}

/// Bounds of one partition's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLimits {
    /// Records.
    pub max_records: usize,
    /// Bytes.
    pub max_bytes: usize,
}
