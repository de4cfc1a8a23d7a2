//! A PostgreSQL from the system's binaries, durable as in production (fsync on).

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::unistd::{User, geteuid};

use crate::wait::wait_blocking;
use crate::{paths, ports, reaper};

/// What sets a server apart from the others of a run.
#[derive(Clone, Debug, Default)]
pub struct ServerSpec {
    /// Names its directory and log; unique in a run.
    pub name: String,
    /// Settings beside the usual ones, `name=value`.
    pub settings: Vec<String>,
    /// Environment variables of the server's processes.
    pub env: Vec<(String, String)>,
    /// Files beside the server's data, `../NAME` to it, which nobody else may read.
    pub files: Vec<(String, String)>,
    /// `pg_hba.conf`, where not everybody on this machine is trusted.
    pub hba: Option<String>,
}

/// A running server.
pub(crate) struct Postgres {
    pub(crate) port: u16,
    pub(crate) child: Child,
    pub(crate) log: PathBuf,
    spec: ServerSpec,
}

impl Postgres {
    pub(crate) fn start(spec: &ServerSpec) -> Result<Self, String> {
        let bin = binaries()?;
        let dir = paths::run_dir().join(&spec.name);
        paths::make_dir(&dir);
        let owner = owner(&dir)?;
        init(&bin, &dir, owner.as_ref())?;
        write_files(spec, &dir, owner.as_ref())?;
        let port = ports::free(1)[0];
        let child = Self::launch(spec, port)?;
        Ok(Postgres {
            port,
            child,
            log: dir.with_extension("log"),
            spec: spec.clone(),
        })
    }

    /// Starts it again, after it was stopped: the same port, the same data.
    pub(crate) fn start_again(&mut self) -> Result<(), String> {
        self.child = Self::launch(&self.spec, self.port)?;
        Ok(())
    }

    fn launch(spec: &ServerSpec, port: u16) -> Result<Child, String> {
        let (bin, dir) = (binaries()?, paths::run_dir().join(&spec.name));
        let (owner, log) = (owner(&dir)?, dir.with_extension("log"));
        let mut child = command(&bin.join("postgres"), owner.as_ref())
            .envs(spec.env.iter().cloned())
            .arg("-D")
            .arg(dir.join("data"))
            .args(settings(port).iter().flat_map(|s| ["-c", s.as_str()]))
            .args(spec.settings.iter().flat_map(|s| ["-c", s.as_str()]))
            .stderr(create(&log)?)
            .stdout(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|e| format!("cannot start postgres: {e}"))?;
        reaper::kill_at_end(child.id(), "QUIT");
        wait_blocking(
            Duration::from_secs(60),
            "PostgreSQL to accept connections",
            || {
                if paths::read(&log).contains("ready to accept connections") {
                    return Ok(Some(()));
                }
                match child.try_wait() {
                    Ok(None) => Ok(None),
                    _ => Err(format!("PostgreSQL ended:\n{}", paths::tail(&log, 20))),
                }
            },
        )?;
        Ok(child)
    }
}

fn write_files(spec: &ServerSpec, dir: &Path, owner: Option<&User>) -> Result<(), String> {
    let hba = spec.hba.iter().map(|text| ("data/pg_hba.conf", text));
    let files = spec.files.iter().map(|(name, text)| (name.as_str(), text));
    for (name, text) in hba.chain(files) {
        let file = dir.join(name);
        paths::write(&file, text);
        let own = || {
            std::fs::set_permissions(&file, Permissions::from_mode(0o600))?;
            match owner {
                Some(user) => chown(&file, Some(user.uid.as_raw()), Some(user.gid.as_raw())),
                None => Ok(()),
            }
        };
        own().map_err(|e| format!("cannot hand over {}: {e}", file.display()))?;
    }
    Ok(())
}

fn settings(port: u16) -> Vec<String> {
    let fixed = [
        "listen_addresses=127.0.0.1",
        "unix_socket_directories=",
        "fsync=on",
        "max_connections=300",
        "max_prepared_transactions=0",
        "log_min_messages=warning",
        "timezone=UTC",
    ];
    let mut all: Vec<String> = fixed.map(str::to_owned).to_vec();
    all.push(format!("port={port}"));
    all
}

pub(crate) fn create(file: &Path) -> Result<std::fs::File, String> {
    std::fs::File::create(file).map_err(|e| format!("cannot create {}: {e}", file.display()))
}

/// PostgreSQL refuses to run as root: then the data belongs to `postgres`, or to `nobody` where there is none.
fn owner(dir: &Path) -> Result<Option<User>, String> {
    if !geteuid().is_root() {
        return Ok(None);
    }
    let user = ["postgres", "nobody"]
        .iter()
        .find_map(|name| User::from_name(name).ok().flatten())
        .ok_or("running as root, and there is neither a user postgres nor nobody")?;
    chown(dir, Some(user.uid.as_raw()), Some(user.gid.as_raw()))
        .map_err(|e| format!("cannot give {} to {}: {e}", dir.display(), user.name))?;
    Ok(Some(user))
}

fn command(program: &Path, owner: Option<&User>) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir("/")
        .stdin(Stdio::null())
        .env("LC_ALL", "C.UTF-8");
    if let Some(user) = owner {
        command.uid(user.uid.as_raw()).gid(user.gid.as_raw());
    }
    command
}

fn init(bin: &Path, dir: &Path, owner: Option<&User>) -> Result<(), String> {
    let output = command(&bin.join("initdb"), owner)
        .arg("-D")
        .arg(dir.join("data"))
        .args([
            "-U",
            "postgres",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale=C.UTF-8",
        ])
        .output()
        .map_err(|e| format!("cannot run initdb: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!(
        "initdb failed: {}",
        String::from_utf8_lossy(&output.stderr)
    ))
}

/// The server's binary, as the tests run it. Panics if there is none.
pub fn postgres_binary() -> PathBuf {
    match binaries() {
        Ok(bin) => bin.join("postgres"),
        Err(e) => panic!("{e}"),
    }
}

/// Debian keeps the server's binaries off the PATH, one directory a version: the newest is taken.
fn binaries() -> Result<PathBuf, String> {
    let version = |dir: &PathBuf| dir.file_name()?.to_str()?.parse::<u32>().ok();
    let debian = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|dir| dir.join("bin/initdb").exists())
        .max_by_key(version)
        .map(|dir| dir.join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    debian
        .or_else(|| std::env::split_paths(&path).find(|dir| dir.join("initdb").exists()))
        .ok_or_else(|| "PostgreSQL's server binaries are missing: run `make setup`".to_owned())
}
