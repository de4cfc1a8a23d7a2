//! A running host: signals, its log, its end.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::config::HostConfig;
use crate::http::{Answer, Scrape, ask};
use crate::wait::{secs, wait_for};
use crate::{artifacts, paths, reaper};

/// Numbers the files of hosts and configurations.
static NEXT: AtomicUsize = AtomicUsize::new(0);

fn fresh(dir: &Path, what: &str) -> PathBuf {
    dir.join(format!("{what}-{}", NEXT.fetch_add(1, Ordering::Relaxed)))
}

/// Writes a configuration to a file of its own.
pub(crate) fn write_config(dir: &Path, config: &HostConfig) -> PathBuf {
    let file = fresh(dir, "config").with_extension("toml");
    paths::write(&file, &config.to_toml());
    file
}

/// A host that is about to be started.
#[derive(Clone)]
pub struct HostBuilder {
    dir: PathBuf,
    config: PathBuf,
    args: Vec<String>,
    env: Vec<(String, String)>,
    bin: Option<PathBuf>,
}

impl HostBuilder {
    pub(crate) fn new(dir: &Path, config: &HostConfig) -> Self {
        HostBuilder {
            dir: dir.to_owned(),
            config: write_config(dir, config),
            args: ["run", "--migrate"].map(str::to_owned).to_vec(),
            env: Vec::new(),
            bin: None,
        }
    }

    /// The arguments before `-c FILE`, in the place of `run --migrate`.
    pub fn args(mut self, args: &[&str]) -> Self {
        self.args = args.iter().map(|arg| (*arg).to_owned()).collect();
        self
    }

    /// One more environment variable.
    pub fn env(mut self, key: &str, value: &str) -> Self {
        self.env.push((key.to_owned(), value.to_owned()));
        self
    }

    /// Another binary.
    pub fn bin(mut self, bin: &Path) -> Self {
        self.bin = Some(bin.to_owned());
        self
    }

    /// Starts the process and returns at once: what to wait for is the test's to say.
    pub async fn start(self) -> Host {
        self.start_into(None).await
    }

    /// The same, with standard error somewhere else than in a file: its log cannot be asked for then.
    pub async fn start_into(self, stderr: Option<Stdio>) -> Host {
        let bin = match &self.bin {
            Some(bin) => bin.clone(),
            None => artifacts::tidegate_bin().await,
        };
        let log = fresh(&self.dir, "host");
        let (out, err) = (log.with_extension("out"), log.with_extension("log"));
        let file = create(&err);
        let child = Command::new(&bin)
            .args(&self.args)
            .arg("-c")
            .arg(&self.config)
            .envs(self.env.iter().cloned())
            .current_dir(&self.dir)
            .stdin(Stdio::null())
            .stdout(create(&out))
            .stderr(stderr.unwrap_or_else(|| file.into()))
            .process_group(0)
            .spawn();
        let child = child.unwrap_or_else(|e| panic!("cannot run {}: {e}", bin.display()));
        reaper::kill_at_end(child.id(), "KILL");
        Host {
            child: Mutex::new(child),
            builder: self,
            out,
            err,
        }
    }
}

fn create(file: &Path) -> File {
    File::create(file).unwrap_or_else(|e| panic!("cannot create {}: {e}", file.display()))
}

/// The host's process; dropping it kills it.
pub struct Host {
    child: Mutex<Child>,
    builder: HostBuilder,
    out: PathBuf,
    err: PathBuf,
}

impl Host {
    /// The process's number.
    pub fn pid(&self) -> i32 {
        self.with(|child| i32::try_from(child.id()).unwrap_or(0))
    }

    /// Whether it has not ended.
    pub fn is_running(&self) -> bool {
        self.exited().is_none()
    }

    /// Ends it by SIGKILL, now, and waits until it is gone. Fine if it has ended.
    pub fn kill(&self) {
        // An error means that it has ended already.
        let _ended = self.with(|child| child.kill().and_then(|()| child.wait()));
        self.exited();
    }

    /// SIGSTOP: the process stands still.
    pub fn stop_signal(&self) {
        self.signal(Signal::SIGSTOP);
    }

    /// SIGCONT: it goes on.
    pub fn cont(&self) {
        self.signal(Signal::SIGCONT);
    }

