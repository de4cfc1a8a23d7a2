//! Values that the server or an extension refuses with codes that else stop a partition: a record whose statement works for
//! others is itself at fault.

mod missing;

use serde_json::{Value, json};
use tidegate_tests::{Rec, Server, ServerSpec};

use crate::scene::{PATIENCE, Scene};

/// How the value gets to the server.
#[derive(Clone, Copy)]
enum Way {
    /// As a literal: the text is another one each time, and the server refuses to read it.
    Literal,
    /// As a parameter of this type.
    Bound(&'static str),
    /// As a parameter that is text, which the statement casts or hands on.
    Text,
}
use Way::{Bound, Literal, Text};

/// The statement (`?` is the value), the way, a good value and a bad one, and the SQLSTATE.
type Case = (&'static str, Way, &'static str, &'static str, &'static str);

const CASES: &[Case] = &[
    ("SELECT ?::hstore", Literal, "a=>1", "a=>", "XX000"),
    ("SELECT ?::hstore", Bound("hstore"), "a=>1", "a=>", "XX000"),
    ("SELECT ?::ltree", Literal, "a.b", "a..b", "42601"),
    ("SELECT ?::ltree", Bound("ltree"), "a.b", "a..b", "42601"),
    ("SELECT ?::lquery", Literal, "a.*", "a..b", "42601"),
    ("SELECT ?::lquery", Bound("lquery"), "a.*", "a..b", "42601"),
    ("SELECT ?::ltxtquery", Literal, "a & b", "a &", "42601"),
    ("SELECT (?::query_int)::text", Literal, "1&2", "1&", "42601"),
    (
        "SELECT (?::query_int)::text",
        Bound("query_int"),
        "1&2",
        "1&",
        "42601",
    ),
    ("SELECT (?::seg)::text", Literal, "1 .. 2", "x", "42601"),
    (
        "SELECT (?::seg)::text",
        Bound("seg"),
        "1 .. 2",
        "x",
        "42601",
    ),
    (
        "SELECT (?::text)::float8::numeric::bigint",
        Text,
        "1",
        "NaN",
        "0A000",
    ),
    (
        "SELECT (?::text)::numeric::int",
        Text,
        "1",
        "infinity",
        "0A000",
    ),
    ("SELECT ?::numeric::bigint", Literal, "1", "NaN", "0A000"),
    (
        "SELECT extract(epoch FROM (?::text)::timestamp)::bigint",
        Text,
        "2024-01-01",
        "infinity",
        "0A000",
    ),
    (
        "SELECT date_trunc(?::text, now())",
        Text,
        "day",
        "timezone",
        "0A000",
    ),
    (
        "SELECT ((?::text)::regclass)::text",
        Text,
        "pg_class",
        "a.b.c",
        "0A000",
    ),
    (
        "SELECT ?::regclass::text",
        Literal,
        "pg_class",
        "a.b.c",
        "0A000",
    ),
    (
        "SELECT ?::regclass::text",
        Literal,
        "pg_class",
        "nowhere",
        "42P01",
    ),
    (
        "SELECT xpath(?::text, '<a/>')::text",
        Text,
        "/a",
        "///",
        "XX000",
    ),
    ("SELECT to_number('1', ?::text)", Text, "9", "EEEE", "0A000"),
    (
        "SELECT convert_from('x', (?::text)::name)",
        Text,
        "UTF8",
        "MULE_INTERNAL",
        "42883",
    ),
    (
        "SELECT array_position((?::text)::int[], 1)",
        Text,
        "{1}",
        "{{1}}",
        "0A000",
    ),
    (
        "SELECT to_tsquery('simple', ?::text)",
        Text,
        "a & b",
        "a b",
        "42601",
    ),
];

const EXTENSIONS: &str = "CREATE EXTENSION hstore; CREATE EXTENSION ltree; CREATE EXTENSION intarray; CREATE EXTENSION seg;
    CREATE TABLE results (\"offset\" bigint, step bigint, result text)";

/// Records of each case: one is bad.
const RECORDS: usize = 20;

fn step((sql, way, ..): &Case, value: &str, mode: &str) -> Value {
    let (sql, params) = match way {
        Literal => (sql.replace('?', &format!("'{value}'")), json!([])),
        Bound(name) => {
            let value = json!({ "type_name": name, "text": value });
            (
                sql.replace('?', "$1"),
                json!([{ "type": "other", "value": value }]),
            )
        }
        Text => (
            sql.replace('?', "$1"),
            json!([{ "type": "text", "value": value }]),
        ),
    };
    json!([{ "sql": sql, "params": params, "mode": mode }])
}

fn record(n: usize, case: &Case, value: &str) -> Rec {
    let mode = ["stage", "execute", "query"][n % 3];
    Rec::new(step(case, value, mode).to_string()).to(i32::try_from(n).unwrap())
}

/// One bad value among good ones, a kind of it in each partition: at the beginning, in the middle, at the end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_value_is_one_letter_and_the_others_are_handled() {
    // What others do to roles of the run's server changes the schema of all its databases.
    let server = Server::start(ServerSpec {
        name: "values-refused".to_owned(),
        ..ServerSpec::default()
    })
    .await;
    let partitions = i32::try_from(CASES.len()).unwrap();
    let scene = Scene::on("values-refused", partitions, 1, Some(&server)).await;
    scene.env.db.exec(EXTENSIONS).await;
    let mut records = Vec::new();
    let mut wanted = Vec::new();
    for (n, case) in CASES.iter().enumerate() {
        let (_, _, good, bad, sqlstate) = case;
        let at = [0, RECORDS / 2, RECORDS - 1][n % 3];
        for offset in 0..RECORDS {
            let value = if offset == at { bad } else { good };
            records.push(record(n, case, value).event_id(&format!("{n}-{offset}")));
        }
        wanted.push((n, at, format!("sql-{sqlstate}")));
    }
    scene.produce(records).await;
    let consumer = scene.consumer("all-values").await.set("brake", "off");
    let host = scene.run(consumer).await;
    let bad = i64::from(partitions);
    let all = bad * i64::try_from(RECORDS).unwrap();
    tidegate_tests::wait_eq(PATIENCE, "records that are over", all, async || {
        let counts = scene.counts().await;
        counts.done + counts.rejected
    })
    .await;
    let letters = scene.letters().await.into_iter();
    let letters = letters.map(|letter| {
        let place = |n: i64| usize::try_from(n).unwrap();
        (
            place(letter.partition.into()),
            place(letter.offset),
            letter.code,
        )
    });
    assert_eq!(letters.collect::<Vec<_>>(), wanted);
    assert_eq!(host.terminate().await, 0);
}
