//! Results: PostgreSQL's binary forms as values, exactly.

use std::error::Error;

use postgres_types::{FromSql, Type};
use tidegate_core::sql::Value;

use super::shape::{Shape, sql_name};
use super::{array, numeric, time};

/// A value that is not of its type's binary form.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// A value's bytes as they arrive.
pub(crate) struct Raw<'a>(pub(crate) &'a [u8]);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Raw(raw))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// Decodes one value of a column that did not have to be asked for as text.
pub(crate) fn decode(ty: &Type, raw: &[u8]) -> Result<Value, Malformed> {
    let mut reader = Reader::new(raw);
    let value = match Shape::of(ty) {
        Shape::Bool => Value::Boolean(reader.u8()? != 0),
        Shape::Int2 => Value::Int64(i64::from(reader.i16()?)),
        Shape::Int4 => Value::Int64(i64::from(reader.i32()?)),
        Shape::Int8 => Value::Int64(reader.i64()?),
        Shape::Float4 => Value::Float64(f64::from(f32::from_be_bytes(reader.array()?))),
        Shape::Float8 => Value::Float64(f64::from_be_bytes(reader.array()?)),
        Shape::Numeric => Value::Numeric(numeric::to_text(raw)?),
        Shape::Text | Shape::Name => Value::Text(utf8(raw)?),
        Shape::Char => char_byte(reader.u8()?, ty),
        Shape::Bytea => Value::Bytes(raw.to_vec()),
        Shape::Uuid => Value::Uuid(uuid::Uuid::from_bytes(reader.array()?).to_string()),
        Shape::Json => Value::Json(utf8(raw)?),
        Shape::Jsonb => Value::Json(utf8(raw.get(1..).ok_or(Malformed)?)?),
        Shape::Date => Value::Date(time::date(reader.i32()?)),
        Shape::Time => Value::Time(time::time(reader.i64()?)),
        Shape::Timestamp => Value::Timestamp(time::timestamp(reader.i64()?)),
        Shape::Timestamptz => Value::Timestamptz(time::timestamptz(reader.i64()?)),
        Shape::Int8Array => array::ints(raw, sql_name(ty))?,
        Shape::TextArray => array::texts(raw, sql_name(ty))?,
        Shape::Void => Value::Null,
        Shape::Oid | Shape::Int2Array | Shape::Int4Array | Shape::Other => return Err(Malformed),
    };
    Ok(value)
}

/// A `"char"`: one byte, whose high half PostgreSQL prints in octal.
fn char_byte(byte: u8, ty: &Type) -> Value {
    match byte {
        0 => Value::Text(String::new()),
        1..=127 => Value::Text(char::from(byte).to_string()),
        _ => Value::Other {
            type_name: sql_name(ty),
            text: format!("\\{byte:03o}"),
        },
    }
}

/// Text; the session's `client_encoding` is UTF-8.
pub(crate) fn utf8(raw: &[u8]) -> Result<String, Malformed> {
    std::str::from_utf8(raw)
        .map(str::to_owned)
        .map_err(|_| Malformed)
}

/// Reads big-endian fields off a value; never past its end.
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(raw: &'a [u8]) -> Self {
        Self(raw)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (head, tail) = self.0.split_first_chunk::<N>().ok_or(Malformed)?;
        self.0 = tail;
        Ok(*head)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Malformed> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn i16(&mut self) -> Result<i16, Malformed> {
        self.array().map(i16::from_be_bytes)
    }

    pub(crate) fn i32(&mut self) -> Result<i32, Malformed> {
        self.array().map(i32::from_be_bytes)
    }

    pub(crate) fn i64(&mut self) -> Result<i64, Malformed> {
        self.array().map(i64::from_be_bytes)
    }

    /// A length and so many bytes; a negative length is NULL.
    pub(crate) fn sized(&mut self) -> Result<Option<&'a [u8]>, Malformed> {
        let Ok(length) = usize::try_from(self.i32()?) else {
            return Ok(None);
        };
        let (head, tail) = self.0.split_at_checked(length).ok_or(Malformed)?;
        self.0 = tail;
        Ok(Some(head))
    }
}
