//! What one test owns: a database, a name suffix, a directory, the way to everything else.

use std::net::SocketAddr;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tokio::sync::OwnedSemaphorePermit;

use crate::artifacts;
use crate::db::Db;
use crate::host::{Consumer, HostBuilder, HostConfig, Output};
use crate::kafka::Kafka;
use crate::proxy::Proxy;
use crate::server::{OwnBroker, Server};
use crate::services::{Services, services};
use crate::{host, paths};

/// One test's world; no other test touches it.
pub struct TestEnv {
    /// The test's database.
    pub db: Db,
    /// The broker.
    pub kafka: Kafka,
    /// What makes this test's names unique.
    pub suffix: String,
    dir: TempDir,
    services: &'static Services,
}

/// Starts the run's servers if nobody has, and makes a test its own world.
pub async fn test_env(name: &str) -> TestEnv {
    test_env_on(name, None, None).await
}

/// The same, with the database on another server than the run's, or as a copy of the database `template` there, which
/// nobody may be connected to.
pub async fn test_env_on(name: &str, server: Option<&Server>, template: Option<&str>) -> TestEnv {
    let services = match tokio::task::spawn_blocking(services).await {
        Ok(services) => services,
        Err(e) => panic!("the tests' servers did not start: {e}"),
    };
    let suffix = format!("{name}-{:08x}", fastrand::u32(..));
    let dir = tempfile::Builder::new()
        .prefix(&format!("{name}-"))
        .tempdir_in(paths::run_dir());
    // PostgreSQL cuts names at 63 bytes.
    let database = format!("t_{}", &suffix[suffix.len().saturating_sub(60)..]);
    let port = server.map_or(services.pg_port, Server::port);
    TestEnv {
        db: Db::create(port, &database, template).await,
        kafka: Kafka::new(&services.kafka),
        suffix,
        dir: dir.unwrap_or_else(|e| panic!("cannot make the test's directory: {e}")),
        services,
    }
}

impl TestEnv {
    /// With a broker of the test's own in the place of the run's.
    pub fn on_broker(mut self, broker: &OwnBroker) -> Self {
        self.kafka = Kafka::new(&broker.addr());
        self
    }

    /// A directory of the test's own, removed at its end.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// `base-SUFFIX`, for topics, groups and consumers.
    pub fn unique(&self, base: &str) -> String {
        format!("{base}-{}", self.suffix)
    }

    /// Creates the topic `unique(base)` and answers its full name.
    pub async fn topic(&self, base: &str, partitions: i32) -> String {
        let name = self.unique(base);
        self.kafka.create_topic(&name, partitions, &[]).await;
        name
    }

    /// A configuration with both servers' addresses, short Kafka sessions and a module cache that all runs share.
    pub fn config(&self) -> HostConfig {
        HostConfig::new(self.kafka.bootstrap(), &self.db.url())
    }

    /// A consumer of one topic with a built guest, a name and group of this test's own, and quick retries.
    pub async fn consumer(&self, topic: &str, guest: &str) -> Consumer {
        Consumer::new(&self.unique("c"))
            .topic(topic)
            .handler(artifacts::guest(guest).await)
            .set("start", "earliest")
            .dedup("id", "header:event-id")
            // The slow guest's, which may take another's place.
            .sql("functions", "pg_sleep")
            .retry("initial", "20ms")
            .retry("max", "200ms")
    }

    /// The host with this configuration, not started yet.
    pub fn host(&self, config: HostConfig) -> HostBuilder {
        HostBuilder::new(self.dir(), &config)
    }

    /// Runs `tidegate ARGS -c FILE` to its end (60 s).
    pub async fn cli(&self, args: &[&str], config: &HostConfig) -> Output {
        let file = host::write_config(self.dir(), config);
        let file = file.to_string_lossy().into_owned();
        self.cli_raw(&[args, &["-c", &file]].concat()).await
    }

    /// Runs `tidegate ARGS` to its end (60 s), in the test's directory.
    pub async fn cli_raw(&self, args: &[&str]) -> Output {
        host::run_cli(self.dir(), args).await
    }

    /// A fault proxy in front of PostgreSQL.
    pub async fn pg_proxy(&self) -> Proxy {
        Proxy::start(SocketAddr::from(([127, 0, 0, 1], self.db.port()))).await
    }

    /// A fault proxy whose address the broker advertises to whoever comes through it. Waits for its turn.
    pub async fn kafka_proxy(&self) -> KafkaProxy {
        let turn = self.services.proxies.turns.clone().acquire_owned().await;
        let turn = turn.unwrap_or_else(|_| panic!("the pool of Kafka proxies is closed"));
        KafkaProxy {
            proxy: Some(self.services.proxies.take()),
            services: self.services,
            _turn: turn,
        }
    }

    /// Copies a built guest to `dir()/file`, where the test may replace it.
    pub async fn guest_copy(&self, name: &str, file: &str) -> PathBuf {
        let (from, to) = (artifacts::guest(name).await, self.dir().join(file));
        if let Err(e) = std::fs::copy(&from, &to) {
            panic!("cannot copy {} to {}: {e}", from.display(), to.display());
        }
        to
    }
}

/// A proxy from the pool; goes back as new when dropped.
pub struct KafkaProxy {
    proxy: Option<Proxy>,
    services: &'static Services,
    // Dropped after the proxy is back in the pool.
    _turn: OwnedSemaphorePermit,
}

impl Deref for KafkaProxy {
    type Target = Proxy;

    fn deref(&self) -> &Proxy {
        match &self.proxy {
            Some(proxy) => proxy,
            None => panic!("a Kafka proxy is used after it went back"),
        }
    }
}

impl Drop for KafkaProxy {
    fn drop(&mut self) {
        if let Some(proxy) = self.proxy.take() {
            proxy.reset();
            self.services.proxies.put(proxy);
        }
    }
}
