//! The host as anybody runs it: the real binary, an example handler, one consumer.

use anyhow::{Result, ensure};
use tidegate_tests::{Consumer, Host, HostConfig, Rec};

use crate::BATCH;
use crate::measure::gauge::Progress;
use crate::peer::Job;
use crate::peer::beside::{Beside, Intruder};

/// Records committed, over all partitions.
pub(crate) const PROGRESS: Progress = Progress::Table(
    "SELECT sum(next_offset)::bigint FROM tidegate.progress WHERE consumer_name = 'bench'",
);

/// The consumer's name, in every measurement: events that are in the inbox beforehand bear it too.
pub(crate) const CONSUMER: &str = "bench";

/// Records of the hostile consumer: each computes for two times two seconds, longer together than any measurement.
const LOOPS: usize = 200;

/// Partitions of the consumer that computes in many, and records in each.
const CROWD: i32 = 64;
const CROWD_RECORDS: i32 = 16;

/// How the host runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    /// Processes, in one group.
    pub(crate) processes: usize,
    /// Time between two rounds of pruning.
    pub(crate) prune_interval: &'static str,
    /// Whether it finds compiled modules in its cache.
    pub(crate) warm_cache: bool,
    /// Whether another consumer's guest computes for as long as it may, over and over.
    pub(crate) hostile: bool,
    /// Whether another consumer's guests compute in many partitions, each record a fifth of a second.
    pub(crate) crowded: bool,
    /// Whether its guests have a role of their own.
    pub(crate) role: bool,
    /// Who is refused beside it meanwhile.
    pub(crate) beside: Beside,
}

impl Setting {
    /// One process, every setting at its default.
    pub(crate) const DEFAULT: Self = Self {
        processes: 1,
        prune_interval: "1m",
        warm_cache: true,
        hostile: false,
        crowded: false,
        role: false,
        beside: Beside::Nobody,
    };
}

/// The guests' role, where they have one. Roles are the server's: it may be there.
const ROLE: &str = "bench_guest";
const MAKE_ROLE: &str =
    "DO $$ BEGIN CREATE ROLE bench_guest NOLOGIN; EXCEPTION WHEN duplicate_object THEN END $$;
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO bench_guest";

/// What comes before a measurement: schema, and role.
pub(crate) async fn prepare(job: &Job<'_>, setting: Setting) -> Result<()> {
    if setting.role {
        job.env.db.exec(MAKE_ROLE).await;
    }
    migrate(job).await
}

/// Brings the schema up to date, so that no measurement begins with it.
pub(crate) async fn migrate(job: &Job<'_>) -> Result<()> {
    let config = job.env.config().postgres(&job.env.db.url());
    let config = config.consumer(consumer(job).await);
    let migrated = job.env.cli(&["migrate"], &config).await;
    ensure!(
        migrated.code == 0,
        "tidegate migrate failed: {}",
        migrated.stderr
    );
    Ok(())
}

/// Starts the processes.
pub(crate) async fn start(job: &Job<'_>, setting: Setting) -> Hosts {
    let config = config(job, setting).await;
    let mut hosts = Vec::new();
    for _ in 0..setting.processes {
        let host = job.env.host(config.clone()).args(&["run"]);
        hosts.push(host.start().await);
    }
    let intruder = match setting.beside {
        Beside::Nobody => None,
        beside => Some(intruder(job, setting, beside).await),
    };
    Hosts { hosts, intruder }
}

/// A host with the same consumer in another group; by the schema's history it is refused before that matters.
async fn intruder(job: &Job<'_>, setting: Setting, beside: Beside) -> Intruder {
    let staging = consumer(job).await.group(&job.env.unique("staging"));
    let config = base(job, setting).consumer(staging);
    let host = job.env.host(config).args(&["run"]);
    Intruder::start(host, job.env.db.client().await, beside)
}

/// A session as long as a busy machine needs; everything else is the default.
fn base(job: &Job<'_>, setting: Setting) -> HostConfig {
    let config = job.env.config().postgres(&job.url);
    let config = config.librdkafka("session.timeout.ms", "10000");
    config.set("postgres", "prune_interval", setting.prune_interval)
}

async fn config(job: &Job<'_>, setting: Setting) -> HostConfig {
    let config = base(job, setting);
    let consumer = consumer(job).await;
    let config = config.consumer(match setting.role {
        true => consumer.set("role", ROLE),
        false => consumer,
    });
    let config = match setting.hostile {
        true => config.consumer(hostile(job).await),
        false => config,
    };
    let config = match setting.crowded {
        true => config.consumer(crowd(job).await),
        false => config,
    };
    if setting.warm_cache {
        return config;
    }
    config.set("host", "module_cache", job.env.dir().join("cold-cache"))
}

async fn consumer(job: &Job<'_>) -> Consumer {
    let consumer = job
        .env
        .consumer(&job.stock.topic, job.load.work.guest())
        .await;
    let consumer = consumer.set("name", CONSUMER).group(&job.env.unique("g"));
    consumer.batch("max_records", BATCH)
}

/// A consumer that is given nothing but records which compute to their limit: it keeps one core busy.
async fn hostile(job: &Job<'_>) -> Consumer {
    let topic = job.env.topic("hostile", 1).await;
    let value = r#"{"amount_minor":0,"account_id":1,"trick":"loop"}"#;
    let record = |n: usize| Rec::new(value).event_id(&n.to_string());
    let records = (0..LOOPS).map(record).collect();
    job.env.kafka.produce(&topic, records).await;
    let consumer = job.env.consumer(&topic, "hostile").await;
    let consumer = consumer.set("name", "hostile").group(&job.env.unique("h"));
    consumer.limits("cpu", "2s").set("brake", "off")
}

/// A consumer of many partitions, more records in each than any measurement has time for.
async fn crowd(job: &Job<'_>) -> Consumer {
    let topic = job.env.topic("crowd", CROWD).await;
    let value = r#"{"amount_minor":0,"account_id":1,"spin_ms":200}"#;
    let record = |n: i32| Rec::new(value).to(n % CROWD).event_id(&n.to_string());
    let records = (0..CROWD * CROWD_RECORDS).map(record).collect();
    job.env.kafka.produce(&topic, records).await;
    let consumer = job.env.consumer(&topic, "slow").await;
    consumer.set("name", "crowd").group(&job.env.unique("w"))
}

/// The processes at work.
pub(crate) struct Hosts {
    hosts: Vec<Host>,
    intruder: Option<Intruder>,
}

impl Hosts {
    /// Their numbers.
    pub(crate) fn pids(&self) -> Vec<i32> {
        self.hosts.iter().map(Host::pid).collect()
    }

    /// Shows the log of one that has ended by itself.
    pub(crate) fn alive(&self) -> Result<()> {
        let ended = self.hosts.iter().find(|host| !host.is_running());
        ensure!(
            ended.is_none(),
            "the host ended by itself:\n{}",
            ended.map(Host::log).unwrap_or_default()
        );
        Ok(())
    }

    /// Stops each in order.
    pub(crate) async fn stop(self) -> Result<()> {
        drop(self.intruder);
        for host in &self.hosts {
            let code = host.terminate().await;
            ensure!(
                code == 0,
                "the host ended with code {code} on SIGTERM:\n{}",
                host.log()
            );
        }
        Ok(())
    }
}
