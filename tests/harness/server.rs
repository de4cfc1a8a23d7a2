//! A PostgreSQL beside the one that all tests share, for what needs other settings.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::postgres::{Postgres, ServerSpec};
use crate::{paths, reaper};

/// A server of its owner's own; stopped when dropped.
pub struct Server(Postgres);

impl Server {
    /// Starts it on a free port. Panics if it does not start.
    pub async fn start(spec: ServerSpec) -> Server {
        match tokio::task::spawn_blocking(move || Postgres::start(&spec)).await {
            Ok(Ok(postgres)) => Server(postgres),
            Ok(Err(e)) => panic!("{e}"),
            Err(e) => panic!("starting PostgreSQL failed: {e}"),
        }
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
}

impl Drop for Server {
    fn drop(&mut self) {
        let id = self.0.child.id();
        // Both fail only where it has ended already; its files go with the run's directory.
        let _ended = i32::try_from(id).map(|pid| kill(Pid::from_raw(pid), Signal::SIGQUIT));
        let _reaped = self.0.child.wait();
        reaper::forget(id);
    }
}
