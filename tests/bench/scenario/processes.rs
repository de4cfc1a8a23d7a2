//! More processes, and how soon one is at work.

use super::{Contender, Scenario, sized};
use crate::load::Load;
use crate::measure::Task;
use crate::peer::Peer;
use crate::peer::host::Setting;

pub(super) fn scenarios(records: usize) -> Vec<Scenario> {
    vec![processes(records), cold_start(records)]
}

fn processes(records: usize) -> Scenario {
    let load = Load::payments(sized(records * 4)).partitions(8);
    let contender = |label, processes| {
        let setting = Setting {
            processes,
            ..Setting::DEFAULT
        };
        Contender::new(label, Peer::Host(setting), Task::SecondHalfRate, load)
    };
    Scenario::beside_the_first(
        (
            "processes",
            "two and four processes on eight partitions, beside one; all on this machine",
        ),
        vec![
            contender("host, 1 process", 1),
            contender("host, 2 processes", 2),
            contender("host, 4 processes", 4),
        ],
    )
}

fn cold_start(records: usize) -> Scenario {
    let load = Load::payments(sized(records / 25));
    let contender = |label, warm_cache| {
        let setting = Setting {
            warm_cache,
            ..Setting::DEFAULT
        };
        Contender::new(label, Peer::Host(setting), Task::Start, load)
    };
    Scenario::beside_the_first(
        (
            "cold-start",
            "from starting the process to its first commit, with and without compiled modules in the cache",
        ),
        vec![
            contender("host, warm module cache", true),
            contender("host, cold module cache", false),
        ],
    )
}
