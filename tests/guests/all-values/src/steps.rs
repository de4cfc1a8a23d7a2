//! One statement to run:
//! `{"sql", "params": [value], "mode": "query" | "execute" | "stage", "expect", "on_error": "record"}`.

use guest_common::{Expectation, Failure, ResultSet, SqlError, db, reject_sql};
use serde_json::{Value as Json, json};

use crate::spelling::Spelled;

#[derive(serde::Deserialize)]
pub struct Step {
    sql: String,
    #[serde(default)]
    params: Vec<Spelled>,
    #[serde(default)]
    mode: Mode,
    #[serde(default)]
    expect: Expect,
    /// `record` writes an error down instead of rejecting the record with it.
    on_error: Option<String>,
}

#[derive(Default, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Mode {
    #[default]
    Query,
    Execute,
    Stage,
}

/// `"any"`, `{"exactly": n}` or `{"at-least": n}`
#[derive(Clone, Copy, Default, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Expect {
    #[default]
    Any,
    Exactly(u32),
    AtLeast(u32),
}

impl Step {
    /// Runs it; a staged statement has no result.
    pub fn run(self) -> Result<Option<Json>, Failure> {
        let params: Vec<_> = self.params.into_iter().map(Spelled::into_value).collect();
        let answer = match self.mode {
            Mode::Query => db::query(&self.sql, &params).map(result_set),
            Mode::Execute => db::execute(&self.sql, &params).map(|rows| json!({ "count": rows })),
            Mode::Stage => {
                db::stage(&self.sql, &params, self.expect.into());
                return Ok(None);
            }
        };
        let record = self.on_error.as_deref() == Some("record");
        answer
            .or_else(|e| {
                if record {
                    Ok(sql_error(e))
                } else {
                    Err(reject_sql(e))
                }
            })
            .map(Some)
    }
}

impl From<Expect> for Expectation {
    fn from(expect: Expect) -> Self {
        match expect {
            Expect::Any => Self::Any,
            Expect::Exactly(n) => Self::Exactly(n),
            Expect::AtLeast(n) => Self::AtLeast(n),
        }
    }
}

/// `{"columns": [{"name", "type"}], "rows": [[value]]}`
fn result_set(result: ResultSet) -> Json {
    let columns = result
        .columns
        .into_iter()
        .map(|c| json!({ "name": c.name, "type": c.type_name }));
    let spell = |row: Vec<_>| row.into_iter().map(Spelled::from_value).collect::<Vec<_>>();
    let rows = result.rows.into_iter().map(spell);
    json!({ "columns": columns.collect::<Vec<_>>(), "rows": rows.collect::<Vec<_>>() })
}

/// `{"error": {"code", "sqlstate", "message", "constraint"}}`
fn sql_error(error: SqlError) -> Json {
    json!({ "error": {
        "code": error.code,
        "sqlstate": error.sqlstate,
        "message": error.message,
        "constraint": error.constraint,
    } })
}
