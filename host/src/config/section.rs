//! Reads one table key by key, and reports what is wrong with each.

use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::time::Duration;

use tidegate_core::ttl::parse_duration;

use super::problems::{Place, Problems};
use super::secrets::is_secret;
use super::shown::{self, SECRET};
use super::tree::{Node, Table, Value};
use super::units::{nearest, parse_size, show_size};

/// A table of the file, or the absence of one: then every key has its default.
pub(super) struct Section<'a> {
    table: Option<&'a Table>,
    at: Place,
    /// What errors put before a key, such as `consumer "billing": dedup.`
    label: String,
    /// What the list of known keys puts before a key, such as `consumer.dedup.`
    schema: String,
    problems: &'a Problems,
    known: RefCell<Vec<&'static str>>,
}

impl<'a> Section<'a> {
    /// The whole file.
    pub(super) fn root(table: &'a Table, problems: &'a Problems) -> Self {
        Self::new(
            Some(table),
            Place::File,
            (String::new(), String::new()),
            problems,
        )
    }

    /// A table named for errors by `label`, for the list of keys by `schema`.
    pub(super) fn new(
        table: Option<&'a Table>,
        at: Place,
        (label, schema): (String, String),
        problems: &'a Problems,
    ) -> Self {
        Self {
            table,
            at,
            label,
            schema,
            problems,
            known: RefCell::default(),
        }
    }

    /// Changes what errors put before a key, once a better name is known.
    pub(super) fn relabel(&mut self, label: String) {
        self.label = label;
    }

    /// The table under `key`; one without keys if the file has none or something else there.
    pub(super) fn child(&self, key: &'static str) -> Section<'a> {
        let node = self.node(key);
        let table = match node.map(|node| &node.value) {
            Some(Value::Table(table)) => Some(table),
            Some(other) => {
                self.error(key, format!("must be a table, not {}", other.describe()));
                None
            }
            None => None,
        };
        let names = (
            format!("{}{key}.", self.label),
            format!("{}{key}.", self.schema),
        );
        Section::new(table, self.place(key), names, self.problems)
    }

    /// One of the tables of this one, whose keys are names.
    pub(super) fn named(
        &self,
        table: &'a Table,
        at: &Place,
        name: &impl std::fmt::Display,
    ) -> Section<'a> {
        let label = format!("{}{name}.", self.label);
        // A dot in a name parts no tables.
        let name = name.to_string().replace('.', shown::DOT);
        let schema = format!("{}{name}.", self.schema);
        Section::new(Some(table), at.clone(), (label, schema), self.problems)
    }

    /// What errors put before a key.
    pub(super) fn label(&self) -> &str {
        &self.label
    }

    /// The node under `key`, which thereby counts as known.
    pub(super) fn node(&self, key: &'static str) -> Option<&'a Node> {
        self.known.borrow_mut().push(key);
        self.problems.know(format!("{}{key}", self.schema));
        self.table.and_then(|table| table.get(key))
    }

    /// All nodes of a table whose keys are free.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (&'a String, &'a Node)> + use<'a> {
        self.table.into_iter().flatten()
    }

    /// Where `key` was written, or else the table. A dotted key may be written as tables.
    pub(super) fn place(&self, key: &str) -> Place {
        let node = self.table.and_then(|table| find(table, key));
        node.map_or(&self.at, |node| &node.at).clone()
    }

    /// Whether the file gives `key`.
    pub(super) fn has(&self, key: &str) -> bool {
        self.table.is_some_and(|table| table.contains_key(key))
    }

    /// Reports what is wrong with `key`.
    pub(super) fn error(&self, key: &str, text: impl AsRef<str>) {
        let at = self.place(key);
        if !self.problems.broken_at(&at) {
            let text = format!("{}{key}: {}", self.label, text.as_ref());
            self.problems.error(&at, text);
        }
    }

