//! The number that a measurement comes to, and what is worth knowing beside it.

use std::fmt;

use serde_json::{Map, Value};

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Records a second; more is better.
    RecordsPerSecond,
    /// Less is better.
    Milliseconds,
    /// Of memory; less is better.
    Mebibytes,
}

impl Unit {
    /// As it stands behind a number.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Unit::RecordsPerSecond => "records/s",
            Unit::Milliseconds => "ms",
            Unit::Mebibytes => "MiB",
        }
    }

    /// A number of this unit, as precise as it deserves.
    pub(crate) fn format(self, value: f64) -> String {
        match self {
            Unit::RecordsPerSecond => thousands(value),
            Unit::Milliseconds if value < 100.0 => format!("{value:.2}"),
            Unit::Milliseconds | Unit::Mebibytes => format!("{value:.0}"),
        }
    }
}

/// A result.
pub(crate) struct Reading {
    /// The number.
    pub(crate) value: f64,
    /// Its unit.
    pub(crate) unit: Unit,
    /// Names and numbers beside it.
    pub(crate) details: Vec<(&'static str, f64)>,
}

impl Reading {
    /// The number alone.
    pub(crate) fn new(unit: Unit, value: f64) -> Self {
        Self {
            value,
            unit,
            details: Vec::new(),
        }
    }

    /// With one more number beside it.
    pub(crate) fn detail(mut self, name: &'static str, value: f64) -> Self {
        self.details.push((name, value));
        self
    }

    /// The details as JSON.
    pub(crate) fn details_json(&self) -> Map<String, Value> {
        let details = self.details.iter();
        details
            .map(|&(name, value)| (name.to_owned(), value.into()))
            .collect()
    }
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = (self.unit.format(self.value), self.unit.name());
        write!(f, "{value:>9} {unit}")?;
        for (name, value) in &self.details {
            write!(f, ", {name} {value:.2}")?;
        }
        Ok(())
    }
}

/// A whole number with commas.
fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
