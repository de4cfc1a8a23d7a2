//! Arrays of `bigint` and `text`: literals for parameters, the binary form of results.

use tidegate_core::sql::Value;

use super::from_sql::{Malformed, Reader, utf8};

/// `{1,NULL,3}`
pub(crate) fn int_literal(items: &[Option<i64>]) -> String {
    let texts = items
        .iter()
        .map(|n| n.map_or_else(|| "NULL".to_owned(), |n| n.to_string()));
    format!("{{{}}}", texts.collect::<Vec<_>>().join(","))
}

/// `{"a",NULL,"b\"c"}`: every element quoted, so that no spelling means anything else.
pub(crate) fn text_literal(items: &[Option<String>]) -> String {
    let texts = items
        .iter()
        .map(|t| t.as_ref().map_or_else(|| "NULL".to_owned(), |t| quoted(t)));
    format!("{{{}}}", texts.collect::<Vec<_>>().join(","))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The most dimensions that PostgreSQL gives an array.
const DIMENSIONS: i32 = 6;

/// An array as it arrives: its dimensions (length, lower bound) and its elements.
struct Wire<'a> {
    dimensions: Vec<(i32, i32)>,
    elements: Vec<Option<&'a [u8]>>,
}

impl<'a> Wire<'a> {
    fn read(raw: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(raw);
        let count = reader.i32()?;
        if !(0..=DIMENSIONS).contains(&count) {
            return Err(Malformed);
        }
        let (_flags, _element_type) = (reader.i32()?, reader.i32()?);
        let dimensions = (0..count)
            .map(|_| Ok((reader.i32()?, reader.i32()?)))
            .collect::<Result<Vec<_>, Malformed>>()?;
        let mut elements = Vec::new();
        while !reader.is_empty() {
            elements.push(reader.sized()?);
        }
        // Lengths that promise more than there is would be written out, element by element.
        if promised(&dimensions) != Some(elements.len()) {
            return Err(Malformed);
        }
        Ok(Self {
            dimensions,
            elements,
        })
    }

    /// One dimension counted from 1: what the value variants for arrays can say.
    fn is_plain(&self) -> bool {
        matches!(self.dimensions[..], [] | [(_, 1)])
    }

    /// PostgreSQL's text for it, with the bounds where they are not the usual ones.
    fn text(
        &self,
        element: impl Fn(&[u8]) -> Result<String, Malformed>,
    ) -> Result<String, Malformed> {
        let mut out = String::new();
        if self.dimensions.iter().any(|d| d.1 != 1) {
            for (length, low) in &self.dimensions {
                out.push_str(&format!(
                    "[{low}:{}]",
                    i64::from(*low) + i64::from(*length) - 1
                ));
            }
            out.push('=');
        }
        let mut elements = self.elements.iter();
        let mut next = || match elements.next() {
            Some(Some(raw)) => element(raw),
            Some(None) => Ok("NULL".to_owned()),
            None => Err(Malformed),
        };
        push_level(&mut out, &self.dimensions, &mut next)?;
        Ok(out)
    }
}

/// How many elements the dimensions speak of; none where a length is no length.
fn promised(dimensions: &[(i32, i32)]) -> Option<usize> {
    let mut lengths = dimensions
        .iter()
        .map(|(length, _)| usize::try_from(*length).ok().filter(|length| *length > 0));
    match dimensions {
        [] => Some(0),
        _ => lengths.try_fold(1, |all, length| usize::checked_mul(all, length?)),
    }
}

fn push_level(
    out: &mut String,
    dimensions: &[(i32, i32)],
    next: &mut impl FnMut() -> Result<String, Malformed>,
) -> Result<(), Malformed> {
    let Some(((length, _), inner)) = dimensions.split_first() else {
        out.push_str(&next()?);
        return Ok(());
    };
    out.push('{');
    for i in 0..*length {
        if i > 0 {
            out.push(',');
        }
        push_level(out, inner, next)?;
    }
    out.push('}');
    Ok(())
}

/// A `bigint[]`.
pub(crate) fn ints(raw: &[u8], type_name: String) -> Result<Value, Malformed> {
    let wire = Wire::read(raw)?;
    let int = |raw: &[u8]| Reader::new(raw).i64();
    if !wire.is_plain() {
        let text = wire.text(|raw| Ok(int(raw)?.to_string()))?;
        return Ok(Value::Other { type_name, text });
    }
    let items = wire.elements.iter().map(|e| e.map(int).transpose());
    Ok(Value::Int64Array(items.collect::<Result<_, _>>()?))
}

/// A `text[]` or `varchar[]`.
pub(crate) fn texts(raw: &[u8], type_name: String) -> Result<Value, Malformed> {
    let wire = Wire::read(raw)?;
    if !wire.is_plain() {
        let text = wire.text(|raw| Ok(quoted(&utf8(raw)?)))?;
        return Ok(Value::Other { type_name, text });
    }
    let items = wire.elements.iter().map(|e| e.map(utf8).transpose());
    Ok(Value::TextArray(items.collect::<Result<_, _>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_quote() {
        assert_eq!(
            int_literal(&[Some(i64::MIN), None]),
            "{-9223372036854775808,NULL}"
        );
        let items = [
            Some("a,b".into()),
            None,
            Some("NULL".into()),
            Some("\"\\".into()),
        ];
        assert_eq!(text_literal(&items), r#"{"a,b",NULL,"NULL","\"\\"}"#);
    }

    #[test]
    fn two_dimensions_come_as_text() {
        let mut raw = Vec::new();
        for n in [2_i32, 0, 20, 1, 1, 2, 1] {
            raw.extend(n.to_be_bytes());
        }
        raw.extend(8_i32.to_be_bytes());
        raw.extend(7_i64.to_be_bytes());
        raw.extend((-1_i32).to_be_bytes());
        let value = ints(&raw, "bigint[]".into()).expect("well formed");
        let text = "{{7,NULL}}".to_owned();
        assert_eq!(
            value,
            Value::Other {
                type_name: "bigint[]".into(),
                text
            }
        );
        assert!(ints(&raw[..30], String::new()).is_err());
    }

    #[test]
    fn lengths_that_promise_more_than_there_is_are_refused() {
        let array = |numbers: &[i32]| numbers.iter().flat_map(|n| n.to_be_bytes()).collect();
        for numbers in [
            &[2, 0, 20, i32::MAX, 1, 0, 1][..],
            &[1, 0, 20, 2, 2, -1],
            &[1, 0, 20, -1, 2, -1],
            &[-1, 0, 20],
            &[7, 0, 20, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1],
        ] {
            let raw: Vec<u8> = array(numbers);
            assert!(ints(&raw, String::new()).is_err(), "{numbers:?}");
        }
        let empty: Vec<u8> = array(&[0, 0, 20]);
        assert_eq!(
            ints(&empty, String::new()),
            Ok(Value::Int64Array(Vec::new()))
        );
    }
}
