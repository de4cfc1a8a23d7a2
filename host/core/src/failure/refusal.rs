//! What the server says when it refuses a statement: its names are for everybody, its own words are not.

use crate::sqlstate::{self, Origin};
use crate::text::{bounded, is_unprintable};
use crate::witness::Statement;

/// The server's own words. They may hold values of rows (`invalid input syntax for type integer: "…"`), so that they are
/// for the guest that sent the statement and for the dead letter's row, and no log shows them.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct ServerWords(String);

impl ServerWords {
    /// The words as they are.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<T: Into<String>> From<T> for ServerWords {
    fn from(words: T) -> Self {
        Self(words.into())
    }
}

impl std::fmt::Debug for ServerWords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<{} bytes>", self.0.len())
    }
}

/// What the server named beside a constraint, in fields of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// The table's schema.
    pub schema: Option<String>,
    /// The table.
    pub table: Option<String>,
    /// The column.
    pub column: Option<String>,
    /// The data type.
    pub data_type: Option<String>,
    /// Where the server raised it. From inside a function or trigger, its words are what that says.
    pub origin: Origin,
    /// The statement had been read, and was refused as it ran.
    pub running: bool,
    /// Which statement of a handler's it was.
    pub statement: Option<Statement>,
    /// It is known that a value was refused: the server's words may hold it.
    pub of_a_value: bool,
}

/// Codes of statements that mean nothing, with which functions of the server refuse values too, such as the text of a
/// query or the name of a sequence.
const OF_VALUES: [&str; 4] = ["3F000", "42601", "42704", "42P01"];

/// Whether a value was refused: a statement that itself means nothing is refused when it is read.
pub(super) fn is_of_a_value(sqlstate: &str, named: &Named) -> bool {
    let read = named.running && !named.origin.inside;
    named.of_a_value || (read && OF_VALUES.contains(&sqlstate))
}

/// Codes with which the server itself, of a statement, speaks of names and types alone.
const OF_NAMES: [&str; 20] = [
    "0A000", "25006", "26000", "28000", "28P01", "3D000", "3F000", "40001", "42501", "42702",
    "42703", "42704", "42725", "42804", "42809", "42883", "42P01", "42P02", "55P03", "57014",
];

/// The most bytes of one name, as in PostgreSQL.
const NAME_BYTES: usize = 63;
/// The most bytes of the server's words where they are of names.
const WORDS_BYTES: usize = 512;

/// A refusal in one line that holds no values: the condition and what was named, and the server's own words where they
/// can only be of names.
pub(super) fn line(
    sqlstate: &str,
    named: &Named,
    constraint: Option<&str>,
    words: &ServerWords,
) -> String {
    let mut line = condition(sqlstate);
    let table = named.table.as_deref().map(plain);
    let table = match (named.schema.as_deref(), table) {
        (Some(schema), Some(table)) => Some(format!("{}.{table}", plain(schema))),
        (_, table) => table,
    };
    let names = [
        ("table", table),
        ("column", named.column.as_deref().map(plain)),
        ("type", named.data_type.as_deref().map(plain)),
        ("constraint", constraint.map(plain)),
    ];
    for (what, name) in names {
        if let Some(name) = name {
            line.push_str(&format!(", {what} `{name}`"));
        }
    }
    // A plan that no longer fits is refused before it runs; what runs may be a value that its function cannot take.
    let of_names = OF_NAMES.contains(&sqlstate)
        && !named.origin.inside
        && !(named.running && sqlstate == "0A000");
    if of_names && !is_of_a_value(sqlstate, named) && !words.0.is_empty() {
        line.push_str(&format!(": {}", one_line(&words.0, WORDS_BYTES)));
    }
    line
}

/// What a refusal's line begins with.
pub(crate) fn condition(sqlstate: &str) -> String {
    let name = sqlstate::name(sqlstate);
    format!("{name} (SQLSTATE {})", one_line(sqlstate, 5))
}

fn plain(name: &str) -> String {
    one_line(name, NAME_BYTES)
}

fn one_line(text: &str, max: usize) -> String {
    bounded(&text.replace(is_unprintable, " "), max)
}
