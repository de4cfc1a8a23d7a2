//! The result: a Markdown table on standard output and the same in `target/bench.json`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::machine::Machine;
use crate::options::Options;
use crate::peer::{Measurement, Peer};

/// What the host is to reach, as a share of each peer's records a second.
const TARGETS: [(Peer, f64); 2] = [(Peer::Pgbench, 0.55), (Peer::Native, 0.8)];

/// Smallest, middle and largest of some numbers.
#[derive(Clone, Copy, Default)]
pub(crate) struct Spread {
    pub(crate) min: f64,
    pub(crate) median: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// Of these numbers; all zero where there are none.
    pub(crate) fn of(mut numbers: Vec<f64>) -> Self {
        numbers.sort_by(f64::total_cmp);
        let (Some(&min), Some(&max)) = (numbers.first(), numbers.last()) else {
            return Self::default();
        };
        let upper = numbers.len() / 2;
        let lower = (numbers.len() - 1) / 2;
        let median = f64::midpoint(numbers[lower], numbers[upper]);
        Self { min, median, max }
    }

    fn json(self) -> Value {
        json!({ "min": self.min, "median": self.median, "max": self.max })
    }
}

/// Cargo's target directory.
pub(crate) fn target() -> PathBuf {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(default, PathBuf::from)
}

/// Prints the tables and writes the file.
pub(crate) fn finish(options: &Options, machine: &Machine, all: &[Measurement]) -> Result<()> {
    let rates: Vec<(Peer, Spread)> = options
        .peers
        .iter()
        .map(|&peer| (peer, rates(all, peer)))
        .collect();
    let shares: Vec<Share> = TARGETS
        .iter()
        .filter_map(|&(peer, goal)| share(all, peer, goal))
        .collect();
    print_tables(&rates, &shares);
    let file = target().join("bench.json");
    let text = serde_json::to_string_pretty(&document(options, machine, all, &shares))?;
    std::fs::create_dir_all(target())?;
    std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    println!("\nWritten to {}.", file.display());
    Ok(())
}

/// The host's records a second divided by a peer's.
struct Share {
    peer: Peer,
    goal: f64,
    /// Round by round: the two ran one shortly after the other.
    rounds: Spread,
    /// The two medians' own ratio.
    of_medians: f64,
}

fn rates(all: &[Measurement], peer: Peer) -> Spread {
    let of_peer = all.iter().filter(|measured| measured.peer == peer);
    Spread::of(of_peer.map(|measured| measured.run.rate()).collect())
}

fn share(all: &[Measurement], peer: Peer, goal: f64) -> Option<Share> {
    let rate = |who, round| {
        let found = all
            .iter()
            .find(|measured| measured.peer == who && measured.round == round);
        found.map(|measured| measured.run.rate())
    };
    let hosts = all.iter().filter(|measured| measured.peer == Peer::Host);
    let ratios: Vec<f64> = hosts
        .filter_map(|host| Some(host.run.rate() / rate(peer, host.round)?))
        .collect();
    (!ratios.is_empty()).then(|| Share {
        peer,
        goal,
        rounds: Spread::of(ratios),
        of_medians: rates(all, Peer::Host).median / rates(all, peer).median,
    })
}

fn print_tables(rates: &[(Peer, Spread)], shares: &[Share]) {
    println!("\n| records/s | min | median | max |\n|---|---:|---:|---:|");
    for (peer, Spread { min, median, max }) in rates {
        println!(
            "| {} | {min:.0} | **{median:.0}** | {max:.0} |",
            describe(*peer)
        );
    }
    if shares.is_empty() {
        return;
    }
    println!("\n| ratio, round by round | min | median | max | of the medians | goal |");
    println!("|---|---:|---:|---:|---:|---:|");
    for share in shares {
        let (Spread { min, median, max }, medians) = (share.rounds, share.of_medians);
        let (peer, goal) = (share.peer.name(), share.goal);
        println!(
            "| host ÷ {peer} | {min:.2} | **{median:.2}** | {max:.2} | {medians:.2} | {goal:.2} |"
        );
    }
}

fn describe(peer: Peer) -> &'static str {
    match peer {
        Peer::Host => "host: `tidegate run`, handler `credit-rust`",
        Peer::Pgbench => "pgbench: set shape, one connection",
        Peer::Native => "native: same batching, no WebAssembly",
    }
}

fn document(options: &Options, machine: &Machine, all: &[Measurement], shares: &[Share]) -> Value {
    let rates: serde_json::Map<_, _> = options
        .peers
        .iter()
        .map(|&peer| (peer.name().to_owned(), rates(all, peer).json()))
        .collect();
    let ratios = shares.iter().map(|share| {
        json!({
            "peer": share.peer.name(), "rounds": share.rounds.json(),
            "of_medians": share.of_medians, "goal": share.goal,
        })
    });
    json!({
        "records": options.records, "rounds": options.rounds, "batch": crate::BATCH,
        "clock": "from the first progress seen above 0 to the last record's commit; records before it not counted",
        "machine": machine_json(machine),
        "records_per_second": rates,
        "host_divided_by": ratios.collect::<Vec<_>>(),
        "measurements": all.iter().map(measurement).collect::<Vec<_>>(),
    })
}

fn machine_json(machine: &Machine) -> Value {
    json!({
        "cpus": machine.cpus, "cpu": machine.cpu, "kernel": machine.kernel,
        "postgres": machine.postgres, "durability": machine.durability, "pgbench": machine.pgbench,
        "kafka": machine.kafka, "librdkafka": machine.librdkafka,
    })
}

fn measurement(measured: &Measurement) -> Value {
    let books = &measured.books;
    json!({
        "peer": measured.peer.name(), "round": measured.round + 1,
        "records_per_second": measured.run.rate(),
        "records_counted": measured.run.records, "seconds": measured.run.seconds,
        "fdatasync_ms": measured.fdatasync_ms, "load": measured.load,
        "records_per_transaction": books.mean_batch(),
        "books": {
            "balanced": measured.balanced(), "claims": books.claims,
            "expected_sum": books.expected, "actual_sum": books.actual,
        },
    })
}
