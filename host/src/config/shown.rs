//! The configuration as it holds: every key with its value, defaults and overrides included, secrets left out.

use std::time::Duration;

use toml::{Table, Value};

use super::units::show_size;

/// What stands in a secret's place.
pub(super) const SECRET: &str = "(secret)";

/// Stands for a dot inside a name of a table's path.
pub(super) const DOT: &str = "\u{1}";

/// The keys in the order in which they were read.
#[derive(Debug, Default)]
pub(super) struct Shown(Vec<Entry>);

#[derive(Debug)]
struct Entry {
    /// The table, such as `consumer.dedup.`
    table: String,
    key: String,
    value: Value,
}

impl Shown {
    /// Adds a key; read again, it has its later value.
    pub(super) fn add(&mut self, table: &str, key: &str, value: Value) {
        self.0.push(Entry {
            table: table.to_owned(),
            key: key.to_owned(),
            value,
        });
    }

    /// All keys in their tables. A consumer begins with its name.
    pub(super) fn tree(&self) -> Table {
        let mut root = Table::new();
        let mut consumers: Vec<Value> = Vec::new();
        for entry in &self.0 {
            let mut path = entry.table.split('.').filter(|name| !name.is_empty());
            if !entry.table.starts_with("consumer.") {
                put(&mut root, path, entry);
                continue;
            }
            path.next();
            if entry.table == "consumer." && entry.key == "name" {
                consumers.push(Value::Table(Table::new()));
            }
            if let Some(Value::Table(consumer)) = consumers.last_mut() {
                put(consumer, path, entry);
            }
        }
        root.insert("consumer".to_owned(), Value::Array(consumers));
        root
    }
}

fn put<'p>(root: &mut Table, path: impl Iterator<Item = &'p str>, entry: &Entry) {
    let mut table = root;
    for name in path {
        let inner = table
            .entry(name.replace(DOT, "."))
            .or_insert_with(|| Table::new().into());
        let Value::Table(inner) = inner else {
            return;
        };
        table = inner;
    }
    table.insert(entry.key.clone(), entry.value.clone());
}

/// A duration in the largest unit that divides it.
pub(super) fn duration(duration: Duration) -> Value {
    let units = [
        (86_400_000, "d"),
        (3_600_000, "h"),
        (60_000, "m"),
        (1_000, "s"),
        (1, "ms"),
    ];
    let millis = duration.as_millis();
    let whole = |(length, _): &&(u128, &str)| millis >= *length && millis.is_multiple_of(*length);
    match units.iter().find(whole) {
        Some((length, name)) => format!("{}{name}", millis / length).into(),
        None => "0ms".into(),
    }
}

/// A size in the largest unit that divides it, or in bytes.
pub(super) fn size(bytes: usize) -> Value {
    match bytes % 1024 {
        0 if bytes > 0 => show_size(bytes).into(),
        _ => count(bytes),
    }
}

/// A whole number.
pub(super) fn count(count: usize) -> Value {
    i64::try_from(count).unwrap_or(i64::MAX).into()
}

/// One text as it is, several as a list.
pub(super) fn texts(texts: &[String]) -> Value {
    match texts {
        [one] => one.as_str().into(),
        all => Value::Array(all.iter().map(|text| text.as_str().into()).collect()),
    }
}
