//! A PostgreSQL of our own in a temporary directory: gone with us.

use std::fs::Permissions;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, User};
use tempfile::TempDir;
use tokio::process::Child;
use tokio::time::{Instant, sleep, timeout};

use super::{DevError, binaries};

/// The database's user and name.
const NAME: &str = "tidegate";

/// How long the server may take to answer.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// How long the server may take to stop at once.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// How often the port is chosen anew because somebody else took it.
const PORT_ATTEMPTS: u32 = 3;

/// A running server. [`stop`](Postgres::stop) it: dropping only kills its first process.
pub(super) struct Postgres {
    home: TempDir,
    server: Child,
    /// How to reach it, with its password.
    pub(super) url: String,
}

/// What all of PostgreSQL's programs are run with.
struct Setup {
    binaries: PathBuf,
    user: Option<User>,
    home: PathBuf,
    password: String,
}

impl Postgres {
    /// Makes a database cluster and starts its server on 127.0.0.1, on a free port.
    pub(super) async fn start() -> Result<Self, DevError> {
        let home = tempfile::Builder::new()
            .prefix("tidegate-dev-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir()
            .map_err(|error| directory(&std::env::temp_dir(), &error))?;
        let setup = Setup {
            binaries: binaries::find(|name| std::env::var_os(name))?,
            user: binaries::user()?,
            home: home.path().to_owned(),
            // Whoever may connect as superuser may run programs as the server's user.
            password: uuid::Uuid::new_v4().simple().to_string(),
        };
        setup.prepare()?;
        let (server, url) = setup.serve().await?;
        Ok(Self { home, server, url })
    }

    /// The directory that holds everything.
    pub(super) fn directory(&self) -> &Path {
        self.home.path()
    }

    /// Waits until the server ends by itself.
    pub(super) async fn ended(&mut self) -> String {
        let status = self.server.wait().await;
        let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
        format!(
            "PostgreSQL ended ({status}): {}",
            log_tail(self.home.path())
        )
    }

    /// Stops the server at once, its data being worth nothing, and removes the directory.
    pub(super) async fn stop(mut self) -> Result<(), DevError> {
        signal(&self.server, Signal::SIGQUIT);
        if timeout(STOP_TIMEOUT, self.server.wait()).await.is_err() {
            signal(&self.server, Signal::SIGKILL);
        }
        let path = self.home.path().to_owned();
        self.home.close().map_err(|error| directory(&path, &error))
    }
}

impl Setup {
    fn prepare(&self) -> Result<(), DevError> {
        let password = self.home.join("password");
        std::fs::write(&password, &self.password).map_err(|error| directory(&password, &error))?;
        self.hand_over(&password)?;
        self.hand_over(&self.home)?;
        let output = self
            .command("initdb")
            .args(["--pgdata=data", "--pwfile=password", "--auth=scram-sha-256"])
            .args([
                "--encoding=UTF8",
                "--locale=C",
                "--no-sync",
                "--username",
                NAME,
            ])
            .output();
        let failed = |reason: String| DevError::Program {
            program: self.binaries.join("initdb"),
            reason,
        };
        let output = output.map_err(|error| failed(error.to_string()))?;
        std::fs::remove_file(&password).map_err(|error| directory(&password, &error))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(failed(one_line(&String::from_utf8_lossy(&output.stderr)))),
        }
    }

    fn hand_over(&self, path: &Path) -> Result<(), DevError> {
        let Some(user) = &self.user else {
            return Ok(());
        };
        std::os::unix::fs::chown(path, Some(user.uid.as_raw()), Some(user.gid.as_raw()))
            .map_err(|error| directory(path, &error))
    }

    /// A program of PostgreSQL's, as its user, untouched by our environment.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.binaries.join(program));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PG") {
                command.env_remove(name);
            }
        }
        command
            .current_dir(&self.home)
            .env("LC_ALL", "C")
            .stdin(Stdio::null());
        if let Some(user) = &self.user {
            command.uid(user.uid.as_raw()).gid(user.gid.as_raw());
        }
        command
    }

    async fn serve(&self) -> Result<(Child, String), DevError> {
        let mut attempt = 1;
        loop {
            let port = free_port().map_err(|error| self.failed(error.to_string()))?;
            let mut server = self.spawn(port)?;
            match self.reach(port, &mut server).await {
                Ok(url) => return Ok((server, url)),
                Err(error) if attempt == PORT_ATTEMPTS => return Err(error),
                Err(_) => attempt += 1,
            }
        }
    }

    fn spawn(&self, port: u16) -> Result<Child, DevError> {
        let log = std::fs::File::create(self.home.join("log"))
            .map_err(|error| directory(&self.home, &error))?;
        let mut command = self.command("postgres");
        command.args(["-D", "data", "-p", &port.to_string()]);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command.stdout(Stdio::null()).stderr(log);
        let mut command = tokio::process::Command::from(command);
        command
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| self.failed(error.to_string()))
    }

    /// Waits until the server answers, and makes the database.
    async fn reach(&self, port: u16, server: &mut Child) -> Result<String, DevError> {
        let deadline = Instant::now() + START_TIMEOUT;
        let url = |name| {
            format!(
                "postgresql://{NAME}:{}@127.0.0.1:{port}/{name}",
                self.password
            )
        };
        loop {
            match execute(&url("postgres"), &format!("CREATE DATABASE {NAME}")).await {
                Ok(()) => return Ok(url(NAME)),
                Err(error)
                    if error
                        .as_db_error()
                        .is_some_and(|e| e.code().code() == "42P04") =>
                {
                    return Ok(url(NAME));
                }
                Err(_) if Instant::now() < deadline => sleep(Duration::from_millis(50)).await,
                Err(error) => return Err(self.failed(error.to_string())),
            }
            if let Ok(Some(status)) = server.try_wait() {
                return Err(self.failed(format!("{status}: {}", log_tail(&self.home))));
            }
        }
    }

    fn failed(&self, reason: String) -> DevError {
        DevError::Program {
            program: self.binaries.join("postgres"),
            reason,
        }
    }
}

/// Nothing needs to survive a power failure; nothing listens beyond this machine.
const SETTINGS: [&str; 7] = [
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "fsync=off",
    "full_page_writes=off",
    "synchronous_commit=off",
    "max_connections=100",
    "log_destination=stderr",
];

/// Runs SQL on a connection of its own.
pub async fn execute(url: &str, sql: &str) -> Result<(), tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await?;
    let driver = tokio::spawn(connection);
    let outcome = client.batch_execute(sql).await;
    driver.abort();
    outcome
}

/// A port that was free a moment ago.
fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
        .local_addr()?
        .port())
}

fn signal(server: &Child, signal: Signal) {
    let pid = server.id().and_then(|id| i32::try_from(id).ok());
    if let Some(pid) = pid
        && let Err(error) = kill(Pid::from_raw(pid), signal)
    {
        tracing::debug!(%error, "PostgreSQL was gone before it was stopped");
    }
}

fn log_tail(home: &Path) -> String {
    let log = std::fs::read_to_string(home.join("log")).unwrap_or_default();
    let lines: Vec<&str> = log.lines().rev().take(3).collect();
    one_line(&lines.into_iter().rev().collect::<Vec<_>>().join("\n"))
}

fn one_line(text: &str) -> String {
    text.trim().replace('\n', "; ")
}

fn directory(path: &Path, error: &std::io::Error) -> DevError {
    DevError::Directory {
        path: path.to_owned(),
        reason: error.to_string(),
    }
}
