//! Servers beside those that all tests share, for what needs other settings or a server that ends.
//!
//! Waiting for them blocks the thread: only for tests with several.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::task::block_in_place;

use crate::broker::{Broker, BrokerSpec};
use crate::postgres::{Postgres, ServerSpec};
use crate::{paths, reaper};

/// A PostgreSQL of its owner's own; stopped when dropped.
pub struct Server(Postgres);

impl Server {
    /// Starts it on a free port. Panics if it does not start.
    pub async fn start(spec: ServerSpec) -> Server {
        Server(started(move || Postgres::start(&spec)).await)
    }

    /// The same on a thread that may block.
    pub(crate) fn start_blocking(spec: &ServerSpec) -> Result<Server, String> {
        Postgres::start(spec).map(Server)
    }

    /// What it has logged so far.
    pub fn log(&self) -> String {
        paths::read(&self.0.log)
    }

    /// Its port on 127.0.0.1, user `postgres`, no password.
    pub fn port(&self) -> u16 {
        self.0.port
    }

    /// Ends it as a crash would: every session is cut, nothing is written. Waits until it is gone.
    pub fn stop_immediately(&mut self) {
        let id = self.0.child.id();
        // Both fail only where it has ended already; its files go with the run's directory.
        let _ended = i32::try_from(id).map(|pid| kill(Pid::from_raw(pid), Signal::SIGQUIT));
        let _reaped = block_in_place(|| self.0.child.wait());
        reaper::forget(id);
    }

    /// Starts it again after a stop: the same port, the same data. Panics if it does not start.
    pub fn start_again(&mut self) {
        expect(block_in_place(|| self.0.start_again()));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let id = self.0.child.id();
        let _ended = i32::try_from(id).map(|pid| kill(Pid::from_raw(pid), Signal::SIGQUIT));
        let _reaped = self.0.child.wait();
        reaper::forget(id);
    }
}

/// A Kafka broker of its owner's own; killed when dropped.
pub struct OwnBroker(Broker);

impl OwnBroker {
    /// Starts it in a directory of this name, unique in a run. Panics if it does not start.
    pub async fn start(name: &str) -> OwnBroker {
        let name = name.to_owned();
        OwnBroker(started(move || Broker::start(&name, &[])).await)
    }

    /// The same as another cluster than all other brokers are.
    pub async fn of_another_cluster(name: &str) -> OwnBroker {
        let spec = BrokerSpec {
            name: name.to_owned(),
            cluster: Some("T3RoZXJDbHVzdGVyT2ZVcw".to_owned()),
            ..BrokerSpec::default()
        };
        OwnBroker(started(move || Broker::start_as(&spec)).await)
    }

    /// Takes every record out of a partition's log, as a disk that was lost does. The broker must not run.
    pub fn lose_log(&self, topic: &str, partition: i32) {
        let dir = self.0.log_dir(topic, partition);
        let files = std::fs::read_dir(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
        for file in files.flatten().map(|file| file.path()) {
            // By it the broker knows the topic again.
            if !file.ends_with("partition.metadata") {
                expect(std::fs::remove_file(&file).map_err(|e| e.to_string()));
            }
        }
    }

    /// `127.0.0.1:port`.
    pub fn addr(&self) -> String {
        format!("127.0.0.1:{}", self.0.port)
    }

    /// Ends it by SIGTERM, as an operator does, and waits until it is gone.
    pub fn stop(&mut self) {
        expect(block_in_place(|| self.0.stop(Signal::SIGTERM)));
    }

    /// Ends it by SIGKILL and waits until it is gone.
    pub fn kill(&mut self) {
        expect(block_in_place(|| self.0.stop(Signal::SIGKILL)));
    }

    /// Starts it again after a stop: the same port, the same data. Panics if it does not start.
    pub fn start_again(&mut self) {
        expect(block_in_place(|| self.0.start_again()));
    }
}

impl Drop for OwnBroker {
    fn drop(&mut self) {
        // Its process group goes with the run at the latest.
        let _ended = self.0.stop(Signal::SIGKILL);
    }
}

async fn started<T: Send + 'static>(
    start: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> T {
    match tokio::task::spawn_blocking(start).await {
        Ok(result) => expect(result),
        Err(e) => panic!("starting a server failed: {e}"),
    }
}

fn expect<T>(result: Result<T, String>) -> T {
    result.unwrap_or_else(|e| panic!("{e}"))
}
