//! What it ran on: without that a number of records a second says nothing.

use std::fmt;

use anyhow::{Context, Result};
use tidegate_tests::TestEnv;
use tokio::process::Command;

use crate::peer::pgbench;
use crate::report;

/// The machine and what runs on it.
pub(crate) struct Machine {
    pub(crate) cpus: usize,
    pub(crate) cpu: String,
    pub(crate) kernel: String,
    pub(crate) postgres: String,
    pub(crate) durability: String,
    pub(crate) pgbench: String,
    pub(crate) kafka: String,
    pub(crate) librdkafka: String,
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} CPUs ({}), Linux {}, PostgreSQL {} ({}), {}, Kafka {}, librdkafka {}; all on this machine",
            self.cpus,
            self.cpu,
            self.kernel,
            self.postgres,
            self.durability,
            self.pgbench,
            self.kafka,
            self.librdkafka
        )
    }
}

/// Asks the system, the server and the broker's files.
pub(crate) async fn describe(env: &TestEnv) -> Result<Machine> {
    let server = "SELECT current_setting('server_version'), 'fsync ' || current_setting('fsync')
        || ', synchronous_commit ' || current_setting('synchronous_commit')
        || ', full_page_writes ' || current_setting('full_page_writes')";
    let row = env.db.client().await.query_one(server, &[]).await?;
    Ok(Machine {
        cpus: std::thread::available_parallelism()?.get(),
        cpu: cpu(),
        kernel: first_line("/proc/sys/kernel/osrelease"),
        postgres: row.try_get(0)?,
        durability: row.try_get(1)?,
        pgbench: pgbench_version(env).await?,
        kafka: kafka_version().unwrap_or_else(|| "of unknown version".to_owned()),
        librdkafka: rdkafka::util::get_rdkafka_version().1,
    })
}

fn first_line(file: &str) -> String {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().next().unwrap_or("unknown").to_owned()
}

fn cpu() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find(|line| line.starts_with("model name"));
    let name = model.and_then(|line| Some(line.split_once(':')?.1.trim()));
    name.unwrap_or("unknown").to_owned()
}

async fn pgbench_version(env: &TestEnv) -> Result<String> {
    let program = pgbench::program(&env.db).await?;
    let output = Command::new(&program).arg("--version").output().await;
    let output = output.with_context(|| format!("cannot run {}", program.display()))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The version in the name of `kafka-clients-VERSION.jar`, which the set-up fetched.
fn kafka_version() -> Option<String> {
    let jars = std::fs::read_dir(report::target().join("kafka/libs")).ok()?;
    jars.filter_map(|jar| jar.ok()?.file_name().into_string().ok())
        .find_map(|name| {
            Some(
                name.strip_prefix("kafka-clients-")?
                    .strip_suffix(".jar")?
                    .to_owned(),
            )
        })
}

/// The load average of the last minute; 0 where the system does not tell.
pub(crate) fn load() -> f64 {
    let averages = first_line("/proc/loadavg");
    averages
        .split(' ')
        .next()
        .and_then(|load| load.parse().ok())
        .unwrap_or(0.0)
}
