//! Resident memory of a process, as the kernel counts it.

use anyhow::{Context, Result};

/// The most that the process has held so far, in MiB.
pub(crate) fn peak_mib(pid: i32) -> Result<f64> {
    field(pid, "VmHWM:")
}

fn field(pid: i32, name: &str) -> Result<f64> {
    let file = format!("/proc/{pid}/status");
    let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {file}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.split_whitespace().next());
    let kib: f64 = kib
        .with_context(|| format!("{file} has no {name}"))?
        .parse()?;
    Ok(kib / 1024.0)
}
