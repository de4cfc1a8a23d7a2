//! What passes and what is refused, wherever in a statement it stands.

use proptest::prelude::*;

use crate::testing::{passes, refusal, verdict};
use crate::{Judge, Rules};

/// Every place of a statement where an expression can stand; `{}` is the expression.
fn places() -> Vec<&'static str> {
    include_str!("places.txt").lines().collect()
}

fn at(place: &str, expression: &str) -> String {
    place.replace("{}", expression)
}

#[test]
fn a_volatile_function_is_refused_in_every_place_and_a_calm_one_in_none() {
    for place in places() {
        passes(&at(place, "lower('a')"));
        let refused = refusal(&at(place, "evil(1)"));
        assert!(
            refused.contains("function evil is not allowed"),
            "{place}: {refused}"
        );
    }
}

#[test]
fn what_is_no_function_is_refused_in_every_place_too() {
    for (wrong, word) in [
        ("(SELECT 1 FROM tidegate.progress)", "host's own"),
        ("(SELECT 1 FROM \"Tidegate\".progress)", "host's own"),
        ("(SELECT 1 FROM pg_settings)", "the system's"),
        ("(SELECT 1 FROM information_schema.tables)", "the system's"),
        ("(1 <~> 2)", "operator <~>"),
        ("('x'::nasty)", "type nasty"),
        ("('x'::tidegate.kind)", "host's own"),
        ("(SESSION_USER::text)", "session_user"),
        ("(q).evil", ".evil"),
        ("(q.evil)", ".evil"),
    ] {
        for place in places() {
            let refused = refusal(&at(place, wrong));
            assert!(refused.contains(word), "{place}, {wrong}: {refused}");
        }
    }
}

#[test]
fn a_refusal_names_the_place() {
    let refused = refusal("SELECT a,\n  pg_sleep(1)");
    assert!(refused.ends_with("(line 2, column 3)"), "{refused}");
    let refused = refusal("SELECT 1 FROM pg_class");
    assert!(refused.ends_with("(line 1, column 15)"), "{refused}");
    assert!(refused.contains("consumer.sql.relations"), "{refused}");
}

#[test]
fn functions_are_judged_by_the_lists_before_the_servers_word() {
    for sql in [
        "SELECT random(), nextval('orders_id_seq'), pg_catalog.gen_random_uuid(), now()",
        "SELECT public.lower('a'), CURRENT_USER, CURRENT_DATE, LOCALTIME(3), CURRENT_SCHEMA",
        "SELECT EXTRACT(year FROM now()), TRIM('a'), NORMALIZE('a')",
        "SELECT 'accounts'::regclass, $1::int[], (now() AT TIME ZONE 'UTC')::date",
    ] {
        passes(sql);
    }
    for (sql, word) in [
        ("SELECT version()", "which server"),
        ("SELECT current_setting('x')", "settings"),
        ("SELECT table_to_xml('t', true, true, '')", "whole tables"),
        ("SELECT pg_anything()", "changes the server"),
        ("SELECT set_config('role', 'postgres', true)", "guarantees"),
        ("SELECT pg_catalog.SET_CONFIG('a', 'b', true)", "guarantees"),
        ("SELECT U&\"pg_sl\\0065ep\"(1)", "pg_sleep"),
        ("SELECT tidegate.lower('a')", "host's own"),
        ("SELECT nextval('tidegate.x_seq')", "host's own"),
        (
            "SELECT nextval('\"tidegate\".x_seq'::regclass)",
            "host's own",
        ),
        ("SELECT 'tidegate.progress'::regclass", "host's own"),
        ("SELECT $1::regrole", "regrole"),
        ("SELECT nobody(1)", "no function of the name nobody"),
        ("SELECT 1 FROM t TABLESAMPLE evil (1)", "sampling method"),
        ("SELECT COLLATION FOR ('a')", "no function"),
    ] {
        let refused = refusal(sql);
        assert!(refused.contains(word), "{sql}: {refused}");
    }
}

#[test]
fn a_configuration_adds_functions_and_relations_and_never_the_worst() {
    let mut rules = Rules::default();
    for name in ["pg_notify", "evil", "version"] {
        rules.allow_function(name).expect("allowed");
    }
    rules.allow_relation("pg_class").expect("allowed");
    rules
        .allow_relation("information_schema.tables")
        .expect("allowed");
    // As if the configuration had no check.
    rules.functions.insert("set_config".to_owned());
    let judge = Judge::new(rules);
    let judged = |sql: &str| crate::testing::judged(&judge, sql, 1);
    for sql in [
        "SELECT pg_notify('a', 'b'), evil(1), version(), q.evil FROM q",
        "SELECT 1 FROM pg_class, pg_catalog.pg_class c, information_schema.tables",
    ] {
        assert_eq!(judged(sql).map(drop), Ok(()), "{sql}");
    }
    for sql in [
        "SELECT pg_sleep(1)",
        "SELECT 1 FROM pg_settings",
        "SELECT 1 FROM information_schema.columns",
        "SELECT set_config('a', 'b', true)",
        "SELECT tidegate.evil(1)",
    ] {
        assert!(judged(sql).is_err(), "{sql}");
    }
}

