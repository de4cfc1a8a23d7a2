//! The lock that keeps others off the machine while something is measured.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// How long it is held at a time: others have work to do as well.
const SPELL: Duration = Duration::from_secs(110);

/// Time for others to take it in between.
const PAUSE: Duration = Duration::from_millis(200);

/// A file, locked or not.
pub(super) struct Quiet {
    file: File,
    since: Option<Instant>,
}

impl Quiet {
    /// Not locked yet.
    pub(super) fn new(path: &Path) -> Result<Self> {
        let file = File::create(path);
        Ok(Self {
            file: file.with_context(|| format!("cannot open {}", path.display()))?,
            since: None,
        })
    }

    /// Waits until nobody else holds it; a spell that is over is ended first. It is kept until then.
    pub(super) async fn hold(&mut self) -> Result<()> {
        if self.since.is_some_and(|since| since.elapsed() < SPELL) {
            return Ok(());
        }
        if self.since.take().is_some() {
            self.file.unlock()?;
            tokio::time::sleep(PAUSE).await;
        }
        let file = self.file.try_clone()?;
        tokio::task::spawn_blocking(move || file.lock()).await??;
        self.since = Some(Instant::now());
        Ok(())
    }
}
