//! What to run, and how large, from arguments or the environment.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Parser;

use crate::scenario::{self, Scenario};

/// Measures the host against PostgreSQL's own speed, native consumers and itself under other conditions.
#[derive(Parser)]
#[command(name = "bench")]
pub(crate) struct Options {
    /// Scenarios to run; all of them if none is named
    #[arg(env = "BENCH_SCENARIOS", value_delimiter = ',')]
    pub(crate) scenarios: Vec<String>,
    /// List the scenarios and end
    #[arg(long)]
    pub(crate) list: bool,
    /// Records of a one-partition measurement; the other sizes follow from it
    #[arg(long, env = "BENCH_RECORDS", default_value_t = 100_000)]
    pub(crate) records: usize,
    /// Rounds; each measures every contender of a scenario once
    #[arg(long, env = "BENCH_ROUNDS", default_value_t = 5)]
    pub(crate) rounds: usize,
    /// A file to lock while measuring, for about two minutes at a time: whoever else locks it waits meanwhile
    #[arg(long, env = "BENCH_LOCK")]
    pub(crate) lock: Option<PathBuf>,
}

impl Options {
    /// The scenarios that are asked for, in their own order.
    pub(crate) fn chosen(&self) -> Result<Vec<Scenario>> {
        ensure!(
            self.records >= 20_000,
            "{} records are over before the clock has run: give 20000 or more",
            self.records
        );
        ensure!(self.rounds > 0, "0 rounds measure nothing: give 1 or more");
        let mut all = scenario::all(self.records);
        for name in &self.scenarios {
            ensure!(
                all.iter().any(|scenario| scenario.name == name),
                "there is no scenario {name}: see bench --list"
            );
        }
        if !self.scenarios.is_empty() {
            all.retain(|scenario| self.scenarios.iter().any(|name| scenario.name == name));
        }
        Ok(all)
    }
}
