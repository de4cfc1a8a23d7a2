//! The result: a line for each comparison, as Markdown and as JSON, and every measurement behind it.

mod json;
mod ratios;
mod table;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::measure::Measurement;
use crate::measure::machine::Machine;
use crate::options::Options;
use crate::scenario::Scenario;
use ratios::Line;
pub(crate) use ratios::Spread;

/// What one scenario came to.
struct Outcome {
    name: &'static str,
    about: &'static str,
    lines: Vec<Line>,
    /// By contender.
    measured: Vec<Vec<Measurement>>,
    failure: Option<String>,
}

/// Collects what is measured.
pub(crate) struct Report {
    records: usize,
    rounds: usize,
    machine: Machine,
    /// Of the scenario that is running.
    measured: Vec<Vec<Measurement>>,
    outcomes: Vec<Outcome>,
}

impl Report {
    /// Nothing measured yet.
    pub(crate) fn new(options: &Options, machine: Machine) -> Self {
        Self {
            records: options.records,
            rounds: options.rounds,
            machine,
            measured: Vec::new(),
            outcomes: Vec::new(),
        }
    }

    /// One more measurement of the running scenario.
    pub(crate) fn add(&mut self, scenario: &Scenario, contender: usize, measured: Measurement) {
        self.measured
            .resize_with(scenario.contenders.len(), Vec::new);
        self.measured[contender].push(measured);
    }

    /// The scenario is over: prints its lines, or why there are none, and writes the files anew, so that a run that is
    /// broken off leaves what it has.
    pub(crate) fn end(&mut self, scenario: &Scenario, outcome: Result<()>) -> Result<()> {
        let mut measured = std::mem::take(&mut self.measured);
        measured.resize_with(scenario.contenders.len(), Vec::new);
        let comparisons = scenario.comparisons.iter();
        let lines: Vec<Line> = comparisons
            .filter_map(|comparison| Line::of(scenario, *comparison, &measured))
            .collect();
        for line in &lines {
            println!("  {line}");
        }
        let failure = outcome.err().map(|error| format!("{error:#}"));
        if let Some(failure) = &failure {
            println!("  FAILED: {failure}");
        }
        self.outcomes.push(Outcome {
            name: scenario.name,
            about: scenario.about,
            lines,
            measured,
            failure,
        });
        self.write()
    }

    /// Prints the table; says whether all was measured and all books balance.
    pub(crate) fn finish(&self) -> bool {
        println!("\n{}", table::markdown(self));
        println!(
            "Written to {0}/bench.md and {0}/bench.json.",
            target().display()
        );
        let problems = self.problems();
        for problem in &problems {
            println!("FAILED: {problem}");
        }
        problems.is_empty()
    }

    fn write(&self) -> Result<()> {
        write("bench.md", &table::markdown(self))?;
        let document = json::document(self);
        write("bench.json", &serde_json::to_string_pretty(&document)?)
    }

    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for outcome in &self.outcomes {
            problems.extend(
                outcome
                    .failure
                    .iter()
                    .map(|failure| format!("{}: {failure}", outcome.name)),
            );
            let measured = outcome.measured.iter().flatten();
            let wrong = measured.filter(|measured| !measured.books.balanced());
            problems.extend(wrong.map(|measured| {
                let (name, round) = (outcome.name, measured.round + 1);
                format!(
                    "{name}, {} in round {round}: {}",
                    measured.label, measured.books
                )
            }));
        }
        problems
    }
}

/// Cargo's target directory.
pub(crate) fn target() -> PathBuf {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(default, PathBuf::from)
}

fn write(name: &str, text: &str) -> Result<()> {
    std::fs::create_dir_all(target())?;
    let file = target().join(name);
    std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))
}
