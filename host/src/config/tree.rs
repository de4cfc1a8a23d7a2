//! The file as a tree whose every node knows the place it was written at.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::problems::{Place, Problems};

/// A table: nodes by key.
pub(super) type Table = BTreeMap<String, Node>;

/// A value and the place of its key.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) at: Place,
    pub(super) value: Value,
}

/// A value as written.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// A string; everything that the environment gives is one.
    Text(String),
    /// An integer, with its digits; no number when it is out of range.
    Integer(String, Option<i64>),
    /// A float or a date, with its characters.
    Literal(String),
    /// A boolean.
    Flag(bool),
    /// An array.
    List(Vec<Node>),
    /// A table.
    Table(Table),
}

/// The most characters of a value that an error repeats.
const SHOWN_CHARS: usize = 80;

impl Value {
    /// The value as an error names it, bounded.
    pub(super) fn describe(&self) -> String {
        match self {
            Value::Text(text) => {
                format!("{:?}", text.chars().take(SHOWN_CHARS).collect::<String>())
            }
            Value::Integer(text, _) | Value::Literal(text) => {
                text.chars().take(SHOWN_CHARS).collect()
            }
            Value::Flag(flag) => flag.to_string(),
            Value::List(_) => "a list".into(),
            Value::Table(_) => "a table".into(),
        }
    }

    /// A scalar's text: what a pass-through value or a setting becomes.
    pub(super) fn scalar(&self) -> Option<String> {
        match self {
            Value::Text(text) | Value::Integer(text, _) | Value::Literal(text) => {
                Some(text.clone())
            }
            Value::Flag(flag) => Some(flag.to_string()),
            Value::List(_) | Value::Table(_) => None,
        }
    }
}

/// Reads a file's text. Mistakes of syntax go to `problems`; what can be read in spite of them is returned.
pub(super) fn parse(text: &str, problems: &Problems) -> Table {
    let lines = Lines(text);
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let at = error.span().map_or(Place::File, |span| lines.at(&span));
        let message = error.message().replace('\n', ", ");
        problems.syntax(&at, format!("not TOML: {message}"));
    }
    lines.table(document.get_ref())
}

/// Turns spans into lines.
struct Lines<'t>(&'t str);

impl Lines<'_> {
    fn at(&self, span: &Range<usize>) -> Place {
        let before = self.0.as_bytes().iter().take(span.start);
        Place::Line(1 + before.filter(|byte| **byte == b'\n').count())
    }

    fn table(&self, table: &DeTable<'_>) -> Table {
        let entries = table.iter().map(|(key, value)| {
            let node = Node {
                at: self.at(&key.span()),
                value: self.value(value.get_ref()),
            };
            (key.get_ref().to_string(), node)
        });
        entries.collect()
    }

    fn item(&self, value: &Spanned<DeValue<'_>>) -> Node {
        Node {
            at: self.at(&value.span()),
            value: self.value(value.get_ref()),
        }
    }

    fn value(&self, value: &DeValue<'_>) -> Value {
        match value {
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Integer(int) => Value::Integer(
                int.to_string(),
                i64::from_str_radix(int.as_str(), int.radix()).ok(),
            ),
            DeValue::Float(float) => Value::Literal(float.to_string()),
            DeValue::Boolean(flag) => Value::Flag(*flag),
            DeValue::Datetime(date) => Value::Literal(date.to_string()),
            DeValue::Array(items) => Value::List(items.iter().map(|i| self.item(i)).collect()),
            DeValue::Table(table) => Value::Table(self.table(table)),
        }
    }
}
