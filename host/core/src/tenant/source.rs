//! Where a record says whose it is.

use super::TenantName;
use crate::json::check_pointer;
use crate::place::{NoText, header, json, key};
use crate::record::Record;

/// `[consumer.tenants] from`
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TenantSource {
    /// `header:NAME`
    Header(String),
    /// `json:/pointer` into the value
    Json(String),
    /// `topic:BEFORE{tenant}AFTER`: the part of the topic's name between these two
    Topic {
        /// What stands before the tenant's name; may be empty.
        before: String,
        /// What stands behind it; may be empty.
        after: String,
    },
    /// `key:SEPARATOR`: the key up to the first separator
    Key(String),
}

/// Why a record has no tenant. Always permanent: a tenant is never guessed. What the record holds is never quoted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTenant {
    /// The configured place holds nothing of use.
    #[error("the record names no tenant: {0}")]
    Nowhere(String),
    /// What stands there is no tenant's name.
    #[error(
        "what the record names as its tenant is no tenant's name: 1 to {max} letters, digits, `.`, `_` or `-` are allowed",
        max = TenantName::MAX_BYTES
    )]
    NoName,
}

impl BadTenant {
    /// The error code in dead letters, logs and metrics.
    pub const CODE: &str = "bad-tenant";
}

const PLACEHOLDER: &str = "{tenant}";

impl TenantSource {
    /// Reads the configuration's spelling.
    ///
    /// # Errors
    ///
    /// Says what is wrong and what may stand there.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("header", name)) if !name.is_empty() => Ok(Self::Header(name.to_owned())),
            Some(("json", pointer)) => {
                check_pointer(pointer).map(|()| Self::Json(pointer.to_owned()))
            }
            Some(("topic", pattern)) => topic(pattern),
            Some(("key", separator)) if !separator.is_empty() => {
                Ok(Self::Key(separator.to_owned()))
            }
            _ => Err(format!(
                "`{text}` is none of `header:NAME`, `json:/pointer`, `topic:{PLACEHOLDER}.orders`, `key:SEPARATOR`"
            )),
        }
    }

    /// The tenant that the record names.
    ///
    /// # Errors
    ///
    /// Says what is wrong and where the name should be.
    pub fn of(&self, record: &Record) -> Result<TenantName, BadTenant> {
        let name = match self {
            Self::Header(name) => header(record, name).map_err(nowhere)?,
            Self::Json(pointer) => json(record, pointer).map_err(nowhere)?,
            Self::Topic { before, after } => between(&record.source.topic, before, after)?,
            Self::Key(separator) => before(&key(record).map_err(nowhere)?, separator)?,
        };
        TenantName::new(&name).ok_or(BadTenant::NoName)
    }

    /// Whether a topic of this name can name a tenant; where the name says nothing, any can.
    pub fn fits(&self, topic: &str) -> bool {
        match self {
            Self::Topic { before, after } => between(topic, before, after).is_ok(),
            Self::Header(_) | Self::Json(_) | Self::Key(_) => true,
        }
    }
}

fn topic(pattern: &str) -> Result<TenantSource, String> {
    let parts: Vec<&str> = pattern.split(PLACEHOLDER).collect();
    match parts[..] {
        [before, after] => Ok(TenantSource::Topic {
            before: before.to_owned(),
            after: after.to_owned(),
        }),
        _ => Err(format!(
            "`topic:{pattern}` must hold {PLACEHOLDER} once, as in `topic:{PLACEHOLDER}.orders`"
        )),
    }
}

fn between(topic: &str, before: &str, after: &str) -> Result<String, BadTenant> {
    let inner = topic
        .strip_prefix(before)
        .and_then(|t| t.strip_suffix(after));
    inner.map(str::to_owned).ok_or_else(|| {
        BadTenant::Nowhere(format!(
            "its topic's name is not of the form `{before}{PLACEHOLDER}{after}`"
        ))
    })
}

fn before(key: &str, separator: &str) -> Result<String, BadTenant> {
    let found = key.split_once(separator);
    found.map(|(name, _)| name.to_owned()).ok_or_else(|| {
        BadTenant::Nowhere(format!(
            "its key holds no `{separator}` behind a tenant's name"
        ))
    })
}

fn nowhere(none: NoText) -> BadTenant {
    BadTenant::Nowhere(match none {
        NoText::Missing(what) | NoText::Ambiguous(what) | NoText::Malformed(what) => what,
        NoText::Null => "it is null".to_owned(),
        NoText::NotUtf8 => "it is not UTF-8".to_owned(),
    })
}
