//! The parent's side: starts the child process, learns its addresses, ends it.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::timeout;

use super::{Addresses, DevError};

/// How long the services may take to start: initdb on a slow disk.
const START_TIMEOUT: Duration = Duration::from_secs(90);

/// How long they may take to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// The running services. They end with this value, or with this process.
#[derive(Debug)]
pub struct Services {
    child: Child,
    /// Never written to: that it is open is the whole message.
    stdin: Option<ChildStdin>,
    addresses: Addresses,
}

impl Services {
    /// Starts `program dev-services` with `topics` of `partitions` partitions each.
    ///
    /// # Errors
    /// A child that cannot be started, or ends or stays silent before it has said its addresses.
    pub async fn start(
        program: &Path,
        topics: &[String],
        partitions: i32,
    ) -> Result<Self, DevError> {
        let failed = |error: std::io::Error| DevError::Child(error.to_string());
        let mut command = Command::new(program);
        command
            .arg("dev-services")
            .arg("--partitions")
            .arg(partitions.to_string());
        for topic in topics {
            command.arg("--topic").arg(topic);
        }
        // A process group of its own: Ctrl-C at the terminal is for the parent, which drains first.
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let stdin = child.stdin.take();
        let Some(stdout) = child.stdout.take() else {
            return Err(DevError::Child("it has no stdout".into()));
        };
        let mut line = String::new();
        let mut reader = BufReader::new(stdout);
        match timeout(START_TIMEOUT, reader.read_line(&mut line)).await {
            Ok(read) => read.map_err(failed)?,
            Err(_) => return Err(DevError::Child(format!("no answer in {START_TIMEOUT:?}"))),
        };
        let addresses = serde_json::from_str(&line)
            .map_err(|_| DevError::Child("it ended first; its own words are above".into()))?;
        Ok(Self {
            child,
            stdin,
            addresses,
        })
    }

    /// Where they are reached.
    pub fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    /// Waits until the services end by themselves, which they should not.
    pub async fn ended(&mut self) -> DevError {
        match self.child.wait().await {
            Ok(status) => DevError::Ended(status.to_string()),
            Err(error) => DevError::Ended(error.to_string()),
        }
    }

    /// Takes the services down and waits for it.
    ///
    /// # Errors
    /// A child that had to be killed.
    pub async fn stop(mut self) -> Result<(), DevError> {
        drop(self.stdin.take());
        match timeout(STOP_TIMEOUT, self.child.wait()).await {
            Ok(_) => Ok(()),
            Err(_) => {
                let killed = self.child.kill().await;
                let words = killed.map_or_else(|error| error.to_string(), |()| "killed".into());
                Err(DevError::Ended(format!(
                    "no end within {STOP_TIMEOUT:?}: {words}"
                )))
            }
        }
    }
}
