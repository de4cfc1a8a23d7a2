//! One real Kafka broker: Apache Kafka in KRaft mode, from the jars that `.ci/setup` fetched.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::postgres::create;
use crate::wait::wait_blocking;
use crate::{paths, ports, reaper};

/// The cluster's id of every broker that is given no other.
const CLUSTER: &str = "MkU3OEVBNTcwNTJENDM2Qg";

const STARTED: &str = "Kafka Server started";

/// Settings that do not depend on ports. Short waits where tests would wait; permissive about records' timestamps.
const SETTINGS: &str = "
process.roles=broker,controller
node.id=1
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
auto.create.topics.enable=false
delete.topic.enable=true
num.network.threads=1
num.io.threads=4
background.threads=2
offsets.topic.num.partitions=4
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=500
message.max.bytes=8388608
replica.fetch.max.bytes=8388608
socket.request.max.bytes=104857600
log.retention.ms=-1
log.retention.bytes=-1
log.message.timestamp.before.max.ms=9223372036854775807
log.message.timestamp.after.max.ms=9223372036854775807
log.cleaner.backoff.ms=500
log.cleaner.threads=1
log.cleaner.dedupe.buffer.size=4194304
log.segment.delete.delay.ms=1000
log.retention.check.interval.ms=500
";

/// What sets a broker apart from the others of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct BrokerSpec {
    /// Names its directory and log; unique in a run.
    pub(crate) name: String,
    /// Ports that proxies listen on, a listener behind each.
    pub(crate) fronts: Vec<u16>,
    /// Listeners beside the plain one: name and security protocol.
    pub(crate) listeners: Vec<(String, String)>,
    /// Settings beside the usual ones, a line each.
    pub(crate) settings: String,
    /// Its cluster's id, where it is not that of all others.
    pub(crate) cluster: Option<String>,
    /// Users, as the storage tool is told of them.
    pub(crate) scram: Vec<String>,
}

/// A running broker.
pub(crate) struct Broker {
    /// The listener that advertises itself.
    pub(crate) port: u16,
    /// Listeners that advertise a proxy's port, in the order of the proxies.
    pub(crate) behind: Vec<u16>,
    /// The listeners beside the plain one, in the order of asking.
    pub(crate) more: Vec<u16>,
    dir: PathBuf,
    child: Child,
}

impl Broker {
    /// Starts it in a directory `name`; each of `fronts` is a port that a proxy listens on. A port taken meanwhile costs
    /// another try.
    pub(crate) fn start(name: &str, fronts: &[u16]) -> Result<Self, String> {
        Self::start_as(&BrokerSpec {
            name: name.to_owned(),
            fronts: fronts.to_vec(),
            ..BrokerSpec::default()
        })
    }

    /// Starts one with listeners and settings of its own.
    pub(crate) fn start_as(spec: &BrokerSpec) -> Result<Self, String> {
        let libs = libs()?;
        let mut last = String::new();
        for attempt in 0..3 {
            match try_start(&libs, spec, attempt) {
                Ok(broker) => return Ok(broker),
                Err(e) => last = e,
            }
        }
        Err(last)
    }

    /// The directory of a partition's log.
    pub(crate) fn log_dir(&self, topic: &str, partition: i32) -> PathBuf {
        self.dir.join(format!("data/{topic}-{partition}"))
    }

    /// Ends it by this signal and waits until it is gone. Fine if it has ended.
    pub(crate) fn stop(&mut self, signal: Signal) -> Result<(), String> {
        let id = self.child.id();
        let pid = i32::try_from(id).map_err(|e| e.to_string())?;
        // An error means that it has ended already.
        let _ended = kill(Pid::from_raw(pid), signal);
        let gone = wait_blocking(Duration::from_secs(90), "the Kafka broker to end", || {
            self.child.try_wait().map_err(|e| e.to_string())
        });
        reaper::forget(id);
        gone.map(drop)
    }

    /// Starts it again, after it was stopped: the same ports, the same data.
    pub(crate) fn start_again(&mut self) -> Result<(), String> {
        let file = self.dir.join("server.properties");
        self.child = run(&libs()?, &file, &self.dir.join("broker.log"))?;
        Ok(())
    }
}

fn try_start(libs: &Path, spec: &BrokerSpec, attempt: u32) -> Result<Broker, String> {
    let dir = paths::run_dir().join(format!("{}-{attempt}", spec.name));
    paths::make_dir(&dir);
    let free = ports::free(spec.fronts.len() + spec.listeners.len() + 2);
    let (own, rest) = free.split_at(2);
    let (behind, more) = rest.split_at(spec.fronts.len());
    let file = dir.join("server.properties");
    paths::write(&file, &properties(&dir, spec, own, (behind, more)));
    format_storage(libs, spec, (&file, &dir.join("data")))?;
    if let Some(cluster) = &spec.cluster {
        let file = dir.join("data/meta.properties");
        let text = paths::read(&file).replace(CLUSTER, cluster);
        paths::write(&file, &text);
    }
    let child = run(libs, &file, &dir.join("broker.log"))?;
    Ok(Broker {
        port: own[0],
        behind: behind.to_vec(),
        more: more.to_vec(),
        dir,
        child,
    })
}

