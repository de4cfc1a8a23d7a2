//! Values that do not fit: the letter names parameter, given and wanted type, never the value.

use serde_json::{Value, json};

use super::{TABLE, of, other, record};
use crate::scene::{Scene, done_and_rejected};

/// A column, what is sent for it, the letter's code and what its message says.
type Misfit = (&'static str, Value, &'static str, &'static str);

fn host(column: &'static str, sent: Value, words: &'static str) -> Misfit {
    (column, sent, "bad-parameter", words)
}

/// What the host itself refuses, most for its kind.
fn refused_kinds() -> Vec<Misfit> {
    vec![
        host(
            "c_int8",
            of("text", "7"),
            "parameter $1: given text, wanted bigint",
        ),
        host(
            "c_int2",
            of("int64", 32768),
            "parameter $1: given int64, wanted smallint: out of range",
        ),
        host(
            "c_int4",
            of("int64", i64::MIN),
            "parameter $1: given int64, wanted integer: out of range",
        ),
        host(
            "c_int8",
            of("float64", "1"),
            "parameter $1: given float64, wanted bigint",
        ),
        host(
            "c_int8",
            of("boolean", true),
            "parameter $1: given boolean, wanted bigint",
        ),
        host(
            "c_int8",
            of("numeric", "1"),
            "parameter $1: given numeric, wanted bigint",
        ),
        host(
            "c_text",
            of("int64", 1),
            "parameter $1: given int64, wanted text",
        ),
        host(
            "c_text",
            of("bytes", "61"),
            "parameter $1: given bytes, wanted text",
        ),
        host(
            "c_text",
            of("text", "a\0b"),
            "parameter $1: given text, wanted text: it holds a NUL",
        ),
        host(
            "c_bool",
            of("int64", 1),
            "parameter $1: given int64, wanted boolean",
        ),
        host(
            "c_jsonb",
            of("text", "{}"),
            "parameter $1: given text, wanted jsonb",
        ),
    ]
}

/// What the host itself refuses: kinds that fit, spellings and ranges that do not.
fn refused_spellings() -> Vec<Misfit> {
    vec![
        host(
            "c_uuid",
            of("uuid", "no-uuid"),
            "parameter $1: given uuid, wanted uuid: not a UUID",
        ),
        host(
            "c_uuid",
            of("text", "x"),
            "parameter $1: given text, wanted uuid",
        ),
        host(
            "c_numeric",
            of("numeric", "1,5"),
            "parameter $1: given numeric, wanted numeric: not a decimal",
        ),
        host(
            "c_date",
            of("date", "tomorrow"),
            "parameter $1: given date, wanted date: not YYYY-MM-DD",
        ),
        host(
            "c_time",
            of("time", "12:00:00.1234567"),
            "parameter $1: given time, wanted time",
        ),
        host(
            "c_timestamp",
            of("timestamp", "2024-01-01 00:00:00+02"),
            "without a zone",
        ),
        host(
            "c_timestamp",
            of("timestamptz", "2024-01-01 00:00:00+02"),
            "given timestamptz, wanted timestamp",
        ),
        host(
            "c_int4s",
            of("int64-array", json!([1_i64 << 40])),
            "an element is out of range",
        ),
        host(
            "c_interval",
            other("inet", "10.0.0.1"),
            "given other (inet), wanted interval",
        ),
        host("c_float8", of("int64", i64::MAX), "too large to be exact"),
    ]
}

/// What only the server can tell.
fn refused_by_the_server() -> Vec<Misfit> {
    vec![
        ("c_date", of("date", "2024-02-30"), "sql-22008", ""),
        ("c_varchar", of("text", "sixsix"), "sql-22001", ""),
        ("c_money", of("numeric", "99999999999.00"), "sql-22003", ""),
        ("c_mood", of("text", "angry"), "sql-22P02", ""),
        ("c_json", of("json", "{"), "sql-22P02", ""),
        (
            "c_word",
            of("text", "far too long"),
            "sql-23514",
            "word_check",
        ),
        ("c_interval", other("interval", "a while"), "sql-22007", ""),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_value_that_does_not_fit_is_a_dead_letter_that_names_both_types() {
    let misfits = [
        refused_kinds(),
        refused_spellings(),
        refused_by_the_server(),
    ]
    .concat();
    let scene = Scene::new("values-misfit", 1, 1).await;
    scene.env.db.exec(TABLE).await;
    let insert = |column: &str| format!("INSERT INTO everything ({column}) VALUES ($1)");
    let modes = ["query", "execute", "stage"];
    let mut records: Vec<_> = misfits
        .iter()
        .enumerate()
        .map(|(n, (column, sent, ..))| {
            let step = json!({ "sql": insert(column), "params": [sent], "mode": modes[n % 3] });
            record(n, &json!([step]))
        })
        .collect();
    let too_few = json!([{ "sql": "SELECT $1::text, $2::text", "params": [of("text", "a")] }]);
    records.push(record(1_000, &too_few));
    let good =
        json!([{ "sql": insert("c_text"), "params": [of("text", "fine")], "mode": "stage" }]);
    records.push(record(1_001, &good));
    scene.produce(records).await;
    let _host = scene.run(scene.consumer("all-values").await).await;
    let rejected = i64::try_from(misfits.len()).unwrap() + 1;
    scene.wait_counts(done_and_rejected(1, rejected)).await;

    let letters = scene.letters().await;
    for (letter, (column, _, code, words)) in letters.iter().zip(&misfits) {
        assert_eq!(&letter.code, code, "{column}: {letter:?}");
        assert!(
            letter.message.contains(words),
            "{column}: {words}: {letter:?}"
        );
    }
    let last = letters.last().unwrap();
    assert_eq!(last.code, "bad-parameter");
    assert!(
        last.message.contains("2 parameters, 1 were given"),
        "{last:?}"
    );
    let sql = "SELECT count(*) FROM everything";
    assert_eq!(scene.env.db.query_one_i64(sql).await, 1);
}
