//! What the host's process holds.

use std::time::Duration;

use super::{Comparison, Contender, HOST, Scenario, at_most, sized};
use crate::load::Load;
use crate::measure::Task;
use crate::site::Site;

/// A database far away: the broker is much faster.
const FAR: Duration = Duration::from_millis(20);

pub(super) fn scenarios(records: usize) -> Vec<Scenario> {
    let busy = Load::payments(sized(records)).partitions(8);
    let large = Load::payments(sized(records / 2)).partitions(8);
    let far = Site {
        round_trip: Some(FAR),
        ..Site::PLAIN
    };
    let peak = |label, load| Contender::new(label, HOST, Task::PeakMemory, load);
    let contenders = vec![
        Contender::new("host, idle", HOST, Task::IdleMemory, Load::payments(0)),
        peak("host, busy, peak", busy),
        peak(
            "host, 2 kB values, 20 ms away, peak",
            large.value_bytes(2_000),
        )
        .on(far),
    ];
    let goals = [(150.0, 100.0), (400.0, 250.0), (400.0, 250.0)];
    let comparisons = (0..).zip(goals).map(|(of, (goal, aim))| Comparison {
        of,
        to: None,
        goal: at_most(goal, aim),
    });
    vec![Scenario {
        name: "memory",
        about: "resident memory: idle; eight partitions under load; a slow database behind a fast broker",
        contenders,
        comparisons: comparisons.collect(),
    }]
}
