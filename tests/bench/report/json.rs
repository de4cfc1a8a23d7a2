//! Everything as JSON, for tools.

use serde_json::{Value, json};

use super::ratios::{Line, Side};
use super::{Outcome, Report};
use crate::measure::Measurement;
use crate::measure::machine::Machine;

/// The whole report.
pub(super) fn document(report: &Report) -> Value {
    json!({
        "records": report.records, "rounds": report.rounds, "batch": crate::BATCH,
        "clock": "from the first tenth to the last twentieth of the records",
        "machine": machine(&report.machine),
        "scenarios": report.outcomes.iter().map(outcome).collect::<Vec<_>>(),
    })
}

fn machine(machine: &Machine) -> Value {
    json!({
        "cpus": machine.cpus, "cpu": machine.cpu, "kernel": machine.kernel,
        "postgres": machine.postgres, "durability": machine.durability, "pgbench": machine.pgbench,
        "kafka": machine.kafka, "librdkafka": machine.librdkafka,
    })
}

fn outcome(outcome: &Outcome) -> Value {
    let measured = outcome.measured.iter().flatten();
    json!({
        "name": outcome.name, "about": outcome.about, "failure": outcome.failure,
        "comparisons": outcome.lines.iter().map(line).collect::<Vec<_>>(),
        "measurements": measured.map(measurement).collect::<Vec<_>>(),
    })
}

fn line(line: &Line) -> Value {
    let side = |side: &Side| json!({ "label": side.label, "unit": side.unit.name(), "values": side.values.json() });
    json!({
        "of": side(&line.of), "divided_by": line.to.as_ref().map(side), "result": line.result.json(),
        "rounds": line.rounds,
        "goal": line.goal.map(|goal| goal.to_string()), "verdict": line.verdict(),
    })
}

fn measurement(measured: &Measurement) -> Value {
    json!({
        "contender": measured.label, "round": measured.round + 1,
        "value": measured.reading.value, "unit": measured.reading.unit.name(),
        "details": measured.reading.details_json(),
        "fdatasync_ms": measured.fdatasync_ms, "commit_ms": measured.commit_ms, "load": measured.load,
        "records_per_transaction": measured.books.mean_batch, "books": measured.books.json(),
    })
}
