//! Reading one text from a place in a record: a header, the value's JSON, the key.

use crate::headers::{Said, said};
use crate::json::{self, Found};
use crate::record::Record;

/// Why a place holds no usable text. What the record holds there is never quoted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoText {
    /// Nothing is there: what is missing, in words.
    Missing(String),
    /// It is null.
    Null,
    /// It is not UTF-8.
    NotUtf8,
    /// Two headers of the name differ, or an object names its member twice.
    Ambiguous(String),
    /// It cannot be read as what it should be.
    Malformed(String),
}

/// The value that the headers called `name` agree on.
pub(crate) fn header(record: &Record, name: &str) -> Result<String, NoText> {
    match said(&record.headers, name) {
        Said::Nothing => Err(NoText::Missing(format!("no header `{name}`"))),
        Said::Ambiguous => Err(NoText::Ambiguous(format!("two headers `{name}` differ"))),
        Said::One(None) => Err(NoText::Null),
        Said::One(Some(value)) => utf8(value),
    }
}

/// The string or number at `pointer` in the value.
pub(crate) fn json(record: &Record, pointer: &str) -> Result<String, NoText> {
    let Some(value) = &record.value else {
        return Err(NoText::Missing(format!(
            "the value is null (a tombstone), so there is no `json:{pointer}`"
        )));
    };
    match json::at(value, pointer) {
        Err(json::NotJson(why)) => Err(NoText::Malformed(format!(
            "the value {why}; so `json:{pointer}` cannot be read"
        ))),
        Ok(Found::Absent) => Err(NoText::Missing(format!(
            "the value holds nothing at `json:{pointer}`"
        ))),
        Ok(Found::Twice) => Err(NoText::Ambiguous(format!(
            "the value names what `json:{pointer}` walks twice"
        ))),
        Ok(Found::Null) => Err(NoText::Null),
        Ok(Found::Text(text)) => Ok(text),
        Ok(Found::Number(digits)) => Ok(digits.to_owned()),
        Ok(Found::Other(what)) => Err(NoText::Malformed(format!(
            "`json:{pointer}` is {what}; a string or a number is needed"
        ))),
    }
}

/// The key.
pub(crate) fn key(record: &Record) -> Result<String, NoText> {
    record.key.as_ref().map_or(Err(NoText::Null), |k| utf8(k))
}

fn utf8(value: &[u8]) -> Result<String, NoText> {
    std::str::from_utf8(value)
        .map(str::to_owned)
        .map_err(|_| NoText::NotUtf8)
}

#[cfg(test)]
mod tests;
