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

/// As the configuration spells it: a list is joined by commas.
impl std::fmt::Display for IdRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, source) in self.sources.iter().enumerate() {
            let comma = if at > 0 { ", " } else { "" };
            write!(f, "{comma}{source}")?;
        }
        match self.format {
            IdFormat::Bytes => Ok(()),
            IdFormat::Uuid => f.write_str(" as uuid"),
        }
    }
}

impl std::fmt::Display for IdSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            IdSource::Header(name) => write!(f, "header:{name}"),
            IdSource::Json(pointer) => write!(f, "json:{pointer}"),
            IdSource::Key => f.write_str("key"),
            IdSource::CloudEvents => f.write_str("cloudevents"),
            IdSource::Position => f.write_str("position"),
        }
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
