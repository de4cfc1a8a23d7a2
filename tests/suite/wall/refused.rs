//! What never reaches the server, by a judge that knows what a real one knows.

use std::collections::BTreeMap;

use tidegate_wall::{
    ALLOWED_VOLATILE, Catalogue, DENIED, DENIED_ENDINGS, DENIED_PREFIXES, Judge, NEVER,
    PREFIX_EXCEPTIONS, Traits,
};

use super::statements::STATEMENTS;
use crate::inbox_support::{connect, database};

const PLACES: &str = include_str!("../../../host/wall/src/walk/places.txt");
const SECURITY: &str = include_str!("../../../docs/security.md");
const SQL: &str = include_str!("../../../docs/sql.md");

/// Each name of the server's functions, and whether one of that name is volatile.
async fn functions() -> BTreeMap<String, bool> {
    let client = connect(&database().await).await;
    let sql = "SELECT proname::text, bool_or(provolatile = 'v') FROM pg_proc WHERE prokind <> 'p' GROUP BY 1";
    let rows = client.query(sql, &[]).await.expect("names");
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

fn catalogue(functions: &BTreeMap<String, bool>) -> Catalogue {
    let mut catalogue = Catalogue::default();
    for (name, volatile) in functions {
        let traits = Traits {
            volatile: *volatile,
            volatile_of_row: false,
        };
        catalogue.functions.insert(name.as_str().into(), traits);
    }
    catalogue
}

fn refusal(judge: &Judge, catalogue: &Catalogue, sql: &str) -> Option<String> {
    let verdict = judge.judge(sql, (catalogue, 1)).expect("a thread");
    verdict.err().map(|refused| refused.to_string())
}

/// Written down here once more, not taken from the wall: beginnings of names that reach beyond a value.
const REACHING: [&str; 8] = [
    "pg_",
    "lo_",
    "binary_upgrade_",
    "txid_",
    "has_",
    "inet_server",
    "inet_client",
    "database_to",
];

/// Names that begin so and do not.
const HARMLESS: [&str; 7] = [
    "pg_client_encoding",
    "pg_collation_for",
    "pg_column_compression",
    "pg_column_size",
    "pg_size_bytes",
    "pg_size_pretty",
    "pg_typeof",
];

/// Volatile functions that only give a value.
const GIVING: [&str; 5] = [
    "clock_timestamp",
    "gen_random_uuid",
    "nextval",
    "random",
    "timeofday",
];

#[tokio::test(flavor = "multi_thread")]
async fn every_function_of_the_server_is_harmless_by_rule_or_refused() {
    let functions = functions().await;
    let catalogue = catalogue(&functions);
    let judge = Judge::default();
    let places = PLACES.lines().collect::<Vec<_>>();
    let mut passed = 0;
    // Each in some of the places, so that all places have their turn with many names; with TIDEGATE_TEST_LONG in all.
    let step = match std::env::var_os("TIDEGATE_TEST_LONG") {
        Some(_) => 1,
        None => places.len().div_ceil(4),
    };
    for (n, (name, volatile)) in functions.iter().enumerate() {
        for place in places
            .iter()
            .cycle()
            .skip(n)
            .take(places.len())
            .step_by(step)
        {
            let sql = place.replace("{}", &format!("\"{name}\"(1)"));
            if refusal(&judge, &catalogue, &sql).is_some() {
                continue;
            }
            passed += 1;
            assert!(!volatile || GIVING.contains(&name.as_str()), "{sql}");
            let reaches = REACHING.iter().any(|part| name.starts_with(part));
            let is_harmless = HARMLESS.contains(&name.as_str()) || name == "pg_lsn";
            assert!(!reaches || is_harmless, "{sql}");
        }
    }
    assert!(passed > 2000, "most functions pass: {passed}");
    for place in places {
        let refused = refusal(&judge, &catalogue, &place.replace("{}", "pg_sleep(1)"));
        assert!(
            refused.is_some_and(|words| words.contains("pg_sleep")),
            "{place}"
        );
        let refused = refusal(
            &judge,
            &catalogue,
            &place.replace("{}", "pg_catalog.setseed(1)"),
        );
        assert!(
            refused.is_some_and(|words| words.contains("setseed")),
            "{place}"
        );
        assert_eq!(
            refusal(&judge, &catalogue, &place.replace("{}", "lower('a')")),
            None
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_known_way_out_is_refused_however_it_is_dressed() {
    let catalogue = catalogue(&functions().await);
    let judge = Judge::default();
    for (name, sql) in STATEMENTS {
        for dressed in [
            sql.to_owned(),
            format!("{sql};"),
            format!("/* SELECT 1 */ -- é\n\t{sql}"),
            format!("({sql})"),
            format!("SELECT 1; {sql}"),
            format!("{sql}; SELECT 1"),
            format!("WITH a AS ({sql}) SELECT 1"),
            format!("SELECT * FROM ({sql}) a"),
            format!("EXPLAIN {sql}"),
        ] {
            assert!(
                refusal(&judge, &catalogue, &dressed).is_some(),
                "{name}: {dressed}"
            );
        }
    }
}

/// What docs/security.md tells of with the check of statements off is refused with it on, but what it calls
/// harmless by right.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_last_wall_is_for_does_not_get_there() {
    let catalogue = catalogue(&functions().await);
    let judge = Judge::default();
    let tables = SECURITY.split("<!-- outcomes: ").skip(1);
    let rows = tables.flat_map(|table| table.lines().filter(|line| line.starts_with('|')));
    let mut seen = 0;
    for sql in rows.flat_map(|row| row.split('`').skip(1).step_by(2)) {
        seen += 1;
        let refused = refusal(&judge, &catalogue, sql);
        assert_eq!(
            refused.is_none(),
            sql == "SELECT * FROM effects FOR UPDATE",
            "{sql}: {refused:?}"
        );
    }
    assert!(seen > 90, "{seen}");
}

#[test]
fn the_lists_are_written_down() {
    for (names, title) in [
        (ALLOWED_VOLATILE, "allowed"),
        (NEVER, "never"),
        (DENIED, "denied"),
        (DENIED_PREFIXES, "beginnings"),
        (DENIED_ENDINGS, "endings"),
    ] {
        let table = SQL
            .split(&format!("<!-- list: {title} -->"))
            .nth(1)
            .expect(title);
        let rows = table
            .trim_start()
            .lines()
            .take_while(|line| line.starts_with('|'));
        let written = rows.skip(2).collect::<Vec<_>>();
        let meant = names
            .iter()
            .map(|(name, why)| format!("| `{name}` | {why} |"));
        assert_eq!(written, meant.collect::<Vec<_>>(), "{title}");
    }
    for name in PREFIX_EXCEPTIONS {
        assert!(SQL.contains(&format!("`{name}`")), "{name}");
    }
}
