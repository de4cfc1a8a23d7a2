//! What a comparison comes to: round by round, since the two ran one shortly after the other.

use std::fmt;

use serde_json::{Value, json};

use crate::measure::{Measurement, Unit};
use crate::scenario::{Comparison, Goal, Scenario};

/// Smallest, middle and largest of some numbers.
#[derive(Clone, Copy, Debug, Default)]
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

    /// As JSON.
    pub(crate) fn json(self) -> Value {
        json!({ "min": self.min, "median": self.median, "max": self.max })
    }
}

/// One side of a comparison.
pub(crate) struct Side {
    pub(crate) label: &'static str,
    pub(crate) unit: Unit,
    pub(crate) values: Spread,
}

/// A line of the report.
pub(crate) struct Line {
    pub(crate) of: Side,
    pub(crate) to: Option<Side>,
    /// The one divided by the other in each round; the number itself where there is no other.
    pub(crate) result: Spread,
    /// The same, round by round.
    pub(crate) rounds: Vec<f64>,
    pub(crate) goal: Option<Goal>,
}

impl Line {
    /// None where nothing, or no round of both, was measured.
    pub(crate) fn of(
        scenario: &Scenario,
        comparison: Comparison,
        measured: &[Vec<Measurement>],
    ) -> Option<Self> {
        let side = |index: usize| side(scenario.contenders[index].label, &measured[index]);
        let to = match comparison.to {
            Some(to) => Some(side(to)?),
            None => None,
        };
        let rounds = match comparison.to {
            Some(to) => ratios(&measured[comparison.of], &measured[to]),
            None => values(&measured[comparison.of]),
        };
        (!rounds.is_empty()).then_some(())?;
        Some(Self {
            of: side(comparison.of)?,
            to,
            result: Spread::of(rounds.clone()),
            rounds,
            goal: comparison.goal,
        })
    }

    fn format(&self, value: f64) -> String {
        match &self.to {
            Some(_) if value >= 10.0 => format!("{value:.1}"),
            Some(_) => format!("{value:.2}"),
            None => self.of.unit.format(value),
        }
    }

    /// The result's numbers as text.
    pub(crate) fn results(&self) -> [String; 3] {
        let Spread { min, median, max } = self.result;
        [min, median, max].map(|value| self.format(value))
    }

    /// How the median stands to the goal.
    pub(crate) fn verdict(&self) -> &'static str {
        self.goal
            .map_or("", |goal| goal.verdict(self.result.median))
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([_, median, _], of) = (self.results(), self.of.label);
        let rounds: Vec<String> = self
            .rounds
            .iter()
            .map(|&value| self.format(value))
            .collect();
        match &self.to {
            Some(to) => write!(f, "{of} ÷ {}: ", to.label)?,
            None => write!(f, "{of}: ")?,
        }
        write!(f, "{median} (by rounds: {})", rounds.join(" "))?;
        match self.goal {
            Some(goal) => write!(f, "; {goal}: {}", self.verdict()),
            None => Ok(()),
        }
    }
}

fn side(label: &'static str, measured: &[Measurement]) -> Option<Side> {
    let unit = measured.first()?.reading.unit;
    Some(Side {
        label,
        unit,
        values: Spread::of(values(measured)),
    })
}

fn values(measured: &[Measurement]) -> Vec<f64> {
    let readings = measured.iter();
    readings.map(|measured| measured.reading.value).collect()
}

fn ratios(of: &[Measurement], to: &[Measurement]) -> Vec<f64> {
    let same_round = |one: &Measurement| {
        let other = to.iter().find(|other| other.round == one.round)?;
        Some(one.reading.value / other.reading.value)
    };
    of.iter().filter_map(same_round).collect()
}
