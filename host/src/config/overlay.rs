//! `TIDEGATE__SECTION__KEY`: the environment laid over the file, for everything outside the consumers.

use std::collections::BTreeMap;
use std::ffi::OsString;

use super::problems::{Place, Problems};
use super::tree::{Node, Table, Value};

/// What the host reads of its environment.
#[derive(Debug, Default)]
pub(super) struct Environment {
    /// The variables that name keys.
    overrides: Vec<(String, OsString)>,
    /// `XDG_CACHE_HOME`, `HOME`.
    pub(super) plain: BTreeMap<String, OsString>,
}

/// What a variable that names a key begins with.
const PREFIX: &str = "TIDEGATE__";

/// The variables of other owners that are read.
const PLAIN: [&str; 2] = ["XDG_CACHE_HOME", "HOME"];

impl Environment {
    /// Takes what the host reads out of a whole environment.
    pub(super) fn new(env: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let mut this = Self::default();
        for (name, value) in env {
            let Ok(name) = name.into_string() else {
                continue;
            };
            if name.starts_with(PREFIX) {
                this.overrides.push((name, value));
            } else if PLAIN.contains(&name.as_str()) {
                this.plain.insert(name, value);
            }
        }
        this
    }

    /// Lays the overrides over `root`. Whether their keys exist is found out when the tree is read.
    pub(super) fn overlay(self, root: &mut Table, problems: &Problems) {
        for (name, value) in self.overrides {
            let at = Place::Env(name.clone());
            let outcome = match value.into_string() {
                Ok(value) => put(root, &name, value),
                Err(_) => Err("its value is not UTF-8".to_owned()),
            };
            if let Err(text) = outcome {
                problems.error(&at, text);
            }
        }
    }
}

fn put(root: &mut Table, name: &str, value: String) -> Result<(), String> {
    let path = name.strip_prefix(PREFIX).unwrap_or_default();
    let path: Vec<String> = path.split("__").map(str::to_lowercase).collect();
    let at = Place::Env(name.to_owned());
    let leaf = Node {
        at: at.clone(),
        value: Value::Text(value),
    };
    match path.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["consumer", ..] => Err(
            "consumers are set in the file; the environment reaches kafka, postgres and host"
                .into(),
        ),
        ["kafka", "librdkafka", key] => {
            let key = key.replace('_', ".");
            replace(
                section(section(root, "kafka", &at)?, "librdkafka", &at)?,
                &key,
                leaf,
            );
            Ok(())
        }
        [table, key] if !table.is_empty() && !key.is_empty() => {
            replace(section(root, table, &at)?, key, leaf);
            Ok(())
        }
        _ => Err(format!(
            "names no key; write for example {PREFIX}POSTGRES__URL or {PREFIX}KAFKA__LIBRDKAFKA__SECURITY_PROTOCOL"
        )),
    }
}

fn section<'t>(root: &'t mut Table, key: &str, at: &Place) -> Result<&'t mut Table, String> {
    let node = root.entry(key.to_owned()).or_insert_with(|| Node {
        at: at.clone(),
        value: Value::Table(Table::new()),
    });
    match &mut node.value {
        Value::Table(table) => Ok(table),
        _ => Err(format!("{key} is not a table in the file")),
    }
}

/// A secret's two spellings (`url`, `url_file`) replace one another: the environment wins.
fn replace(table: &mut Table, key: &str, leaf: Node) {
    let written = |node: &Node| !matches!(node.at, Place::Env(_));
    let other = match key.strip_suffix("_file").or(key.strip_suffix(".file")) {
        Some(plain) => plain.to_owned(),
        None => format!("{key}_file"),
    };
    if table.get(&other).is_some_and(written) {
        table.remove(&other);
    }
    table.insert(key.to_owned(), leaf);
}