    /// Reports that `key` must be given, unless it is, or may be behind a mistake of syntax or a slip of
    /// the pen, which are reported already.
    pub(super) fn missing(&self, key: &str, remedy: &str) {
        let misspelt = self
            .nodes()
            .any(|(word, _)| nearest(word, &[key]).is_some());
        if !misspelt && !self.problems.broken() {
            self.error(key, format!("is missing; {remedy}"));
        }
    }

    /// Reports what is allowed and seldom meant.
    pub(super) fn warn(&self, key: &str, text: impl AsRef<str>) {
        let text = format!("{}{key}: {}", self.label, text.as_ref());
        self.problems.warn(&self.place(key), text);
    }

    /// Notes the value that holds for `key`, for `config show`; a secret's is left out.
    pub(super) fn show(&self, key: &str, value: impl Into<toml::Value>) {
        let value = match is_secret(key) {
            true => SECRET.into(),
            false => value.into(),
        };
        self.problems.show(&self.schema, key, value);
    }

    /// Reports the keys that nobody asked for.
    pub(super) fn finish(self) {
        // A key may have been asked for more than once.
        let mut known = self.known.borrow().clone();
        known.sort_unstable();
        known.dedup();
        for (key, node) in self.nodes() {
            if known.contains(&key.as_str()) {
                continue;
            }
            let hint = match nearest(key, &known) {
                Some(word) => format!("did you mean {word}?"),
                None => format!("known here: {}", known.join(", ")),
            };
            let text = format!("{}{key}: unknown key; {hint}", self.label);
            self.problems.error(&node.at, text);
        }
    }

    /// A string.
    pub(super) fn text(&self, key: &'static str) -> Option<String> {
        match &self.node(key)?.value {
            Value::Text(text) => {
                self.show(key, text.as_str());
                Some(text.clone())
            }
            other => {
                let shown = other.describe();
                self.error(key, format!("must be text in quotes, not {shown}"));
                None
            }
        }
    }

    /// A string that is not shown, nor is what stands in its place.
    pub(super) fn secret(&self, key: &'static str) -> Option<String> {
        match &self.node(key)?.value {
            Value::Text(text) => Some(text.clone()),
            _ => {
                self.error(key, "must be text in quotes");
                None
            }
        }
    }

    /// A string, or a list of strings.
    pub(super) fn texts(&self, key: &'static str) -> Option<Vec<String>> {
        let Value::List(items) = &self.node(key)?.value else {
            return self.text(key).map(|one| vec![one]);
        };
        let mut texts = Vec::with_capacity(items.len());
        for item in items {
            match &item.value {
                Value::Text(text) => texts.push(text.clone()),
                other => {
                    let shown = other.describe();
                    self.error(
                        key,
                        format!("must be a list of texts in quotes; {shown} is none"),
                    );
                }
            }
        }
        self.show(key, texts.clone());
        Some(texts)
    }

    /// One of a few words.
    pub(super) fn choice<T: Copy>(&self, key: &'static str, words: &[(&str, T)]) -> Option<T> {
        let given = self.text(key)?;
        let found = words.iter().find(|(word, _)| *word == given);
        if found.is_none() {
            let known: Vec<String> = words.iter().map(|(word, _)| format!("{word:?}")).collect();
            self.error(
                key,
                format!("{given:?} is not known; write {}", known.join(" or ")),
            );
        }
        found.map(|(_, value)| *value)
    }

    /// One of a few words, or the default, which is one of them.
    pub(super) fn choice_or<T: Copy + PartialEq>(
        &self,
        key: &'static str,
        words: &[(&str, T)],
        default: T,
    ) -> T {
        let chosen = self.choice(key, words).unwrap_or(default);
        if let Some((word, _)) = words.iter().find(|(_, value)| *value == chosen) {
            self.show(key, *word);
        }
        chosen
    }

    /// A duration within `range`, or the default.
    pub(super) fn duration(
        &self,
        key: &'static str,
        default: Duration,
        range: RangeInclusive<Duration>,
    ) -> Duration {
        let duration = self.read_duration(key, default, range);
        self.show(key, shown::duration(duration));
        duration
    }

