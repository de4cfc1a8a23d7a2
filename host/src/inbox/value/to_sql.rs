//! Parameters: a guest's value as the type that the server inferred, exactly, or an error that names both.

use postgres_types::Type;
use tidegate_core::sql::Value;

use super::param::Param;
use super::shape::{Shape, sql_name};
use super::{array, syntax};

/// Encodes all of a statement's parameters. The error names parameter, given and wanted type, never the value.
pub(crate) fn encode_all(types: &[Type], values: &[Value]) -> Result<Vec<Param>, String> {
    if types.len() != values.len() {
        return Err(format!(
            "the statement has {} parameters, {} were given",
            types.len(),
            values.len()
        ));
    }
    let numbered = types.iter().zip(values).enumerate();
    numbered
        .map(|(i, (ty, value))| encode(ty, value).map_err(|e| format!("parameter ${}: {e}", i + 1)))
        .collect()
}

fn encode(ty: &Type, value: &Value) -> Result<Param, String> {
    let given = given_name(value);
    let fault = |reason: &str| {
        let wanted = sql_name(ty);
        match reason {
            "" => format!("given {given}, wanted {wanted}"),
            reason => format!("given {given}, wanted {wanted}: {reason}"),
        }
    };
    encode_shape(ty, Shape::of(ty), value).map_err(|reason| fault(&reason))
}

fn encode_shape(ty: &Type, shape: Shape, value: &Value) -> Result<Param, String> {
    match value {
        Value::Null => Ok(Param::null()),
        Value::Boolean(b) if shape == Shape::Bool => Ok(Param::binary([u8::from(*b)])),
        Value::Int64(n) => int(shape, *n),
        Value::Float64(x) => float(shape, *x),
        Value::Numeric(text) if shape == Shape::Numeric => {
            checked(text, syntax::is_numeric, "not a decimal number")
        }
        Value::Text(text) => self::text(shape, text),
        Value::Bytes(bytes) if shape == Shape::Bytea => Ok(Param::binary(bytes.as_slice())),
        Value::Uuid(text) if shape == Shape::Uuid => uuid(text),
        Value::Json(text) if matches!(shape, Shape::Json | Shape::Jsonb) => no_nul(text),
        Value::Date(text) if shape == Shape::Date => {
            checked(text, syntax::is_date, "not YYYY-MM-DD")
        }
        Value::Time(text) if shape == Shape::Time => checked(
            text,
            syntax::is_time,
            "not HH:MM:SS with at most six decimals",
        ),
        Value::Timestamp(text) if shape == Shape::Timestamp => checked(
            text,
            syntax::is_timestamp,
            "not YYYY-MM-DD HH:MM:SS, without a zone",
        ),
        Value::Timestamptz(text) if shape == Shape::Timestamptz => checked(
            text,
            syntax::is_timestamptz,
            "not YYYY-MM-DD HH:MM:SS and a zone",
        ),
        Value::Int64Array(items) => int_array(shape, items),
        Value::TextArray(items) if shape == Shape::TextArray => no_nul(&array::text_literal(items)),
        Value::Other { type_name, text } if is_named(ty, type_name) => no_nul(text),
        _ => Err(String::new()),
    }
}

fn int(shape: Shape, n: i64) -> Result<Param, String> {
    let range = |_| "out of range".to_owned();
    match shape {
        Shape::Int2 => i16::try_from(n)
            .map(|n| Param::binary(n.to_be_bytes()))
            .map_err(range),
        Shape::Int4 => i32::try_from(n)
            .map(|n| Param::binary(n.to_be_bytes()))
            .map_err(range),
        Shape::Int8 => Ok(Param::binary(n.to_be_bytes())),
        Shape::Oid => u32::try_from(n)
            .map(|n| Param::binary(n.to_be_bytes()))
            .map_err(range),
        Shape::Numeric => Ok(Param::text(n.to_string())),
        Shape::Float4 if n.unsigned_abs() <= 1 << 24 => Ok(Param::text(n.to_string())),
        Shape::Float8 if n.unsigned_abs() <= 1 << 53 => Ok(Param::text(n.to_string())),
        Shape::Float4 | Shape::Float8 => Err("too large to be exact".to_owned()),
        _ => Err(String::new()),
    }
}