    /// SIGINT, without waiting.
    pub fn interrupt(&self) {
        self.signal(Signal::SIGINT);
    }

    /// Any signal by its number, real-time ones too, without waiting for what it does.
    pub async fn signal_number(&self, number: i32) {
        let command = format!("kill -{number} {}", self.pid());
        let mut shell = tokio::process::Command::new("sh");
        let sent = shell.args(["-c", &command]).status().await;
        assert!(sent.expect("sent").success(), "{command}");
    }

    /// SIGINT, if it has not ended.
    pub fn interrupt_if_running(&self) {
        if self.is_running() {
            // An error means that it has ended meanwhile.
            let _ended = kill(Pid::from_raw(self.pid()), Signal::SIGINT);
        }
    }

    /// SIGTERM, and its exit code (-1 if a signal ended it); panics if it takes longer than 30 s.
    pub async fn terminate(&self) -> i32 {
        self.signal(Signal::SIGTERM);
        self.wait_exit(secs(30)).await
    }

    /// Waits until it ends by itself; its exit code (-1 if a signal ended it).
    pub async fn wait_exit(&self, deadline: Duration) -> i32 {
        wait_for(deadline, "the host to end", async || self.exited())
            .await
            .code()
            .unwrap_or(-1)
    }

    /// Kills it if it lives, and starts another with the same file and arguments, and a log of its own.
    pub async fn restart(&self) -> Host {
        self.kill();
        self.builder.clone().start().await
    }

    /// What it has logged so far (its standard error).
    pub fn log(&self) -> String {
        paths::read(&self.err)
    }

    /// What it has printed so far (its standard output).
    pub fn stdout(&self) -> String {
        paths::read(&self.out)
    }

    /// How many lines of the log hold this text.
    pub fn log_count(&self, text: &str) -> usize {
        self.log()
            .lines()
            .filter(|line| line.contains(text))
            .count()
    }

    /// Waits until the log holds this text; panics at once, with the log's end, if the host ends before.
    pub async fn wait_log(&self, text: &str, deadline: Duration) {
        let what = format!("the host's log to say {text:?}");
        wait_for(deadline, &what, async || {
            let ended = self.exited();
            if self.log().contains(text) {
                return Some(());
            }
            if let Some(status) = ended {
                panic!(
                    "the host ended ({status}) and never logged {text:?}:\n{}",
                    self.tail()
                );
            }
            None
        })
        .await;
    }

    /// Where its metrics and health are, once it serves them.
    pub async fn http(&self) -> String {
        const SAYS: &str = "served over HTTP address=";
        self.wait_log(SAYS, secs(30)).await;
        let log = self.log();
        let behind = log.split(SAYS).nth(1).unwrap_or_default();
        let address = behind.split_whitespace().next().unwrap_or_default();
        address.to_owned()
    }

    /// Asks it for a path.
    pub async fn ask(&self, path: &str) -> Answer {
        ask(&self.http().await, "GET", path).await
    }

    /// Its metrics now.
    pub async fn scrape(&self) -> Scrape {
        Scrape::parse(&self.ask("/metrics").await.body)
    }

    /// Waits until it answers `path` with `status`; that answer.
    pub async fn wait_status(&self, path: &str, status: u16) -> Answer {
        let what = format!("{path} to answer {status}");
        wait_for(secs(60), &what, async || {
            Some(self.ask(path).await).filter(|answer| answer.status == status)
        })
        .await
    }

    /// The configuration file.
    pub fn config_path(&self) -> &Path {
        &self.builder.config
    }

    fn tail(&self) -> String {
        paths::tail(&self.err, 60)
    }

    fn with<T>(&self, f: impl FnOnce(&mut Child) -> T) -> T {
        f(&mut self.child.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Its end, if it has come. An ended process is forgotten by the reaper, for its number may be given away.
    fn exited(&self) -> Option<ExitStatus> {
        let status = self.with(|child| child.try_wait().ok().flatten());
        if status.is_some() {
            reaper::forget(self.with(|child| child.id()));
        }
        status
    }

    fn signal(&self, signal: Signal) {
        if let Err(e) = kill(Pid::from_raw(self.pid()), signal) {
            panic!("cannot send {signal} to the host: {e}\n{}", self.tail());
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- end of {}\n{}", self.err.display(), self.tail());
        }
        self.kill();
    }
}
