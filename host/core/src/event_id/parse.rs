//! The configuration's spellings of an event id's place.

use super::{IdFormat, IdRule, IdSource};
use crate::json;

impl IdRule {
    /// Reads `[consumer.dedup] id`: one or more of `header:NAME`, `json:/pointer`, `key`, `cloudevents`,
    /// `position`.
    ///
    /// # Errors
    ///
    /// Says which part is wrong and what may stand there.
    pub fn parse(parts: &[String], format: IdFormat) -> Result<Self, String> {
        let sources = parts
            .iter()
            .map(|p| source(p))
            .collect::<Result<Vec<_>, _>>()?;
        if sources.is_empty() {
            return Err("the list of places is empty; name at least one, such as \
                        `header:event-id`"
                .to_owned());
        }
        check_format(&sources, format)?;
        Ok(Self { sources, format })
    }
}

fn source(text: &str) -> Result<IdSource, String> {
    match text.split_once(':') {
        Some(("header", "")) => Err("`header:` names no header".to_owned()),
        Some(("header", name)) => Ok(IdSource::Header(name.to_owned())),
        Some(("json", pointer)) => {
            json::check_pointer(pointer).map(|()| IdSource::Json(pointer.to_owned()))
        }
        Some(_) | None => match text {
            "key" => Ok(IdSource::Key),
            "cloudevents" => Ok(IdSource::CloudEvents),
            "position" => Ok(IdSource::Position),
            other => Err(format!(
                "`{other}` is none of `header:NAME`, `json:/pointer`, `key`, `cloudevents`, \
                 `position`"
            )),
        },
    }
}

/// A UUID is one value: it cannot be read from joined parts.
fn check_format(sources: &[IdSource], format: IdFormat) -> Result<(), String> {
    let one_value = match sources {
        [IdSource::Header(_) | IdSource::Json(_) | IdSource::Key] => true,
        [IdSource::CloudEvents | IdSource::Position] | [] | [_, _, ..] => false,
    };
    match format {
        IdFormat::Uuid if !one_value => Err("`id_format = \"uuid\"` needs an id of one part: \
                                             `header:NAME`, `json:/pointer` or `key`"
            .to_owned()),
        IdFormat::Uuid | IdFormat::Bytes => Ok(()),
    }
}