fn libs() -> Result<PathBuf, String> {
    let libs = paths::target().join("kafka/libs");
    if libs.join(".complete").exists() {
        return Ok(libs);
    }
    Err(format!(
        "no Kafka jars in {}: run `make setup`",
        libs.display()
    ))
}

fn properties(
    dir: &Path,
    spec: &BrokerSpec,
    own: &[u16],
    (behind, more): (&[u16], &[u16]),
) -> String {
    let (port, controller) = (own[0], own[1]);
    let mut listeners = format!("PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}");
    let mut advertised = format!("PLAINTEXT://127.0.0.1:{port}");
    let mut protocols = "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT".to_owned();
    for ((name, kind), port) in spec.listeners.iter().zip(more) {
        listeners += &format!(",{name}://127.0.0.1:{port}");
        advertised += &format!(",{name}://127.0.0.1:{port}");
        protocols += &format!(",{name}:{kind}");
    }
    for (i, (inner, front)) in behind.iter().zip(&spec.fronts).enumerate() {
        listeners += &format!(",PROXY{i}://127.0.0.1:{inner}");
        advertised += &format!(",PROXY{i}://127.0.0.1:{front}");
        protocols += &format!(",PROXY{i}:PLAINTEXT");
    }
    format!(
        "{SETTINGS}{}listeners={listeners}\nadvertised.listeners={advertised}\n\
         listener.security.protocol.map={protocols}\n\
         controller.quorum.voters=1@127.0.0.1:{controller}\nlog.dirs={}\n",
        spec.settings,
        dir.join("data").display()
    )
}

fn java(libs: &Path) -> Command {
    let mut command = Command::new("java");
    command
        .args([
            "-Xms256m",
            "-Xmx384m",
            "-XX:+UseSerialGC",
            "-XX:-UsePerfData",
            "-XX:TieredStopAtLevel=1",
        ])
        .args([
            "-XX:+ExitOnOutOfMemoryError",
            "-Dorg.slf4j.simpleLogger.showDateTime=true",
        ])
        .arg("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
        .arg("-Dorg.slf4j.simpleLogger.log.kafka.server.KafkaRaftServer=info")
        .arg("-cp")
        .arg(format!("{}/*", libs.display()))
        .stdin(Stdio::null());
    command
}

/// The broker's storage is formatted once for all runs and copied: it knows no port, and a JVM start is spared.
fn format_storage(
    libs: &Path,
    spec: &BrokerSpec,
    (file, data): (&Path, &Path),
) -> Result<(), String> {
    let template = match spec.scram.is_empty() {
        true => libs.with_file_name("formatted"),
        false => libs.with_file_name(format!("formatted-{}", spec.name)),
    };
    if !template.join("meta.properties").exists() {
        run_format(libs, &spec.scram, file)?;
        let fresh = template.with_extension(format!("{:08x}", fastrand::u32(..)));
        copy_files(data, &fresh)?;
        // Another run may have been quicker: then its template is as good.
        if std::fs::rename(&fresh, &template).is_err() {
            std::fs::remove_dir_all(&fresh).map_err(|e| e.to_string())?;
        }
        return Ok(());
    }
    copy_files(&template, data)
}

fn copy_files(from: &Path, to: &Path) -> Result<(), String> {
    copy(from, to).map_err(|e| format!("cannot copy {} to {}: {e}", from.display(), to.display()))
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

fn run_format(libs: &Path, scram: &[String], file: &Path) -> Result<(), String> {
    let output = java(libs)
        .args(["kafka.tools.StorageTool", "format"])
        .args(["-t", CLUSTER, "-c"])
        .arg(file)
        .args(scram.iter().flat_map(|user| ["--add-scram", user.as_str()]))
        .output()
        .map_err(|e| format!("cannot run java: {e}; run `make setup`"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!(
        "formatting the broker's storage failed: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    ))
}

fn run(libs: &Path, file: &Path, log: &Path) -> Result<Child, String> {
    let out = create(log)?;
    let err = out.try_clone().map_err(|e| e.to_string())?;
    let mut child = java(libs)
        .arg("kafka.Kafka")
        .arg(file)
        .stdout(out)
        .stderr(err)
        .process_group(0)
        .spawn()
        .map_err(|e| format!("cannot run java: {e}"))?;
    reaper::kill_at_end(child.id(), "KILL");
    wait_blocking(
        Duration::from_secs(120),
        "the Kafka broker to start",
        || {
            if paths::read(log).contains(STARTED) {
                return Ok(Some(()));
            }
            match child.try_wait() {
                Ok(None) => Ok(None),
                _ => Err(format!("the Kafka broker ended:\n{}", paths::tail(log, 30))),
            }
        },
    )?;
    Ok(child)
}
