//! The benchmark suite: each scenario measures the host beside its own reference, turn by turn, on one clock.
//!
//! A scenario (`scenario/`) says who takes part, with how many records, under which conditions, and what ratio is to be
//! reached. Every measurement has a database and a group of its own, and its books are audited. No speed is asserted:
//! a goal that is missed is printed; only wrong books or a measurement that fails make the exit code 1.

#![expect(
    clippy::print_stdout,
    reason = "a benchmark's result is what it prints"
)]

mod delay;
mod lab;
mod load;
mod measure;
mod options;
mod peer;
mod report;
mod scenario;
mod site;

use std::process::ExitCode;

use anyhow::{Result, anyhow};
use clap::Parser;
use futures_util::FutureExt;

use crate::lab::Lab;
use crate::measure::machine;
use crate::options::Options;
use crate::report::Report;
use crate::scenario::Scenario;

/// Records in one transaction, for all that batch.
const BATCH: usize = 500;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    let options = Options::parse();
    if options.list {
        for scenario in scenario::all(options.records) {
            println!("{:<18} {}", scenario.name, scenario.about);
        }
        return ExitCode::SUCCESS;
    }
    match bench(&options).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            println!("\nFAILED: {e:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the scenarios and reports; says whether all was measured and every measurement's books balance.
async fn bench(options: &Options) -> Result<bool> {
    let chosen = options.chosen()?;
    let mut lab = Lab::open(options).await?;
    let machine = machine::describe(lab.env()).await?;
    println!("{machine}");
    let mut report = Report::new(options, machine);
    for scenario in chosen {
        println!("\n{}: {}", scenario.name, scenario.about);
        let outcome = guarded(&mut lab, &scenario, &mut report).await;
        lab.clear().await;
        report.end(&scenario, outcome)?;
    }
    Ok(report.finish())
}

/// A scenario that fails, be it by a panic of the harness, is no reason not to run the others.
async fn guarded(lab: &mut Lab, scenario: &Scenario, report: &mut Report) -> Result<()> {
    let run = std::panic::AssertUnwindSafe(rounds(lab, scenario, report));
    match run.catch_unwind().await {
        Ok(outcome) => outcome,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
            Err(anyhow!(text.unwrap_or_else(|| "it panicked".to_owned())))
        }
    }
}

/// Every contender once a round; each round begins with another, so that no one always runs first.
async fn rounds(lab: &mut Lab, scenario: &Scenario, report: &mut Report) -> Result<()> {
    let contenders = scenario.contenders.len();
    for round in 0..lab.rounds() {
        for turn in 0..contenders {
            let index = (round + turn) % contenders;
            let measured = measure::measure(lab, &scenario.contenders[index], round).await?;
            println!("  {measured}");
            report.add(scenario, index, measured);
        }
    }
    Ok(())
}
