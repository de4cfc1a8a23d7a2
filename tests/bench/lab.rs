//! What the measurements share: servers, preloaded topics, databases to copy, the lock on the machine.

pub(crate) mod link;
mod quiet;
mod seeds;
mod servers;

use std::collections::HashMap;
use std::rc::Rc;

use anyhow::Result;
use tidegate_tests::{Server, TestEnv, test_env, test_env_on};

use crate::load::Load;
use crate::load::stock::Stock;
use crate::options::Options;
use crate::scenario::Contender;
use crate::site::{Seed, ServerKind};
use quiet::Quiet;

/// Shared by the whole run.
pub(crate) struct Lab {
    env: TestEnv,
    rounds: usize,
    stocks: HashMap<Load, Rc<Stock>>,
    servers: HashMap<ServerKind, Server>,
    seeds: HashMap<Seed, String>,
    quiet: Option<Quiet>,
}

impl Lab {
    /// Starts the servers.
    pub(crate) async fn open(options: &Options) -> Result<Self> {
        Ok(Self {
            quiet: options.lock.as_deref().map(Quiet::new).transpose()?,
            env: test_env("bench").await,
            rounds: options.rounds,
            stocks: HashMap::new(),
            servers: HashMap::new(),
            seeds: HashMap::new(),
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

    /// An empty topic for a load that a measurement of its own will write at its pace.
    pub(crate) async fn paced(&self, load: &Load, round: usize) -> Rc<Stock> {
        let name = format!("paced-{round}-{:08x}", fastrand::u32(..));
        Rc::new(Stock::empty(&self.env, &name, load).await)
    }

    /// A database of a measurement's own, on the server and with the inbox that the contender asks for.
    pub(crate) async fn site(&mut self, contender: &Contender, stock: &Stock) -> Result<TestEnv> {
        let site = contender.site;
        if !self.servers.contains_key(&site.server)
            && let Some(server) = servers::start(site.server, &self.env).await?
        {
            self.servers.insert(site.server, server);
        }
        if site.seed != Seed::Nothing && !self.seeds.contains_key(&site.seed) {
            let made = seeds::make(site.seed, contender, stock).await?;
            self.seeds.insert(site.seed, made);
        }
        let template = self.seeds.get(&site.seed).map(String::as_str);
        Ok(test_env_on("bench", self.servers.get(&site.server), template).await)
    }

    /// Waits until nobody else holds the machine, and keeps it for a while.
    pub(crate) async fn hold(&mut self) -> Result<()> {
        match &mut self.quiet {
            Some(quiet) => quiet.hold().await,
            None => Ok(()),
        }
    }

    /// Lets go of what only one scenario needs.
    pub(crate) async fn clear(&mut self) {
        self.servers.clear();
        for (_, name) in self.seeds.drain() {
            let drop = format!("DROP DATABASE \"{name}\" WITH (FORCE)");
            self.env.db.exec(&drop).await;
        }
    }
}
