//! Values: every type goes from the guest to the server and back, exactly; what does not fit is named.

mod cases;
mod mismatch;

use serde_json::{Value, json};
use tidegate_tests::Rec;

use crate::scene::{Scene, done_and_rejected};

const TABLE: &str = "
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN word AS text CHECK (length(VALUE) < 10);
CREATE DOMAIN percent AS integer CHECK (VALUE BETWEEN 0 AND 100);
CREATE TABLE everything (
    c_bool bool, c_int2 int2, c_int4 int4, c_int8 int8, c_float4 float4, c_float8 float8, c_numeric numeric,
    c_money numeric(12, 2), c_text text, c_varchar varchar(5), c_char char(5), c_mood mood, c_word word,
    c_percent percent, c_bytea bytea, c_uuid uuid, c_json json, c_jsonb jsonb, c_date date, c_time time,
    c_timestamp timestamp, c_timestamptz timestamptz, c_int8s int8[], c_int4s int4[], c_texts text[],
    c_interval interval, c_inet inet, c_point point, c_range int4range, c_oid oid, c_timetz timetz
);
CREATE TABLE results (\"offset\" bigint, step bigint, result text);";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_type_goes_to_the_server_and_back_exactly() {
    let cases = cases::all();
    let scene = Scene::new("values", 1, 1).await;
    scene.env.db.exec(TABLE).await;
    let records = cases.iter().enumerate().map(|(n, (column, sent, _))| {
        let sql = format!("INSERT INTO everything ({column}) VALUES ($1) RETURNING {column}");
        record(n, &json!([{ "sql": sql, "params": [sent] }]))
    });
    scene.produce(records.collect()).await;
    let host = scene.run(scene.consumer("all-values").await).await;
    let all = i64::try_from(cases.len()).unwrap();
    let counted = async || {
        let counts = scene.counts().await;
        (counts.done + counts.rejected == all).then_some(())
    };
    tidegate_tests::wait_for(crate::scene::PATIENCE, "all records", counted).await;
    assert_eq!(scene.letters().await, []);

    let rows = scene
        .env
        .db
        .query_text("SELECT result FROM results ORDER BY \"offset\"")
        .await;
    for (row, (column, sent, back)) in rows.iter().zip(&cases) {
        let result: Value = serde_json::from_str(row[0].as_deref().unwrap()).unwrap();
        let got = &result["rows"][0][0];
        assert_eq!(got, back.as_ref().unwrap_or(sent), "{column}");
    }
    assert_eq!(rows.len(), cases.len());
    drop(host);
}

/// What the guest stages arrives like what it awaits, and a parameter's type is what the statement makes of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn staged_parameters_and_casts_take_the_servers_type() {
    let scene = Scene::new("values-staged", 1, 1).await;
    scene.env.db.exec(TABLE).await;
    let steps = json!([
        {
            "sql": "INSERT INTO everything (c_int2, c_numeric, c_timestamptz, c_mood) VALUES ($1, $2, $3, $4)",
            "params": [of("int64", -32768), of("numeric", "-0.00010"),
                       of("timestamptz", "1969-12-31 23:59:59.999999-01"), of("text", "happy")],
            "mode": "stage", "expect": { "exactly": 1 },
        },
        { "sql": "SELECT c_int2, c_numeric::text, c_timestamptz, c_mood FROM everything" },
        { "sql": "SELECT $1::bigint + 1 AS n, $2 || 'b' AS t", "params": [of("int64", i64::MAX - 1), of("text", "a")] },
        { "sql": "UPDATE everything SET c_text = $1", "params": [of("text", "x")], "mode": "execute" },
        { "sql": "SELECT 1 AS a, 2 AS a WHERE false" },
    ]);
    scene.produce(vec![record(0, &steps)]).await;
    let _host = scene.run(scene.consumer("all-values").await).await;
    scene.wait_counts(done_and_rejected(1, 0)).await;
    let rows = scene
        .env
        .db
        .query_text("SELECT result FROM results ORDER BY step")
        .await;
    let results = rows.into_iter().map(|row| row[0].clone().unwrap());
    let results: Vec<Value> = results
        .map(|text| serde_json::from_str(&text).unwrap())
        .collect();
    let read = json!([[
        of("int64", -32768),
        of("text", "-0.00010"),
        of("timestamptz", "1970-01-01 00:59:59.999999+00"),
        of("text", "happy")
    ]]);
    assert_eq!(results[0]["rows"], read);
    let types = [
        ("c_int2", "smallint"),
        ("c_numeric", "text"),
        ("c_timestamptz", "timestamptz"),
        ("c_mood", "mood"),
    ];
    for (column, (name, type_name)) in types.iter().enumerate() {
        assert_eq!(
            results[0]["columns"][column],
            json!({ "name": name, "type": type_name })
        );
    }
    assert_eq!(
        results[1]["rows"],
        json!([[of("int64", i64::MAX), of("text", "ab")]])
    );
    assert_eq!(results[2], json!({ "count": 1 }));
    let empty = json!([{ "name": "a", "type": "integer" }, { "name": "a", "type": "integer" }]);
    assert_eq!(results[3], json!({ "columns": empty, "rows": [] }));
}

fn record(n: usize, steps: &Value) -> Rec {
    Rec::new(steps.to_string()).to(0).event_id(&format!("e{n}"))
}

/// A value of the contract, as `all-values` spells it.
fn of(case: &str, value: impl Into<Value>) -> Value {
    json!({ "type": case, "value": value.into() })
}

fn other(type_name: &str, text: &str) -> Value {
    of("other", json!({ "type_name": type_name, "text": text }))
}
