//! What the measurements share: servers, preloaded topics, databases to copy, the lock on the machine.

use std::collections::HashMap;
use std::fs::File;
use std::rc::Rc;

use anyhow::{Context, Result};
use tidegate_tests::{TestEnv, test_env};

use crate::load::Load;
use crate::load::stock::Stock;
use crate::options::Options;

/// Shared by the whole run.
pub(crate) struct Lab {
    env: TestEnv,
    rounds: usize,
    stocks: HashMap<Load, Rc<Stock>>,
    lock: Option<File>,
}

impl Lab {
    /// Starts the servers.
    pub(crate) async fn open(options: &Options) -> Result<Self> {
        let open = |path| File::create(path).with_context(|| format!("cannot open {path:?}"));
        Ok(Self {
            lock: options.lock.as_ref().map(open).transpose()?,
            env: test_env("bench").await,
            rounds: options.rounds,
            stocks: HashMap::new(),
        })
    }

    /// The way to the broker and to the run's own PostgreSQL.
    pub(crate) fn env(&self) -> &TestEnv {
        &self.env
    }

    /// How often each contender is measured.
    pub(crate) fn rounds(&self) -> usize {
        self.rounds
    }

    /// The records of this load in a topic, written at the first call.
    pub(crate) async fn stock(&mut self, load: &Load) -> Rc<Stock> {
        if let Some(stock) = self.stocks.get(load) {
            return Rc::clone(stock);
        }
        let name = format!("load-{}", self.stocks.len());
        let stock = Rc::new(Stock::preload(&self.env, &name, load).await);
        self.stocks.insert(*load, Rc::clone(&stock));
        stock
    }

    /// Waits until nobody else holds the machine, and holds it until the answer is dropped.
    pub(crate) fn hold(&self) -> Result<Option<Quiet>> {
        let Some(file) = &self.lock else {
            return Ok(None);
        };
        let file = file.try_clone()?;
        file.lock()?;
        Ok(Some(Quiet(file)))
    }

    /// Lets go of what only one scenario needs.
    pub(crate) fn clear(&mut self) {}
}

/// The machine is ours.
pub(crate) struct Quiet(File);

impl Drop for Quiet {
    fn drop(&mut self) {
        // Should it fail, closing the file unlocks it too.
        let _unlocked = self.0.unlock();
    }
}
