//! The last wall, with the check of statements switched off: what the table in docs/security.md says that each statement
//! comes to is what happens.

use tidegate::inbox::{Begun, Wall};
use tidegate_core::failure::{Broken, Failure};
use tidegate_core::sql::{Expectation, GuestSql};

use super::inbox_role::{Roles, guest, roles};
use super::inbox_support::{Db, finish, hour};

const DOCS: &str = include_str!("../../docs/security.md");

/// The rows of a table: each statement, and what it comes to.
fn rows(table: &str) -> Vec<(String, String)> {
    let start = format!("<!-- outcomes: {table} -->");
    let (_, rest) = DOCS.split_once(&start).expect("the table");
    let lines = rest
        .trim_start()
        .lines()
        .take_while(|line| line.starts_with('|'));
    let mut rows = Vec::new();
    for line in lines.skip(2) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [_, statements, outcome] = cells[..] else {
            panic!("three cells: {line}")
        };
        for sql in statements.split('`').skip(1).step_by(2) {
            rows.push((sql.to_owned(), outcome.to_owned()));
        }
    }
    rows
}

fn outcome(committed: &Result<(), Broken>) -> &'static str {
    match committed {
        Ok(()) => "harmless",
        Err(broken) => match &broken.failure {
            Failure::Escape { .. } => "exposed",
            Failure::Sql { sqlstate, .. } if sqlstate == "42501" => "no right",
            Failure::Sql { .. } => "refused",
            other => panic!("{other:?}"),
        },
    }
}

/// A guest's write and the statement, on a connection of their own; all of it or nothing is committed.
async fn runs(roles: &Roles, sql: &str, staged: bool, at: i64) -> Result<(), Broken> {
    let head = roles.db.head(at, vec![hour(&format!("e{at}"), at)]);
    let Ok(Begun::Open(mut transaction, _)) = roles.db.inbox.begin(&head, true).await else {
        panic!("not open")
    };
    transaction.run_by(guest(Some(&roles.one)));
    transaction.enter(at);
    let write = "INSERT INTO effects SELECT current_user, 1";
    for statement in [write, sql] {
        let (statement, none) = (statement.to_owned(), Vec::new());
        if staged {
            transaction
                .stage(statement, none, Expectation::Any)
                .await
                .ok();
        } else {
            transaction.execute(statement, none).await.ok();
        }
    }
    transaction.commit(finish(at + 1)).await.map(drop)
}

async fn state(db: &Db) -> [i64; 4] {
    [
        db.number("SELECT count(*) FROM effects").await,
        db.number("SELECT next_offset FROM tidegate.progress").await,
        db.number("SELECT count(*) FROM tidegate.processed_events")
            .await,
        db.number("SELECT begun - sealed FROM tidegate.progress")
            .await,
    ]
}

async fn prepared(hardened: bool) -> Roles {
    let roles = roles(Wall::Off).await;
    let one = &roles.one;
    roles
        .db
        .run(&format!(
            "CREATE TABLE effects (who text, n int);
             GRANT SELECT, INSERT, UPDATE, DELETE ON effects TO {one};
             CREATE PROCEDURE nothing() LANGUAGE plpgsql AS $$ BEGIN NULL; END $$;
             CREATE PROCEDURE commits() LANGUAGE plpgsql AS $$ BEGIN COMMIT; END $$"
        ))
        .await;
    if hardened {
        let admin = super::inbox_support::config(&roles.db.url);
        let admin = tidegate::inbox::Inbox::new(&admin, Wall::Off).expect("an inbox");
        let names = [roles.one.as_str(), roles.two.as_str()];
        let measures = admin
            .measures(&roles.login, &names)
            .await
            .expect("measures");
        admin.take(&measures).await.expect("taken");
        assert_eq!(
            admin.measures(&roles.login, &names).await.expect("none"),
            []
        );
    }
    roles
}

async fn table_holds(roles: &Roles, table: &str) {
    let (mut at, mut wrong) = (0, Vec::new());
    for (sql, said) in rows(table) {
        for staged in [false, true] {
            let before = state(&roles.db).await;
            let end = runs(roles, &sql, staged, at).await;
            let (happened, after) = (outcome(&end), state(&roles.db).await);
            if happened != said {
                wrong.push(format!("{sql} (staged: {staged}): {happened}, {end:?}"));
            }
            let expected = match end {
                Ok(()) => [before[0] + 1, before[1] + 1, before[2] + 1, 0],
                Err(_) => before,
            };
            assert_eq!(after, expected, "{sql}: all of it or nothing");
            at += i64::from(end.is_ok());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_hardened_database_each_statement_comes_to_what_is_written() {
    assert!(rows("hardened").len() >= 76, "{}", rows("hardened").len());
    table_holds(&prepared(true).await, "hardened").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_plain_database_each_statement_comes_to_what_is_written() {
    table_holds(&prepared(false).await, "plain").await;
}
