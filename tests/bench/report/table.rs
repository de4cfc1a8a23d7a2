//! The Markdown table, ready to be pasted into a page.

use std::fmt::Write;

use super::ratios::Side;
use super::{Outcome, Report};
use crate::measure::Measurement;

const HEAD: &str = "\
| scenario | measured | median (min to max) | beside | median (min to max) | ratio (min to max) | goal, aim | |
|---|---|---:|---|---:|---:|---|---|
";

/// The machine, the table, what failed.
pub(super) fn markdown(report: &Report) -> String {
    let mut text = format!(
        "{}.\nRounds: {}. Medians; ratios are medians of the rounds' own ratios; fdatasync {}.\n\n{HEAD}",
        report.machine,
        report.rounds,
        flush(report)
    );
    for outcome in &report.outcomes {
        text.push_str(&rows(outcome));
    }
    text
}

/// The spread of all probes.
fn flush(report: &Report) -> String {
    let all = report.outcomes.iter();
    let all = all.flat_map(|outcome| outcome.measured.iter().flatten());
    let times: Vec<f64> = all
        .map(|measured: &Measurement| measured.fdatasync_ms)
        .collect();
    let spread = super::Spread::of(times);
    format!(
        "{:.2} ms ({:.2} to {:.2})",
        spread.median, spread.min, spread.max
    )
}

fn rows(outcome: &Outcome) -> String {
    let mut text = String::new();
    let name = outcome.name;
    for line in &outcome.lines {
        let (goal, verdict) = (
            line.goal.map(|goal| goal.to_string()).unwrap_or_default(),
            line.verdict(),
        );
        let (of, to) = (numbers(&line.of), line.to.as_ref());
        let (label, to) = (to.map_or("", |to| to.label), to.map(numbers));
        let ratio = if to.is_some() {
            let [min, median, max] = line.results();
            format!("**{median}** ({min} to {max})")
        } else {
            String::new()
        };
        // Writing to a string does not fail.
        let _written = writeln!(
            text,
            "| {name} | {} | {of} | {label} | {} | {ratio} | {goal} | {verdict} |",
            line.of.label,
            to.unwrap_or_default()
        );
    }
    if let Some(failure) = &outcome.failure {
        let line = failure.lines().next().unwrap_or_default();
        let _written = writeln!(text, "| {name} | failed: {line} | | | | | | |");
    }
    text
}

fn numbers(side: &Side) -> String {
    let (unit, values) = (side.unit, side.values);
    format!(
        "{} {} ({} to {})",
        unit.format(values.median),
        unit.name(),
        unit.format(values.min),
        unit.format(values.max)
    )
}
