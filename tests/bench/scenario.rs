//! The scenarios: who is measured beside whom, and what is to be reached.

mod conditions;
mod goal;
mod handlers;
mod latency;
mod memory;
mod processes;
mod throughput;

use crate::load::Load;
use crate::measure::Task;
use crate::peer::Peer;
use crate::peer::host::Setting;
use crate::site::Site;
pub(crate) use goal::Goal;
use goal::{at_least, at_most};

/// The host, every setting at its default.
const HOST: Peer = Peer::Host(Setting::DEFAULT);

/// Some contenders that take turns.
pub(crate) struct Scenario {
    /// As it is asked for.
    pub(crate) name: &'static str,
    /// What it shows, in a line.
    pub(crate) about: &'static str,
    /// Who takes part.
    pub(crate) contenders: Vec<Contender>,
    /// What is reported of them.
    pub(crate) comparisons: Vec<Comparison>,
}

/// Who does what under which conditions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contender {
    /// As it stands in the report.
    pub(crate) label: &'static str,
    /// Who.
    pub(crate) peer: Peer,
    /// What is measured of it.
    pub(crate) task: Task,
    /// What it handles.
    pub(crate) load: Load,
    /// Under which conditions.
    pub(crate) site: Site,
}

/// A line of the report.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Comparison {
    /// The contender it is about.
    pub(crate) of: usize,
    /// The one it is divided by; none where its own number counts.
    pub(crate) to: Option<usize>,
    /// What is to be reached, if anything.
    pub(crate) goal: Option<Goal>,
}

impl Scenario {
    /// The host beside one reference.
    fn pair(
        (name, about): (&'static str, &'static str),
        host: Contender,
        reference: Contender,
        goal: Option<Goal>,
    ) -> Self {
        Self {
            name,
            about,
            contenders: vec![host, reference],
            comparisons: vec![Comparison {
                of: 0,
                to: Some(1),
                goal,
            }],
        }
    }

    /// Each but the first beside the first, with nothing to reach.
    fn beside_the_first(
        (name, about): (&'static str, &'static str),
        contenders: Vec<Contender>,
    ) -> Self {
        let others = 1..contenders.len();
        let comparisons = others.map(|of| Comparison {
            of,
            to: Some(0),
            goal: None,
        });
        Self {
            name,
            about,
            comparisons: comparisons.collect(),
            contenders,
        }
    }
}

impl Contender {
    fn new(label: &'static str, peer: Peer, task: Task, load: Load) -> Self {
        Self {
            label,
            peer,
            task,
            load,
            site: Site::PLAIN,
        }
    }

    /// Records a second of a preloaded topic.
    fn rate(label: &'static str, peer: Peer, load: Load) -> Self {
        Self::new(label, peer, Task::Rate, load)
    }

    /// The same under other conditions.
    fn on(self, site: Site) -> Self {
        Self { site, ..self }
    }
}

/// All of them; `records` is the size of a one-partition measurement.
pub(crate) fn all(records: usize) -> Vec<Scenario> {
    let families: [fn(usize) -> Vec<Scenario>; 6] = [
        throughput::scenarios,
        conditions::scenarios,
        latency::scenarios,
        memory::scenarios,
        handlers::scenarios,
        processes::scenarios,
    ];
    families.iter().flat_map(|family| family(records)).collect()
}

/// About this many records: whole batches of eight partitions.
fn sized(records: usize) -> usize {
    const STEP: usize = 8 * crate::BATCH;
    records.div_ceil(STEP) * STEP
}