/// A `real` takes what is one, and nothing that would be rounded.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a value that is rounded is refused"
)]
fn float(shape: Shape, x: f64) -> Result<Param, String> {
    match shape {
        Shape::Float8 => Ok(Param::binary(x.to_be_bytes())),
        Shape::Float4 if x.is_finite() && (x as f32).is_infinite() => {
            Err("out of range".to_owned())
        }
        Shape::Float4 if !x.is_nan() && f64::from(x as f32).to_bits() != x.to_bits() => {
            Err("it would be rounded".to_owned())
        }
        Shape::Float4 => Ok(Param::binary((x as f32).to_be_bytes())),
        Shape::Numeric if x.is_nan() => Ok(Param::text("NaN")),
        Shape::Numeric if x.is_infinite() => {
            Ok(Param::text(if x > 0.0 { "Infinity" } else { "-Infinity" }))
        }
        Shape::Numeric => Ok(Param::text(x.to_string())),
        _ => Err(String::new()),
    }
}

fn text(shape: Shape, text: &str) -> Result<Param, String> {
    match shape {
        Shape::Text => no_nul(text),
        Shape::Name if text.len() <= 63 => no_nul(text),
        Shape::Name => Err("more than 63 bytes".to_owned()),
        Shape::Char if text.len() <= 1 => no_nul(text),
        Shape::Char => Err("more than one byte".to_owned()),
        _ => Err(String::new()),
    }
}

fn int_array(shape: Shape, items: &[Option<i64>]) -> Result<Param, String> {
    let (low, high) = match shape {
        Shape::Int2Array => (i64::from(i16::MIN), i64::from(i16::MAX)),
        Shape::Int4Array => (i64::from(i32::MIN), i64::from(i32::MAX)),
        Shape::Int8Array => (i64::MIN, i64::MAX),
        _ => return Err(String::new()),
    };
    match items.iter().flatten().all(|n| (low..=high).contains(n)) {
        true => Ok(Param::text(array::int_literal(items))),
        false => Err("an element is out of range".to_owned()),
    }
}

fn uuid(text: &str) -> Result<Param, String> {
    uuid::Uuid::try_parse(text)
        .map(Param::uuid)
        .map_err(|_| "not a UUID".to_owned())
}

fn checked(text: &str, good: fn(&str) -> bool, reason: &str) -> Result<Param, String> {
    if good(text) {
        Ok(Param::text(text))
    } else {
        Err(reason.to_owned())
    }
}

fn no_nul(text: &str) -> Result<Param, String> {
    match text.contains('\0') {
        true => Err("it holds a NUL character, which PostgreSQL's text cannot".to_owned()),
        false => Ok(Param::text(text)),
    }
}

fn is_named(ty: &Type, name: &str) -> bool {
    name == ty.name() || name == sql_name(ty)
}

fn given_name(value: &Value) -> String {
    let name = match value {
        Value::Null => "null",
        Value::Boolean(_) => "boolean",
        Value::Int64(_) => "int64",
        Value::Float64(_) => "float64",
        Value::Numeric(_) => "numeric",
        Value::Text(_) => "text",
        Value::Bytes(_) => "bytes",
        Value::Uuid(_) => "uuid",
        Value::Json(_) => "json",
        Value::Date(_) => "date",
        Value::Time(_) => "time",
        Value::Timestamp(_) => "timestamp",
        Value::Timestamptz(_) => "timestamptz",
        Value::Int64Array(_) => "int64-array",
        Value::TextArray(_) => "text-array",
        Value::Other { type_name, .. } => {
            return format!("other ({})", type_name.chars().take(63).collect::<String>());
        }
    };
    name.to_owned()
}

#[cfg(test)]
#[path = "to_sql_tests.rs"]
mod tests;
