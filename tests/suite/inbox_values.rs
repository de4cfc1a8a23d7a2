//! Values: every type there and back, exactly.

use tidegate::inbox::Wall;
use tidegate_core::sql::{CallError, GuestSql, Value};

use super::inbox_support::{ask, db};

fn numeric(text: &str) -> Value {
    Value::Numeric(text.into())
}

fn other(type_name: &str, text: &str) -> Value {
    Value::Other {
        type_name: type_name.into(),
        text: text.into(),
    }
}

fn scalars() -> Vec<(&'static str, Value)> {
    vec![
        ("boolean", Value::Boolean(true)),
        ("smallint", Value::Int64(i64::from(i16::MIN))),
        ("integer", Value::Int64(i64::from(i32::MAX))),
        ("bigint", Value::Int64(i64::MIN)),
        ("real", Value::Float64(f64::from(f32::MIN_POSITIVE))),
        ("double precision", Value::Float64(f64::MAX)),
        ("double precision", Value::Float64(f64::NEG_INFINITY)),
        ("double precision", Value::Float64(5e-324)),
        (
            "numeric",
            numeric("-0.00000000000000000000000000000000000000012300"),
        ),
        (
            "numeric",
            numeric("123456789012345678901234567890123456789.10"),
        ),
        ("numeric", numeric("NaN")),
        ("numeric", numeric("-Infinity")),
        ("numeric", numeric("100000000")),
        ("text", Value::Text("ä\u{10FFFF}'\\".into())),
        ("varchar(9)", Value::Text(String::new())),
        ("char(3)", Value::Text("ab ".into())),
        ("\"char\"", Value::Text("x".into())),
        ("name", Value::Text("n".into())),
        ("mood", Value::Text("sad".into())),
        ("positive", Value::Int64(7)),
        ("word", Value::Text("hello".into())),
        ("bytea", Value::Bytes(vec![0, 255, 1])),
        (
            "uuid",
            Value::Uuid("00112233-4455-6677-8899-aabbccddeeff".into()),
        ),
        ("json", Value::Json("{\"b\": 1, \"a\":1.0}".into())),
        ("jsonb", Value::Json("{\"a\": 1.0, \"b\": 1}".into())),
    ]
}

fn times() -> Vec<(&'static str, Value)> {
    vec![
        ("date", Value::Date("0044-03-15 BC".into())),
        ("date", Value::Date("5874897-12-31".into())),
        ("date", Value::Date("infinity".into())),
        ("time", Value::Time("24:00:00".into())),
        ("time", Value::Time("23:59:59.999999".into())),
        (
            "timestamp",
            Value::Timestamp("294276-12-31 23:59:59.999999".into()),
        ),
        (
            "timestamp",
            Value::Timestamp("4713-01-01 00:00:00 BC".into()),
        ),
        ("timestamp", Value::Timestamp("-infinity".into())),
        (
            "timestamptz",
            Value::Timestamptz("1999-12-31 23:59:59.999999+00".into()),
        ),
        (
            "timestamptz",
            Value::Timestamptz("0001-01-01 00:00:00+00 BC".into()),
        ),
        ("timestamptz", Value::Timestamptz("infinity".into())),
    ]
}

