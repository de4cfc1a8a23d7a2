//! The scenarios: who is measured beside whom, and what is to be reached.

mod handlers;
mod throughput;

use std::fmt;

use crate::load::Load;
use crate::measure::Task;
use crate::peer::Peer;
use crate::peer::host::Setting;

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

/// What a ratio, or a number, is to be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Goal {
    /// This much or more.
    AtLeast {
        /// To be reached.
        goal: f64,
        /// To be aimed at.
        aim: f64,
    },
}

impl Goal {
    /// How a result stands to it, in a word.
    pub(crate) fn verdict(self, value: f64) -> &'static str {
        let (reached, aimed) = match self {
            Goal::AtLeast { goal, aim } => (value >= goal, value >= aim),
        };
        match (reached, aimed) {
            (_, true) => "aim reached",
            (true, false) => "reached",
            (false, false) => "below",
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Goal::AtLeast { goal, aim } => write!(f, "at least {goal}, aim {aim}"),
        }
    }
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
}

impl Contender {
    /// Records a second of a preloaded topic.
    fn rate(label: &'static str, peer: Peer, load: Load) -> Self {
        Self {
            label,
            peer,
            task: Task::Rate,
            load,
        }
    }
}

fn at_least(goal: f64, aim: f64) -> Option<Goal> {
    Some(Goal::AtLeast { goal, aim })
}

/// All of them; `records` is the size of a one-partition measurement.
pub(crate) fn all(records: usize) -> Vec<Scenario> {
    [throughput::scenarios(records), handlers::scenarios(records)]
        .into_iter()
        .flatten()
        .collect()
}

/// About this many records: whole batches of eight partitions.
fn sized(records: usize) -> usize {
    const STEP: usize = 8 * crate::BATCH;
    records.div_ceil(STEP) * STEP
}
