//! Reads what a consumer's guests run as and within.

use std::collections::BTreeMap;
use std::path::Path;

use tidegate_core::limits::GuestLimits;

use super::names;
use super::problems::Place;
use super::section::Section;
use super::{GuestConfig, InstancePer, defaults, secrets, sql};

const INSTANCES: [(&str, InstancePer); 2] = [
    ("batch", InstancePer::Batch),
    ("record", InstancePer::Record),
];

/// A consumer's guests, and the place of `limits.cpu`.
pub(super) fn read(section: &Section<'_>, base: &Path) -> (GuestConfig, Place) {
    let (limits, cpu_at) = limits(section.child("limits"), &GuestLimits::default());
    section.missing(
        "handler",
        r#"write for example handler = "handlers/credit.wasm""#,
    );
    let guest = GuestConfig {
        handler: names::handler(section, base).unwrap_or_default(),
        role: names::role(section),
        limits,
        instance: section.choice_or("instance", &INSTANCES, InstancePer::Batch),
        sql: sql::read(section.child("sql")),
        settings: settings(&section.child("settings")),
    };
    (guest, cpu_at)
}

/// A tenant's guests: what is not given is as in `own`, the consumer's. And the place of `limits.cpu`.
pub(super) fn of_tenant(
    section: &Section<'_>,
    base: &Path,
    own: &GuestConfig,
) -> (GuestConfig, Place) {
    let (limits, cpu_at) = limits(section.child("limits"), &own.limits);
    let mut merged = own.settings.clone();
    merged.extend(settings(&section.child("settings")));
    let guest = GuestConfig {
        handler: names::handler(section, base).unwrap_or_else(|| own.handler.clone()),
        role: names::role(section).or_else(|| own.role.clone()),
        limits,
        instance: section.choice_or("instance", &INSTANCES, own.instance),
        sql: own.sql.clone(),
        settings: merged,
    };
    (guest, cpu_at)
}

fn settings(settings: &Section<'_>) -> BTreeMap<String, String> {
    let read = secrets::flatten(settings);
    for (name, value) in &read {
        settings.show(name, value.as_str());
    }
    read
}

/// `limits`, and the place of `cpu`.
fn limits(limits: Section<'_>, default: &GuestLimits) -> (GuestLimits, Place) {
    let time = defaults::TIME_LEAST..=defaults::TIME_MOST;
    let small = |key, default: u32, range| {
        let default = usize::try_from(default).unwrap_or(usize::MAX);
        u32::try_from(limits.count(key, default, range)).unwrap_or(u32::MAX)
    };
    let bytes = |key, default, least| limits.size(key, default, least..=defaults::BYTES_BOUND);
    let read = GuestLimits {
        memory: limits.size(
            "memory",
            default.memory,
            defaults::MEMORY_LEAST..=defaults::MEMORY_MOST,
        ),
        table_elements: limits.count(
            "table_elements",
            default.table_elements,
            1..=defaults::TABLE_ELEMENTS_MOST,
        ),
        instances: limits.count("instances", default.instances, 1..=defaults::INSTANCES_MOST),
        cpu: limits.duration("cpu", default.cpu, time.clone()),
        wall: limits.duration("wall", default.wall, time),
        statements: small("statements", default.statements, 0..=1_000_000),
        staged_statements: small(
            "staged_statements",
            default.staged_statements,
            0..=1_000_000,
        ),
        staged_bytes: bytes("staged_bytes", default.staged_bytes, 1),
        parameter_bytes: bytes("parameter_bytes", default.parameter_bytes, 1),
        parameter_values: limits.count(
            "parameter_values",
            default.parameter_values,
            0..=10_000_000,
        ),
        nesting: limits.count("nesting", default.nesting, 0..=10_000),
        result_rows: limits.count("result_rows", default.result_rows, 1..=10_000_000),
        result_bytes: bytes("result_bytes", default.result_bytes, 1),
        random_bytes: limits.size(
            "random_bytes",
            default.random_bytes,
            0..=defaults::RANDOM_BOUND,
        ),
        log_lines: limits.count("log_lines", default.log_lines, 0..=1_000_000),
        log_bytes: bytes("log_bytes", default.log_bytes, 0),
        max_calls: small("max_calls", default.max_calls, 1..=1_000_000_000),
    };
    let cpu_at = limits.place("cpu");
    limits.finish();
    (read, cpu_at)
}
