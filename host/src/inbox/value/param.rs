//! A parameter encoded for the wire, whose content no log can show.

use std::error::Error;
use std::fmt;

use bytes::BytesMut;
use postgres_types::{Format, IsNull, ToSql, Type, to_sql_checked};

/// A parameter in the form in which it is sent.
pub(crate) struct Param {
    bytes: Option<Vec<u8>>,
    text: bool,
}

impl Param {
    /// NULL.
    pub(crate) fn null() -> Self {
        Self {
            bytes: None,
            text: false,
        }
    }

    /// The type's binary form.
    pub(crate) fn binary(bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            bytes: Some(bytes.into()),
            text: false,
        }
    }

    /// The type's text form: PostgreSQL parses it.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self {
            bytes: Some(text.into().into_bytes()),
            text: true,
        }
    }

    /// A UUID, or NULL.
    pub(crate) fn uuid(id: uuid::Uuid) -> Self {
        Self::binary(*id.as_bytes())
    }

    /// The wire's number for the form.
    pub(crate) fn format(&self) -> i16 {
        i16::from(!self.text)
    }

    /// The content; none is NULL.
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        self.bytes.as_deref()
    }

    /// Bytes on the wire.
    pub(crate) fn len(&self) -> usize {
        self.bytes.as_ref().map_or(0, Vec::len)
    }
}

/// The driver prints parameters at its debug level; values of rows do not belong there.
impl fmt::Debug for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{} bytes>", self.len())
    }
}

impl ToSql for Param {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let Some(bytes) = &self.bytes else {
            return Ok(IsNull::Yes);
        };
        out.extend_from_slice(bytes);
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        if self.text {
            Format::Text
        } else {
            Format::Binary
        }
    }

    to_sql_checked!();
}