#[test]
fn statements_that_are_no_queries_hide_nowhere() {
    for (sql, word) in [
        ("SELECT 1 INTO x", "SELECT INTO"),
        ("SELECT 1 INTO TEMP x FROM t", "SELECT INTO"),
        ("WITH a AS (SELECT 1 INTO x) SELECT 1", "SELECT INTO"),
        ("UPDATE t SET a = 1 WHERE CURRENT OF c", "CURRENT OF"),
        ("SELECT 1; COMMIT", "2 statements"),
        ("WITH a AS (COMMIT) SELECT 1", "does not read"),
        ("SELECT 1 FROM shop.public.t", "with a database"),
        ("TABLE tidegate.progress", "host's own"),
        ("INSERT INTO tidegate.progress DEFAULT VALUES", "host's own"),
        ("DELETE FROM ONLY tidegate.progress", "host's own"),
        (
            "MERGE INTO tidegate.progress p USING t ON true WHEN MATCHED THEN DELETE",
            "host's own",
        ),
        ("SELECT 1 FROM t FOR UPDATE OF pg_class", "the system's"),
        ("SELECT 1 OPERATOR(tidegate.+) 2", "host's own"),
        ("SELECT a COLLATE tidegate.x FROM t", "host's own"),
        (
            "INSERT INTO t VALUES (1) ON CONFLICT (a tidegate.ops) DO NOTHING",
            "host's own",
        ),
    ] {
        let refused = refusal(sql);
        assert!(refused.contains(word), "{sql}: {refused}");
    }
    for sql in [
        "TABLE t",
        "SELECT * FROM t, u FOR UPDATE OF t SKIP LOCKED",
        "SELECT DISTINCT a FROM t",
        "SELECT count(*) FROM ONLY t",
        "SELECT * FROM generate_series(1, 2) AS g(a)",
        "SELECT * FROM json_object('{}') AS x(a int, b text)",
        "INSERT INTO t DEFAULT VALUES ON CONFLICT DO NOTHING",
        "INSERT INTO t (a) OVERRIDING SYSTEM VALUE VALUES (DEFAULT)",
        "WITH RECURSIVE c AS (SELECT 1 AS a UNION SELECT a + 1 FROM c) SEARCH DEPTH FIRST BY a SET o SELECT 1 FROM c",
        "MERGE INTO t USING s ON true WHEN NOT MATCHED THEN INSERT DEFAULT VALUES RETURNING merge_action()",
        "SELECT a[1], a[1:2], (b).c, (b).*, t.* FROM t",
        "SELECT E'\\'', $$it's$$, $x$pg_sleep(1)$x$, U&'\\0061', B'01', X'ff', 'pg_sleep(1)' -- pg_sleep(1)",
        "SELECT 1 /* SELECT pg_sleep(1) */;",
    ] {
        passes(sql);
    }
}

/// A way to write a call of a function.
fn spelling(name: &'static str) -> impl Strategy<Value = String> {
    (0..6_usize, "[ \n\t]{0,2}(/\\*x\\*/)?(--y\n)?").prop_map(move |(way, gap)| {
        let name = match way {
            0 => name.to_owned(),
            1 => name.to_uppercase(),
            2 => format!("\"{name}\""),
            3 => format!("public.{name}"),
            4 => format!("\"public\"{gap}.{gap}{name}"),
            _ => format!(
                "U&\"\\{:04x}{}\"",
                u32::from(name.as_bytes()[0]),
                &name[1..]
            ),
        };
        format!("{name}{gap}(1)")
    })
}

proptest! {
    /// However deep in places that are put into one another, the call is found, and without it nothing is.
    #[test]
    fn a_call_is_found_however_it_is_wrapped(
        places in proptest::collection::vec(prop::sample::select(places()), 1..5),
        (evil, calm) in (spelling("evil"), spelling("lower")),
    ) {
        let (mut with, mut without) = (evil, calm);
        for (n, place) in places.iter().enumerate() {
            // Only queries fit into others.
            let is_query = place.starts_with("SELECT") || place.starts_with("VALUES");
            let last = n + 1 == places.len();
            if !is_query && !last {
                continue;
            }
            (with, without) = (at(place, &with), at(place, &without));
            if !last {
                (with, without) = (format!("({with})"), format!("({without})"));
            }
        }
        prop_assert!(verdict(&with).is_err_and(|refused| refused.reason.contains("evil")), "{}", with);
        prop_assert_eq!(verdict(&without).map(drop), Ok(()), "{}", without);
    }

    /// No text makes it fail otherwise than by a verdict.
    #[test]
    fn any_text_has_a_verdict(sql in "(SELECT|WITH|UPDATE|VALUES)?[ -~\u{0}é\n]{0,80}") {
        if let Err(refused) = verdict(&sql) {
            prop_assert!(!refused.reason.is_empty());
        }
    }
}
