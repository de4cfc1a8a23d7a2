//! The benchmark's size, from the environment.

use std::str::FromStr;

use anyhow::{Context, Result, ensure};

use crate::BATCH;
use crate::peer::Peer;

/// What to measure.
pub(crate) struct Options {
    /// Records of one measurement: a multiple of the batch.
    pub(crate) records: usize,
    /// Rounds; each measures every peer once.
    pub(crate) rounds: usize,
    /// Who takes part.
    pub(crate) peers: Vec<Peer>,
}

impl Options {
    /// Reads `BENCH_RECORDS`, `BENCH_ROUNDS` and `BENCH_PEERS`.
    pub(crate) fn from_env() -> Result<Self> {
        let records = number("BENCH_RECORDS", 100_000)?;
        ensure!(
            records >= 4 * BATCH && records.is_multiple_of(BATCH),
            "BENCH_RECORDS is {records}: give a multiple of {BATCH}, {} or more",
            4 * BATCH
        );
        let rounds = number("BENCH_ROUNDS", 3)?;
        ensure!(rounds > 0, "BENCH_ROUNDS is 0: give 1 or more");
        Ok(Self {
            records,
            rounds,
            peers: peers()?,
        })
    }
}

fn number(name: &str, default: usize) -> Result<usize> {
    let Ok(text) = std::env::var(name) else {
        return Ok(default);
    };
    usize::from_str(&text).with_context(|| format!("{name} is {text:?}: give a whole number"))
}

fn peers() -> Result<Vec<Peer>> {
    let Ok(text) = std::env::var("BENCH_PEERS") else {
        return Ok(Peer::ALL.to_vec());
    };
    text.split(',')
        .map(|name| Peer::named(name.trim()))
        .collect()
}
