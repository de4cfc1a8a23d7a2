//! `numeric` from its binary form to text, digit for digit.

use super::from_sql::{Malformed, Reader};

const NEGATIVE: u16 = 0x4000;
const NAN: u16 = 0xC000;
const INFINITY: u16 = 0xD000;
const NEGATIVE_INFINITY: u16 = 0xF000;

/// PostgreSQL's own text for the value: its display scale kept, no exponent.
pub(crate) fn to_text(raw: &[u8]) -> Result<String, Malformed> {
    let mut reader = Reader::new(raw);
    let count = reader.u16()?;
    let weight = i32::from(reader.i16()?);
    let sign = reader.u16()?;
    let scale = usize::from(reader.u16()?);
    match sign {
        NAN => return Ok("NaN".to_owned()),
        INFINITY => return Ok("Infinity".to_owned()),
        NEGATIVE_INFINITY => return Ok("-Infinity".to_owned()),
        _ => {}
    }
    let digits = (0..count)
        .map(|_| reader.u16())
        .collect::<Result<Vec<_>, _>>()?;
    let mut text = String::new();
    if sign == NEGATIVE {
        text.push('-');
    }
    push_whole(&mut text, &digits, weight);
    push_fraction(&mut text, &digits, weight, scale);
    Ok(text)
}

/// The base-10000 digit of the given weight.
fn digit(digits: &[u16], weight: i32, of: i32) -> u16 {
    usize::try_from(weight - of)
        .ok()
        .and_then(|i| digits.get(i))
        .copied()
        .unwrap_or(0)
}

fn push_whole(text: &mut String, digits: &[u16], weight: i32) {
    if weight < 0 {
        text.push('0');
        return;
    }
    text.push_str(&digit(digits, weight, weight).to_string());
    for of in (0..weight).rev() {
        text.push_str(&format!("{:04}", digit(digits, weight, of)));
    }
}

fn push_fraction(text: &mut String, digits: &[u16], weight: i32, scale: usize) {
    if scale == 0 {
        return;
    }
    text.push('.');
    let end = text.len() + scale;
    let mut of = -1;
    while text.len() < end {
        text.push_str(&format!("{:04}", digit(digits, weight, of)));
        of -= 1;
    }
    text.truncate(end);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numeric(weight: i16, sign: u16, scale: u16, digits: &[u16]) -> String {
        let mut raw = Vec::new();
        raw.extend(u16::try_from(digits.len()).expect("few").to_be_bytes());
        raw.extend(weight.to_be_bytes());
        raw.extend(sign.to_be_bytes());
        raw.extend(scale.to_be_bytes());
        digits.iter().for_each(|d| raw.extend(d.to_be_bytes()));
        to_text(&raw).expect("well formed")
    }

    #[test]
    fn digits_and_scale_are_kept() {
        assert_eq!(numeric(0, 0, 0, &[]), "0");
        assert_eq!(numeric(0, 0, 2, &[]), "0.00");
        assert_eq!(numeric(0, NEGATIVE, 2, &[1, 5000]), "-1.50");
        assert_eq!(numeric(1, 0, 0, &[1]), "10000");
        assert_eq!(numeric(1, 0, 6, &[12, 34, 5600]), "120034.560000");
        assert_eq!(numeric(-2, 0, 8, &[12]), "0.00000012");
    }

    #[test]
    fn specials_and_garbage() {
        assert_eq!(numeric(0, NAN, 0, &[]), "NaN");
        assert_eq!(numeric(0, NEGATIVE_INFINITY, 0, &[]), "-Infinity");
        assert!(to_text(&[0, 9, 0, 0, 0, 0, 0, 0]).is_err());
        assert!(to_text(&[0]).is_err());
    }
}
