//! A handler's file, watched: a new module is swapped in once its file holds still and loads; a bad one is
//! refused and the old one goes on.

mod file;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest, Sha256};
use tidegate_core::sql::GuestSql;
use tokio::sync::watch::{Receiver, Sender, channel};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use self::file::{Seen, Step, stamp};
use super::{Engine, GuestEnv, LoadError, Module};

/// Between two looks at the file.
const POLL: Duration = Duration::from_millis(250);
/// A larger file is refused unread; the largest toolchain's components hold under 20 MB.
const MAX_FILE: u64 = 256 << 20;

/// The module of a consumer: what its file last held that loads.
pub struct Handler<D: GuestSql> {
    current: Receiver<Arc<Module<D>>>,
    task: JoinHandle<()>,
}

impl<D: GuestSql> Handler<D> {
    /// The module to instantiate for the next transaction, and tells of each swap.
    pub fn changed(&self) -> Receiver<Arc<Module<D>>> {
        self.current.clone()
    }

    /// Ends the watching. A module that is loading meanwhile is dropped.
    pub async fn stop(mut self) {
        self.task.abort();
        if let Err(error) = (&mut self.task).await
            && error.is_panic()
        {
            tracing::error!(%error, "the watch on a handler's file panicked");
        }
    }
}

impl<D: GuestSql> Drop for Handler<D> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Loads `path`, for guests of `env`, and watches it from then on (through symbolic links, so that a swapped link is a
/// change).
pub async fn open<D: GuestSql>(
    engine: &Engine<D>,
    path: &Path,
    env: &Arc<GuestEnv>,
) -> Result<Handler<D>, LoadError> {
    // The stamp comes before the bytes: whatever changes in between is seen as a change.
    let seen = Seen::new(stamp(path).await);
    let wasm = read(path).await?;
    let module = load(engine, path, wasm, env).await?;
    let (sender, current) = channel(module);
    let watch = Watch {
        engine: engine.clone(),
        env: Arc::clone(env),
        path: path.to_owned(),
        refused: None,
        sender,
    };
    let task = tokio::spawn(watch.run(seen));
    Ok(Handler { current, task })
}

struct Watch<D: GuestSql> {
    engine: Engine<D>,
    env: Arc<GuestEnv>,
    path: PathBuf,
    /// The digest of what was last refused, so that it is reported once.
    refused: Option<[u8; 32]>,
    sender: Sender<Arc<Module<D>>>,
}

impl<D: GuestSql> Watch<D> {
    async fn run(mut self, mut seen: Seen) {
        let mut polls = interval(POLL);
        polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            polls.tick().await;
            match seen.look(stamp(&self.path).await) {
                Step::Nothing => {}
                Step::Gone => tracing::warn!(
                    handler = %self.path.display(),
                    "the handler's file is gone; the module that is loaded goes on"
                ),
                Step::Changed => self.reload().await,
            }
        }
    }

    async fn reload(&mut self) {
        let wasm = match read(&self.path).await {
            Ok(wasm) => wasm,
            Err(error) => {
                tracing::warn!(%error, "the module that is loaded goes on");
                return;
            }
        };
        let digest: [u8; 32] = Sha256::digest(&wasm).into();
        if digest == self.sender.borrow().digest() {
            return;
        }
        match load(&self.engine, &self.path, wasm, &self.env).await {
            Ok(module) => self.swap(module),
            Err(error) => self.refuse(digest, &error),
        }
    }

    fn swap(&mut self, module: Arc<Module<D>>) {
        self.refused = None;
        let to = short(&module.digest());
        let old = self.sender.send_replace(module);
        tracing::info!(
            handler = %self.path.display(),
            from = short(&old.digest()),
            to,
            "a new module takes over at the next batch"
        );
    }

    fn refuse(&mut self, digest: [u8; 32], error: &LoadError) {
        if self.refused.replace(digest) != Some(digest) {
            let loaded = short(&self.sender.borrow().digest());
            tracing::error!(%error, refused = short(&digest), loaded, "the module that is loaded goes on");
        }
    }
}

/// Loads a module and starts it once.
async fn load<D: GuestSql>(
    engine: &Engine<D>,
    path: &Path,
    wasm: Vec<u8>,
    env: &Arc<GuestEnv>,
) -> Result<Arc<Module<D>>, LoadError> {
    let module = engine.load(&name(path), wasm).await?;
    engine.try_start(&module, env).await?;
    Ok(module)
}

/// The bytes of a handler's file. What is no file, such as a pipe, or too large is refused unread.
///
/// # Errors
/// [`LoadError::Read`], with the path.
pub async fn read(path: &Path) -> Result<Vec<u8>, LoadError> {
    let refuse = |reason: String| LoadError::Read {
        path: name(path),
        reason,
    };
    let found = tokio::fs::metadata(path).await;
    let found = found.map_err(|e| refuse(e.to_string()))?;
    if !found.is_file() {
        return Err(refuse("it is not a regular file".into()));
    }
    if found.len() > MAX_FILE {
        let (bytes, most) = (found.len(), MAX_FILE);
        return Err(refuse(format!(
            "it holds {bytes} bytes; a handler may hold {most}"
        )));
    }
    let wasm = tokio::fs::read(path).await;
    wasm.map_err(|e| refuse(e.to_string()))
}

fn name(path: &Path) -> String {
    path.display().to_string()
}

fn short(digest: &[u8; 32]) -> String {
    hex::encode(&digest[..6])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_no_regular_file_is_refused_unread() {
        for path in ["/dev/zero", "/", "/nowhere/handler.wasm"] {
            let error = read(Path::new(path)).await.expect_err("no handler");
            assert!(matches!(error, LoadError::Read { .. }), "{error}");
        }
    }
}