fn compounds() -> Vec<(&'static str, Value)> {
    vec![
        (
            "bigint[]",
            Value::Int64Array(vec![Some(i64::MAX), None, Some(0)]),
        ),
        ("bigint[]", Value::Int64Array(vec![])),
        (
            "text[]",
            Value::TextArray(vec![
                Some("a,\"{}\\".into()),
                None,
                Some("NULL".into()),
                Some("".into()),
            ]),
        ),
        ("bigint[]", other("bigint[]", "{{1,2},{3,NULL}}")),
        ("bigint[]", other("bigint[]", "[0:1]={1,2}")),
        ("integer[]", other("integer[]", "{1,NULL}")),
        (
            "interval",
            other("interval", "1 year 2 mons 3 days 04:05:06.000001"),
        ),
        ("inet", other("inet", "10.0.0.0/8")),
        ("point", other("point", "(1,2)")),
        ("int4range", other("int4range", "[1,5)")),
        ("timetz", other("timetz", "10:00:00+02")),
        ("oid", other("oid", "4294967295")),
        ("numeric[]", other("numeric[]", "{1.50}")),
        ("pair", other("pair", "(1,a)")),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn every_type_goes_there_and_back() {
    let db = db(Wall::Grammar).await;
    db.run(
        "CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE DOMAIN positive AS int CHECK (value > 0)",
    )
    .await;
    db.run("CREATE DOMAIN word AS varchar(9); CREATE TYPE pair AS (a int, b text)")
        .await;
    for (i, (ty, value)) in [scalars(), times(), compounds()]
        .concat()
        .into_iter()
        .enumerate()
    {
        db.run(&format!("CREATE TABLE v{i} (v {ty})")).await;
        let (mut transaction, _) = db.open(0, vec![]).await;
        transaction.enter(0);
        let insert = format!("INSERT INTO v{i} VALUES ($1), (NULL) RETURNING v");
        let returned = ask(&mut transaction, &insert, vec![value.clone()])
            .await
            .expect(ty);
        assert_eq!(returned.rows, [[value.clone()], [Value::Null]], "{ty}");
        let null = ask(
            &mut transaction,
            &format!("INSERT INTO v{i} VALUES ($1)"),
            vec![Value::Null],
        )
        .await;
        assert!(null.is_ok(), "NULL as {ty}: {null:?}");
        let select = format!("SELECT v, 1 AS one FROM v{i} LIMIT 1 -- end");
        let selected = ask(&mut transaction, &select, vec![]).await.expect(ty);
        assert_eq!(selected.rows, [[value, Value::Int64(1)]], "{ty}");
        assert_eq!(selected.columns[1].name, "one");
        transaction.rollback().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_fit_is_refused_by_name() {
    let db = db(Wall::Grammar).await;
    let cases = [
        (
            "SELECT $1::smallint",
            Value::Int64(40_000),
            "given int64, wanted smallint: out of range",
        ),
        (
            "SELECT $1::bigint",
            Value::Text("7".into()),
            "given text, wanted bigint",
        ),
        (
            "SELECT $1::jsonb",
            Value::Text("{}".into()),
            "given text, wanted jsonb",
        ),
        (
            "SELECT $1::date",
            Value::Date("now".into()),
            "given date, wanted date: not YYYY-MM-DD",
        ),
        (
            "SELECT $1::uuid",
            Value::Uuid("x".into()),
            "given uuid, wanted uuid: not a UUID",
        ),
        (
            "SELECT $1::timestamp",
            Value::Timestamp("2024-01-01 00:00:00+02".into()),
            "without a zone",
        ),
    ];
    for (sql, value, words) in cases {
        let (mut transaction, _) = db.open(0, vec![]).await;
        transaction.enter(0);
        let error = ask(&mut transaction, sql, vec![value])
            .await
            .expect_err(sql);
        let CallError::Sql(error) = error else {
            panic!("the guest is told")
        };
        assert_eq!(error.code, "bad-parameter");
        assert!(
            error.message.contains("parameter $1") && error.message.contains(words),
            "{}",
            error.message
        );
        transaction.rollback().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_without_a_result_and_errors_of_every_class() {
    let db = db(Wall::Off).await;
    let (mut transaction, _) = db.open(0, vec![]).await;
    transaction.enter(0);
    let slept = ask(&mut transaction, "SELECT pg_sleep(0)", vec![])
        .await
        .expect("void");
    assert_eq!(slept.rows, [[Value::Null]]);
    transaction.rollback().await;
    let cases = [
        ("SELECT 1 / 0", "data", "22012"),
        ("SELECT * FROM missing", "other", "42P01"),
        ("SELECT 1; SELECT 2", "other", "42601"),
        ("INSERT INTO accounts VALUES (1, 1)", "constraint", "23505"),
        ("SELECT repeat('x', 2000000000)", "limit", "54000"),
    ];
    for (sql, code, sqlstate) in cases {
        let (mut transaction, _) = db.open(0, vec![]).await;
        transaction.enter(0);
        let error = ask(&mut transaction, sql, vec![]).await.expect_err(sql);
        let CallError::Sql(error) = error else {
            panic!("{sql}: the guest is told")
        };
        assert_eq!(
            (error.code.as_str(), error.sqlstate.as_deref()),
            (code, Some(sqlstate)),
            "{sql}"
        );
        assert!(
            !error.message.contains("(1)"),
            "no values of rows: {}",
            error.message
        );
        transaction.rollback().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_column_that_changes_its_type_blames_no_record() {
    let db = db(Wall::Grammar).await;
    db.run("CREATE TABLE v (v int)").await;
    let types = [
        ("int", Value::Int64(1)),
        ("text", Value::Text("a".into())),
        ("bigint", Value::Int64(1 << 40)),
    ];
    for (ty, value) in types {
        db.run(&format!("DROP TABLE v; CREATE TABLE v (v {ty})"))
            .await;
        let (mut transaction, _) = db.open(0, vec![]).await;
        transaction.enter(0);
        transaction
            .execute("INSERT INTO v VALUES ($1)".into(), vec![value])
            .await
            .expect(ty);
        transaction.rollback().await;
    }
}
