//! What is remembered, how much of it, and what large and deep statements come to.

use super::*;
use crate::testing::{judged, passes, refusal, verdict};
use crate::{MAX_BYTES_BOUND, MAX_DEPTH_BOUND};

#[test]
fn a_text_is_parsed_once_and_again_by_another_catalogue() {
    let judge = Judge::default();
    for sql in ["SELECT 1", "SELECT pg_sleep(1)"] {
        let first = judged(&judge, sql, 1);
        let parses = judge.parses();
        for _ in 0..100 {
            assert_eq!(judge.remembered(sql, 1), Some(first.clone()));
        }
        assert_eq!(judge.parses(), parses);
        assert_eq!(judge.remembered(sql, 2), None);
    }
    judged(&judge, "SELECT 2", 2).expect("fine");
    assert_eq!(
        judge.remembered("SELECT 1", 2),
        None,
        "it was judged by the older one"
    );
    assert_eq!(judge.remembers().0, 1);
    // One that was slow, by the older one.
    judged(&judge, "SELECT 1", 1).expect("fine");
    assert_eq!(judge.remembered("SELECT 1", 2), None);
}

#[test]
fn an_admitted_statement_tells_which_constraints_wait_for_its_records_end() {
    let mut known = crate::testing::catalogue();
    let of = |names: &[&str]| names.iter().map(|name| Box::from(*name)).collect();
    let at = |schema: &str, name: &str| (Box::from(schema), Box::from(name));
    known.search_path = of(&["near", "far"]);
    known
        .deferred
        .insert(at("near", "t"), of(&["near.b", "near.a"]));
    known.deferred.insert(at("far", "t"), of(&["far.c"]));
    known
        .deferred
        .insert(at("far", "u"), of(&["far.c", "far.d"]));
    let judge = Judge::default();
    let deferred = |sql: &str| {
        let verdict = judge.judge(sql, (&known, 1)).expect("a thread");
        let deferred = verdict.expect(sql).deferred;
        deferred.map(|list| list.to_string())
    };
    let some = |list: &str| Some(list.to_owned());
    assert_eq!(deferred("INSERT INTO t VALUES (1)"), some("near.a, near.b"));
    assert_eq!(deferred("UPDATE far.t SET a = 1"), some("far.c"));
    assert_eq!(deferred("DELETE FROM u"), some("far.c, far.d"));
    let both = "WITH w AS (INSERT INTO t VALUES (1) RETURNING a) UPDATE u SET a = 1";
    assert_eq!(deferred(both), some("far.c, far.d, near.a, near.b"));
    let merge = "MERGE INTO u USING t ON t.a = u.a WHEN MATCHED THEN DELETE";
    assert_eq!(deferred(merge), some("far.c, far.d"));
    assert_eq!(deferred("INSERT INTO v SELECT a FROM t"), None);
}

#[test]
fn what_hangs_on_an_unknown_name_is_not_remembered() {
    let judge = Judge::default();
    let refused = judged(&judge, "SELECT nobody(1)", 1).expect_err("unknown");
    assert!(
        refused.unknown
            && refused
                .to_string()
                .contains("no function of the name nobody")
    );
    assert_eq!(judge.remembers(), (0, 0));
}

#[test]
fn verdicts_are_bounded_by_number_and_by_bytes() {
    let judge = Judge::default();
    for n in 0..10_000 {
        judged(&judge, &format!("SELECT {n}"), 1).expect("fine");
    }
    let (texts, bytes) = judge.remembers();
    assert_eq!(texts, MOST_TEXTS);
    assert!(bytes < MOST_TEXTS * 12, "{bytes}");
    let filler = "x".repeat(60_000);
    for n in 0..300 {
        judged(&judge, &format!("SELECT '{filler}', {n}"), 1).expect("fine");
    }
    let (texts, bytes) = judge.remembers();
    assert!(
        bytes <= MOST_BYTES && texts >= 100,
        "{texts} texts of {bytes} bytes"
    );
}