    fn read_duration(
        &self,
        key: &'static str,
        default: Duration,
        range: RangeInclusive<Duration>,
    ) -> Duration {
        let Some(node) = self.node(key) else {
            return default;
        };
        let parsed = match &node.value {
            Value::Text(text) => parse_duration(text).ok(),
            _ => None,
        };
        match parsed {
            Some(duration) if range.contains(&duration) => return duration,
            Some(_) => self.error(
                key,
                format!(
                    "{} is out of range; from {:?} to {:?} are allowed",
                    node.value.describe(),
                    range.start(),
                    range.end()
                ),
            ),
            None => self.error(
                key,
                format!(
                    r#"{} is not a duration; write for example "7d", "12h" or "PT30M""#,
                    node.value.describe()
                ),
            ),
        }
        default
    }

    /// A byte size within `range`, or the default.
    pub(super) fn size(
        &self,
        key: &'static str,
        default: usize,
        range: RangeInclusive<usize>,
    ) -> usize {
        let size = self.read_size(key, default, range);
        self.show(key, shown::size(size));
        size
    }

    fn read_size(&self, key: &'static str, default: usize, range: RangeInclusive<usize>) -> usize {
        let Some(node) = self.node(key) else {
            return default;
        };
        let parsed = match &node.value {
            Value::Text(text) => parse_size(text),
            Value::Integer(_, Some(bytes)) => usize::try_from(*bytes).ok(),
            _ => None,
        };
        let shown = node.value.describe();
        match parsed {
            Some(size) if range.contains(&size) => return size,
            Some(_) => {
                let (from, to) = (show_size(*range.start()), show_size(*range.end()));
                self.error(
                    key,
                    format!("{shown} is out of range; from {from} to {to} are allowed"),
                );
            }
            None => self.error(
                key,
                format!(r#"{shown} is not a size; write for example "4MiB" or 4194304"#),
            ),
        }
        default
    }

    /// A share: above 0, at most 1.
    pub(super) fn share(&self, key: &'static str, default: f64) -> f64 {
        let share = self.read_share(key, default);
        self.show(key, share);
        share
    }

    fn read_share(&self, key: &'static str, default: f64) -> f64 {
        let Some(node) = self.node(key) else {
            return default;
        };
        let parsed = node
            .value
            .scalar()
            .and_then(|text| text.trim().parse::<f64>().ok());
        if let Some(share) = parsed.filter(|share| *share > 0.0 && *share <= 1.0) {
            return share;
        }
        let shown = node.value.describe();
        self.error(
            key,
            format!("{shown} is not a share: a number above 0 and at most 1, such as 0.5"),
        );
        default
    }

    /// A whole number within `range`, or the default.
    pub(super) fn count(
        &self,
        key: &'static str,
        default: usize,
        range: RangeInclusive<usize>,
    ) -> usize {
        let count = self.read_count(key, default, range);
        self.show(key, shown::count(count));
        count
    }

    fn read_count(&self, key: &'static str, default: usize, range: RangeInclusive<usize>) -> usize {
        let Some(node) = self.node(key) else {
            return default;
        };
        let parsed = match &node.value {
            Value::Integer(_, value) => value.and_then(|value| usize::try_from(value).ok()),
            Value::Text(text) if matches!(node.at, Place::Env(_)) => text.trim().parse().ok(),
            _ => None,
        };
        if let Some(count) = parsed.filter(|count| range.contains(count)) {
            return count;
        }
        let shown = node.value.describe();
        let (from, to) = (range.start(), range.end());
        self.error(
            key,
            format!("{shown} is not a whole number from {from} to {to}"),
        );
        default
    }
}

fn find<'t>(table: &'t Table, key: &str) -> Option<&'t Node> {
    table.get(key).or_else(|| {
        let dots = key.match_indices('.');
        let mut splits = dots.map(|(at, dot)| (&key[..at], &key[at + dot.len()..]));
        splits.find_map(|(head, tail)| match &table.get(head)?.value {
            Value::Table(inner) => find(inner, tail),
            _ => None,
        })
    })
}
