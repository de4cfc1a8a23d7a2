//! Runs the record's value as SQL, by the mode in the header `mode`: `query`, `execute` (the default) or
//! `stage`. A line `;;` parts several statements. On an error it rejects with the SQLSTATE, or with the
//! error's own code where there is none.

use guest_common::{Event, Expectation, Failure, Guest, Outcome, db, reject_sql, value};

struct Sql;

impl Guest for Sql {
    fn handle(event: Event) -> Result<Outcome, Failure> {
        let text = String::from_utf8_lossy(value(&event));
        for sql in text.split("\n;;\n") {
            run(sql, mode(&event))?;
        }
        Ok(Outcome::Done)
    }
}

fn mode(event: &Event) -> &[u8] {
    let header = event.headers.iter().find(|h| h.name == "mode");
    header
        .and_then(|h| h.value.as_deref())
        .unwrap_or(b"execute")
}

fn run(sql: &str, mode: &[u8]) -> Result<(), Failure> {
    match mode {
        b"query" => db::query(sql, &[]).map(drop).map_err(reject_sql),
        b"stage" => {
            db::stage(sql, &[], Expectation::Any);
            Ok(())
        }
        _ => db::execute(sql, &[]).map(drop).map_err(reject_sql),
    }
}

guest_common::export!(Sql);
