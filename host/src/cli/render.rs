//! Turns what a command found into a table for people or JSON for scripts. Pure.

use serde::Serialize;
use tidegate_core::text::push_escaped;

/// How an answer is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Columns; long values are cut.
    Table,
    /// One JSON document, complete.
    Json,
}

/// The most characters of a table's cell: a dead letter's id, which other commands take, is whole.
const CELL_CHARS: usize = 64;

/// The most characters of a value that is shown on a line of its own.
const FIELD_CHARS: usize = 2_000;

/// What stands for an absent value in a table.
const NONE: &str = "-";

/// Something that is one row of a table.
pub trait Row: Serialize {
    /// The columns' names.
    const COLUMNS: &'static [&'static str];

    /// The row's cells, one a column.
    fn cells(&self) -> Vec<String>;
}

/// Something that is shown alone, a field a line.
pub trait Fields: Serialize {
    /// Names and values, in order.
    fn fields(&self) -> Vec<(String, String)>;
}

/// Rows as a table or as a JSON array. An empty table says so with `nothing`.
pub fn list<R: Row>(format: Format, rows: &[R], nothing: &str) -> String {
    match format {
        Format::Json => json(&rows),
        Format::Table if rows.is_empty() => nothing.to_owned(),
        Format::Table => table(R::COLUMNS, rows.iter().map(R::cells).collect()),
    }
}

/// One thing as `name: value` lines or as a JSON object.
pub fn one<F: Fields>(format: Format, thing: &F) -> String {
    match format {
        Format::Json => json(thing),
        Format::Table => {
            // Names too may be somebody else's: a header's.
            let fields = thing.fields().into_iter();
            let fields: Vec<_> = fields
                .map(|(name, value)| (cut(&name, CELL_CHARS), value))
                .collect();
            let width = fields
                .iter()
                .map(|(name, _)| chars(name))
                .max()
                .unwrap_or(0);
            let lines = fields.iter().map(|(name, value)| {
                let pad = " ".repeat(width - chars(name));
                let value = cut(value, FIELD_CHARS);
                format!("{name}{pad}  {value}").trim_end().to_owned()
            });
            lines.collect::<Vec<_>>().join("\n")
        }
    }
}

/// Text for an optional value.
pub fn opt(value: Option<impl ToString>) -> String {
    value.map_or_else(|| NONE.to_owned(), |value| value.to_string())
}

/// Bytes for people: text where they are UTF-8, else hexadecimal.
pub fn bytes(value: Option<&[u8]>) -> String {
    match value.map(std::str::from_utf8) {
        None => "null".to_owned(),
        Some(Ok(text)) => text.to_owned(),
        Some(Err(_)) => format!("0x{}", hex::encode(value.unwrap_or_default())),
    }
}

fn json(value: &impl Serialize) -> String {
    // Our own views have text keys and finite numbers only, which always serialise.
    serde_json::to_string_pretty(value).unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"))
}

fn table(columns: &[&str], rows: Vec<Vec<String>>) -> String {
    let head: Vec<String> = columns.iter().map(|name| name.to_uppercase()).collect();
    let cut_row = |row: Vec<String>| row.iter().map(|cell| cut(cell, CELL_CHARS)).collect();
    let rows: Vec<Vec<String>> = rows.into_iter().map(cut_row).collect();
    let columns: Vec<Column> = (0..columns.len())
        .map(|n| Column::of(&head, &rows, n))
        .collect();
    let lines = std::iter::once(&head).chain(&rows).map(|row| {
        let cells = row
            .iter()
            .zip(&columns)
            .map(|(cell, column)| column.pad(cell));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A column's width, and whether it holds numbers only, which stand to the right.
struct Column {
    width: usize,
    right: bool,
}

impl Column {
    fn of(head: &[String], rows: &[Vec<String>], n: usize) -> Self {
        let cells = || rows.iter().filter_map(|row| row.get(n));
        let number = |cell: &String| cell.parse::<i64>().is_ok();
        let all = cells().chain(head.get(n));
        Self {
            width: all.map(|cell| chars(cell)).max().unwrap_or(0),
            right: cells().any(number) && cells().all(|cell| cell == NONE || number(cell)),
        }
    }

    fn pad(&self, cell: &str) -> String {
        let pad = " ".repeat(self.width.saturating_sub(chars(cell)));
        if self.right {
            pad + cell
        } else {
            cell.to_owned() + &pad
        }
    }
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

/// One line that a terminal shows as it is, and not too long.
fn cut(text: &str, most: usize) -> String {
    let mut line = String::new();
    for (n, c) in text.chars().enumerate() {
        if n >= most {
            line.push('…');
            break;
        }
        push_escaped(&mut line, c);
    }
    line
}

#[cfg(test)]
mod tests;