#[test]
fn depth_is_bounded_and_told() {
    let chain = |n: usize| format!("SELECT {}", vec!["1"; n].join(" + "));
    passes(&chain(40));
    for n in [50, 100, 1000, 15_000] {
        let refused = refusal(&chain(n));
        assert!(refused.contains("nested too deep"), "{n}: {refused}");
    }
    let union = |n: usize| vec!["SELECT 1"; n].join(" UNION ALL ");
    passes(&union(40));
    assert!(refusal(&union(60)).contains("max_depth"));
    let deepest = Judge::new(Rules {
        max_depth: MAX_DEPTH_BOUND,
        ..Rules::default()
    });
    assert!(judged(&deepest, &union(80), 1).is_ok());
    // Long, and not deep.
    passes(&format!(
        "SELECT 1 WHERE {}",
        vec!["true"; 2000].join(" AND ")
    ));
    passes(&format!("VALUES {}", vec!["(1, 'a')"; 2000].join(", ")));
    passes(&format!("SELECT 1 IN ({})", vec!["$1"; 2000].join(", ")));
}

/// Statements of a megabyte that go deep in all the ways that the grammar has.
fn monsters() -> Vec<String> {
    let fill = |open: &str, middle: &str, close: &str| {
        let n = (MAX_BYTES_BOUND - 200) / (open.len() + close.len());
        format!("SELECT {}{middle}{}", open.repeat(n), close.repeat(n))
    };
    vec![
        fill("(", "1", ")"),
        fill("(", "", ""),
        fill("NOT ", "true", ""),
        fill("- ", "1", ""),
        fill("1+", "1", ""),
        fill("1 IS NULL IS NULL AND NOT ", "true", ""),
        fill("(SELECT ", "1", ")"),
        fill("ARRAY[", "1", "]"),
        fill("[", "1", "]"),
        fill("CASE WHEN true THEN ", "1", " END"),
        fill("lower(", "'a'", ")"),
        fill("(1,", "1", ")"),
        fill("CAST(", "1", " AS int)"),
        fill("'a'::text||", "'b'", ""),
        fill("x'0'::", "int", ""),
        fill("a[1].", "b", ""),
        fill("a.", "b", ""),
        fill("/*", "", "*/"),
        fill("/*", "", ""),
        fill("+", "1", ""),
        fill("+-", "1", ""),
        fill("* /", "1", ""),
        fill(&format!("{}, ", "i".repeat(100)), "1", ""),
        fill("'a' \\n", "'b'", ""),
        fill("E'\\\\'||", "'b'", ""),
        fill("$a$ $b$", "", ""),
        fill("U&'\\\\+00006' ", "", ""),
        fill("$$", "", ""),
        fill("1 UNION SELECT ", "1", ""),
        fill("1 FROM (SELECT ", "1", ") q"),
        fill("1 UNION (SELECT ", "1", ")"),
        fill("1,", "1", ""),
        fill("1;SELECT ", "1", ""),
        fill("'", "'", ""),
        fill("U&\"\\0061\".", "b", ""),
        format!(
            "SELECT * FROM {}",
            vec!["a"; 50_000].join(" JOIN b ON c JOIN ")
        ),
        format!(
            "SELECT 1 FROM {}a{}",
            "(".repeat(500_000),
            ")".repeat(500_000)
        ),
        format!("WITH {} SELECT 1", "x AS (WITH ".repeat(90_000)),
    ]
}

#[test]
fn a_megabyte_of_nesting_ends_in_a_verdict_on_a_common_stack() {
    let judge = Judge::new(Rules {
        max_bytes: MAX_BYTES_BOUND,
        max_depth: MAX_DEPTH_BOUND,
        ..Rules::default()
    });
    for monster in monsters() {
        assert!(monster.len() <= MAX_BYTES_BOUND);
        let shown = monster.chars().take(40).collect::<String>();
        if let Err(refused) = judged(&judge, &monster, 1) {
            assert!(refused.to_string().len() < 400, "{shown}: {refused}");
        }
        assert!(
            verdict(&monster).is_err(),
            "by default it is too long: {shown}"
        );
    }
}
