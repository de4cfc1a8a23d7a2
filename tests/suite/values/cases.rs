//! Values of every type, extremes and NULL among them.

use serde_json::{Value, json};

use super::{TABLE, of, other};

/// A column, what the guest sends for it, and what comes back if that is another thing.
pub(super) type Case = (&'static str, Value, Option<Value>);

/// All of them.
pub(super) fn all() -> Vec<Case> {
    [numbers(), texts(), times(), others(), nulls()].concat()
}

fn each(column: &'static str, case: &str, values: &[&str]) -> Vec<Case> {
    values
        .iter()
        .map(|v| (column, of(case, *v), None))
        .collect()
}

fn numbers() -> Vec<Case> {
    let ints = [
        ("c_int2", i64::from(i16::MIN), i64::from(i16::MAX)),
        ("c_int4", i64::from(i32::MIN), i64::from(i32::MAX)),
        ("c_int8", i64::MIN, i64::MAX),
        ("c_percent", 0, 100),
    ];
    let ints = ints.into_iter().flat_map(|(column, min, max)| {
        let middle = [0, 1.min(max)];
        [min, max]
            .into_iter()
            .chain(middle)
            .map(move |n| (column, of("int64", n), None))
    });
    let floats = [
        f64::MAX,
        f64::MIN,
        f64::MIN_POSITIVE,
        5e-324,
        -0.0,
        0.1,
        f64::NAN,
        f64::INFINITY,
        -f64::INFINITY,
    ];
    let floats = floats.map(|x| ("c_float8", of("float64", x.to_string()), None));
    let reals = [
        f32::MAX,
        f32::MIN_POSITIVE,
        0.1,
        -1.5,
        f32::NAN,
        -f32::INFINITY,
    ];
    let reals = reals.map(|x| ("c_float4", of("float64", f64::from(x).to_string()), None));
    let long = format!("-{}.{}", "9".repeat(600), "1".repeat(600));
    let numerics = [
        "0",
        "-0.00010",
        "0.000",
        "NaN",
        "Infinity",
        "-Infinity",
        "10000",
        "12345678901234567890.5",
        &long,
    ];
    let mut all: Vec<Case> = ints.chain(floats).chain(reals).collect();
    all.extend([true, false].map(|b| ("c_bool", of("boolean", b), None)));
    all.extend(each("c_numeric", "numeric", &numerics));
    all.push(("c_money", of("numeric", "-9999999999.99"), None));
    all.push(("c_money", of("int64", 7), Some(of("numeric", "7.00"))));
    all
}

fn texts() -> Vec<Case> {
    let long = "ü🔑".repeat(30_000);
    let every_byte: String = (0..=255_u8).map(|b| format!("{b:02x}")).collect();
    let mut all = each(
        "c_text",
        "text",
        &["", " ", "null", "a\tb\nc\r", "\u{1}\u{7f}\u{10ffff}", &long],
    );
    all.extend(each("c_varchar", "text", &["", "üüüüü"]));
    all.push(("c_char", of("text", "ab"), Some(of("text", "ab   "))));
    all.extend(each("c_mood", "text", &["sad", "happy"]));
    all.extend(each("c_word", "text", &["", "ninechars"]));
    all.extend(each("c_bytea", "bytes", &["", "00", &every_byte]));
    let uuids = [
        "00000000-0000-0000-0000-000000000000",
        "ffffffff-ffff-ffff-ffff-ffffffffffff",
    ];
    all.extend(each("c_uuid", "uuid", &uuids));
    all.extend(each(
        "c_json",
        "json",
        &["null", "{\"b\": 1,  \"a\":[null, 1e400]}", "\"\\u00e9\""],
    ));
    all.push((
        "c_jsonb",
        of("json", "{\"b\":1,\"a\":[ null ]}"),
        Some(of("json", "{\"a\": [null], \"b\": 1}")),
    ));
    all.extend(each("c_jsonb", "json", &["{}", "12345678901234567890.10"]));
    all
}

fn times() -> Vec<Case> {
    let mut all = each(
        "c_date",
        "date",
        &[
            "0001-01-01",
            "1969-12-31",
            "2024-02-29",
            "5874897-12-31",
            "4713-01-01 BC",
            "infinity",
            "-infinity",
        ],
    );
    all.extend(each(
        "c_time",
        "time",
        &["00:00:00", "23:59:59.999999", "24:00:00", "12:00:00.5"],
    ));
    let moments = [
        "1969-12-31 23:59:59.999999",
        "2000-01-01 00:00:00",
        "294276-12-31 23:59:59.999999",
        "infinity",
        "-infinity",
    ];
    all.extend(each("c_timestamp", "timestamp", &moments));
    all.extend(each(
        "c_timestamptz",
        "timestamptz",
        &["infinity", "-infinity", "1969-12-31 23:59:59.999999+00"],
    ));
    let zoned = [
        ("2024-05-01 12:00:00+02", "2024-05-01 10:00:00+00"),
        ("2024-05-01T12:00:00.25Z", "2024-05-01 12:00:00.25+00"),
        ("2024-05-01 00:00:00-05:30", "2024-05-01 05:30:00+00"),
    ];
    let zoned = zoned.map(|(sent, back)| {
        (
            "c_timestamptz",
            of("timestamptz", sent),
            Some(of("timestamptz", back)),
        )
    });
    all.extend(zoned);
    all
}

fn others() -> Vec<Case> {
    let mut all = vec![
        ("c_int8s", of("int64-array", json!([])), None),
        (
            "c_int8s",
            of("int64-array", json!([i64::MIN, null, i64::MAX])),
            None,
        ),
        (
            "c_int4s",
            of("int64-array", json!([1, null, -2])),
            Some(other("integer[]", "{1,NULL,-2}")),
        ),
        ("c_texts", of("text-array", json!([])), None),
        (
            "c_texts",
            of(
                "text-array",
                json!(["", null, "NULL", "a,b", "\"q\"", "{}", "\\", " x ", "é"]),
            ),
            None,
        ),
    ];
    let texts = [
        ("c_interval", "interval", "1 day 02:03:04.5"),
        ("c_inet", "inet", "10.0.0.1/8"),
        ("c_point", "point", "(1.5,-2)"),
        ("c_range", "int4range", "[1,5)"),
        ("c_oid", "oid", "4294967295"),
        ("c_timetz", "timetz", "12:00:00+02"),
    ];
    all.extend(texts.map(|(column, name, text)| (column, other(name, text), None)));
    all
}

/// NULL of every type.
fn nulls() -> Vec<Case> {
    let columns = TABLE
        .split_whitespace()
        .filter(|word| word.starts_with("c_"));
    columns
        .map(|column| (column, json!({ "type": "null" }), None))
        .collect()
}
