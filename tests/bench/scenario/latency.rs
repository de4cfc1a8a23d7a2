//! How long a record takes when there is no hurry.

use super::{Contender, HOST, Scenario, at_most};
use crate::load::Load;
use crate::measure::Task;
use crate::peer::Peer;
use crate::peer::host::Setting;
use crate::site::{ServerKind, Site};

/// Records a second.
const PACE: usize = 1_000;

pub(super) fn scenarios(records: usize) -> Vec<Scenario> {
    // 15 s at 100,000 records, and what starts everything.
    let paced = records * 15 / 100 + 500;
    let contender = |label, peer| {
        let site = Site {
            server: ServerKind::CommitTimes,
            ..Site::PLAIN
        };
        let task = Task::Latency { per_second: PACE };
        Contender::new(label, peer, task, Load::payments(paced)).on(site)
    };
    let native = Peer::NativeRecord { records: paced };
    let pair = Scenario::pair(
        (
            "latency",
            "1,000 records/s in one partition, median time from producing to commit, beside native Rust",
        ),
        contender("host, p50", HOST),
        contender("native, a transaction a record, p50", native),
        at_most(2.0, 1.3),
    );
    vec![pair, crowded()]
}

/// The other consumer's guests would keep the cores of any machine busy: what counts is the tail.
fn crowded() -> Scenario {
    let contender = |label, crowded| {
        let peer = Peer::Host(Setting {
            crowded,
            ..Setting::DEFAULT
        });
        let site = Site {
            server: ServerKind::CommitTimes,
            ..Site::PLAIN
        };
        let task = Task::Latency { per_second: 100 };
        Contender::new(label, peer, task, Load::payments(2_500)).on(site)
    };
    Scenario::pair(
        (
            "crowded",
            "100 records/s beside another consumer's guests that compute in 64 partitions, and alone",
        ),
        contender("host, beside them, p50", true),
        contender("host, alone, p50", false),
        None,
    )
}
