//! What is wrong with a configuration: every problem at once, each with its place.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use tidegate_core::text::escaped;

use super::shown::Shown;

/// Where a value was written. Sorted as problems are printed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// The file as a whole.
    File,
    /// A line of the file, from 1.
    Line(usize),
    /// An environment variable.
    Env(String),
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Problem {
    pub(super) at: Place,
    pub(super) text: String,
}

impl Problem {
    /// The problem as one line, `path:LINE: text`.
    fn line(&self, path: &Path) -> String {
        let text = &self.text;
        match &self.at {
            Place::File => format!("{}: {text}", path.display()),
            Place::Line(line) => format!("{}:{line}: {text}", path.display()),
            Place::Env(name) => format!("environment variable {name}: {text}"),
        }
    }
}

/// Everything that is wrong with a configuration. `Display` prints one problem a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigErrors {
    path: PathBuf,
    problems: Vec<Problem>,
}

impl ConfigErrors {
    /// The file itself cannot be had.
    pub(super) fn unreadable(path: &Path, text: String) -> Self {
        Self {
            path: path.to_owned(),
            problems: vec![Problem {
                at: Place::File,
                text,
            }],
        }
    }

    /// How many problems there are; at least one.
    pub fn len(&self) -> usize {
        self.problems.len()
    }

    /// Never true: without a problem there is a configuration.
    pub fn is_empty(&self) -> bool {
        self.problems.is_empty()
    }
}

impl std::error::Error for ConfigErrors {}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, problem) in self.problems.iter().enumerate() {
            let newline = if n > 0 { "\n" } else { "" };
            write!(f, "{newline}{}", problem.line(&self.path))?;
        }
        Ok(())
    }
}

/// Collects problems and warnings while the configuration is read, and the keys that were asked for.
#[derive(Debug, Default)]
pub(super) struct Problems {
    errors: RefCell<Vec<Problem>>,
    warnings: RefCell<Vec<Problem>>,
    known: RefCell<BTreeSet<String>>,
    shown: RefCell<Shown>,
    broken: Cell<bool>,
}

impl Problems {
    /// Notes what must be mended.
    pub(super) fn error(&self, at: &Place, text: impl Into<String>) {
        push(&self.errors, at, text.into());
    }

    /// Notes what is allowed and seldom meant.
    pub(super) fn warn(&self, at: &Place, text: impl Into<String>) {
        push(&self.warnings, at, text.into());
    }

    /// Notes that the configuration has this key, whether or not the file gives it.
    pub(super) fn know(&self, key: String) {
        self.known.borrow_mut().insert(key);
    }

    /// Notes the value that holds for a key of a table such as `consumer.dedup.`
    pub(super) fn show(&self, table: &str, key: &str, value: toml::Value) {
        self.shown.borrow_mut().add(table, key, value);
    }

    /// Every key with the value that holds.
    pub(super) fn shown(&self) -> toml::Table {
        self.shown.borrow().tree()
    }

    /// Every key that was asked for, such as `consumer.dedup.ttl`.
    #[cfg(test)]
    pub(super) fn known(&self) -> BTreeSet<String> {
        self.known.borrow().clone()
    }

    /// Notes a mistake of syntax: what follows from it is not worth a line.
    pub(super) fn syntax(&self, at: &Place, text: String) {
        self.broken.set(true);
        push(&self.errors, at, text);
    }

    /// Whether the file's syntax is broken, so that what seems to be missing may be there.
    pub(super) fn broken(&self) -> bool {
        self.broken.get()
    }

    /// Whether the file's syntax is broken and that very line is reported already.
    pub(super) fn broken_at(&self, at: &Place) -> bool {
        self.broken() && self.errors.borrow().iter().any(|p| p.at == *at)
    }

    /// The warnings as lines, or the errors.
    pub(super) fn finish(self, path: &Path) -> Result<Vec<String>, ConfigErrors> {
        let (mut errors, mut warnings) = (self.errors.into_inner(), self.warnings.into_inner());
        errors.sort();
        warnings.sort();
        match errors.is_empty() {
            true => Ok(warnings.iter().map(|w| w.line(path)).collect()),
            false => Err(ConfigErrors {
                path: path.to_owned(),
                problems: errors,
            }),
        }
    }
}

fn push(list: &RefCell<Vec<Problem>>, at: &Place, text: String) {
    let problem = Problem {
        at: at.clone(),
        text: one_line(text),
    };
    let mut list = list.borrow_mut();
    if !list.contains(&problem) {
        list.push(problem);
    }
}

/// A quoted key may hold line ends and codes that move a terminal's cursor: they are shown as they would be written.
fn one_line(text: String) -> String {
    escaped(&text).into_owned()
}
