//! What is to be reached, and how a result stands to it.

use std::fmt;

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
    /// This much or less.
    AtMost {
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
            Goal::AtMost { goal, aim } => (value <= goal, value <= aim),
        };
        match (reached, aimed) {
            (_, true) => "aim reached",
            (true, false) => "reached",
            (false, false) => match self {
                Goal::AtLeast { .. } => "below",
                Goal::AtMost { .. } => "above",
            },
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Goal::AtLeast { goal, aim } => write!(f, "at least {goal}, aim {aim}"),
            Goal::AtMost { goal, aim } => write!(f, "at most {goal}, aim {aim}"),
        }
    }
}

/// A goal and an aim.
pub(super) fn at_least(goal: f64, aim: f64) -> Option<Goal> {
    Some(Goal::AtLeast { goal, aim })
}

/// A goal and an aim.
pub(super) fn at_most(goal: f64, aim: f64) -> Option<Goal> {
    Some(Goal::AtMost { goal, aim })
}
