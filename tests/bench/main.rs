//! The benchmark: the host against pgbench's *set* shape and against a native consumer of the same batching.
//!
//! One partition, the payments workload, preloaded. The three take turns, round after round, each measurement in a
//! database and a group of its own, on one clock (see `clock`). It asserts no speed: it prints what it measured and
//! fails only if a measurement's books do not balance.
//!
//! `BENCH_RECORDS` (100000), `BENCH_ROUNDS` (3) and `BENCH_PEERS` (`host,pgbench,native`) change its size.

#![expect(
    clippy::print_stdout,
    reason = "a benchmark's result is what it prints"
)]

mod books;
mod clock;
mod host;
mod machine;
mod native;
mod options;
mod peer;
mod pgbench;
mod report;
mod tables;
mod worker;
mod workload;

use std::process::ExitCode;

use anyhow::Result;
use tidegate_tests::{TestEnv, test_env};

use crate::options::Options;
use crate::peer::{Measurement, Peer};
use crate::workload::Workload;

/// Records in one transaction, for all three.
const BATCH: usize = 500;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    match bench().await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            println!("\nFAILED: the books of at least one measurement do not balance (see above).");
            ExitCode::FAILURE
        }
        Err(e) => {
            println!("\nFAILED: {e:#}");
            ExitCode::FAILURE
        }
    }
}

/// Measures and reports; says whether every measurement's books balance.
async fn bench() -> Result<bool> {
    let options = Options::from_env()?;
    let env = test_env("bench").await;
    let machine = machine::describe(&env).await?;
    println!(
        "{} records, {} rounds; {machine}",
        options.records, options.rounds
    );
    let workload = Workload::new(options.records);
    let topic = preload(&env, &workload).await;
    let mut all = Vec::new();
    for round in 0..options.rounds {
        for peer in turns(&options.peers, round) {
            let measured = peer::measure(peer, round, &topic, &workload).await?;
            println!("{measured}");
            all.push(measured);
        }
    }
    report::finish(&options, &machine, &all)?;
    Ok(all.iter().all(Measurement::balanced))
}

/// The order of a round: each round begins with another, so that no one always runs first.
fn turns(peers: &[Peer], round: usize) -> Vec<Peer> {
    let mut turns = peers.to_vec();
    turns.rotate_left(round % peers.len());
    turns
}

/// Writes the whole workload to a topic of one partition.
async fn preload(env: &TestEnv, workload: &Workload) -> String {
    let topic = env.topic("payments", 1).await;
    let producer = env.kafka.producer();
    for records in workload.chunks(10_000) {
        producer.send(&topic, records).await;
    }
    topic
}
