//! The wall before guest SQL: what it lets pass is one statement of a kind that a handler may send.

use std::sync::LazyLock;

use pg_query::NodeEnum;
use tidegate_wall::{Catalogue, Judge, Refused, Traits};

/// Functions that are not volatile, and ones that are.
const CALM: [&str; 8] = [
    "lower",
    "count",
    "sum",
    "now",
    "generate_series",
    "unnest",
    "version",
    "current_setting",
];
const VOLATILE: [&str; 7] = [
    "pg_sleep",
    "lo_import",
    "nextval",
    "set_config",
    "dblink",
    "query_to_xml",
    "evil",
];

/// What turns any statement into one that no handler may send.
const AROUND: [(&str, &str); 8] = [
    ("", "\n;COMMIT"),
    ("COMMIT;", ""),
    ("EXPLAIN ANALYZE ", ""),
    ("PREPARE p AS ", ""),
    ("DECLARE c CURSOR FOR ", ""),
    ("CREATE TABLE t AS ", ""),
    ("COPY (", "\n) TO PROGRAM 'x'"),
    ("DO $_$", "\n$_$"),
];

/// What the names of relations out of reach begin with.
const HIDDEN: [&str; 4] = ["tidegate.", "pg_catalog.", "information_schema.", "pg_"];

/// The shortest literal that is looked for in refusals, in bytes.
const TELLING: usize = 12;

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
    let mut catalogue = Catalogue::default();
    for (names, volatile) in [(&CALM[..], false), (&VOLATILE, true)] {
        for name in names {
            let volatile_of_row = *name == "evil";
            let traits = Traits {
                volatile,
                volatile_of_row,
            };
            catalogue.functions.insert((*name).into(), traits);
        }
    }
    catalogue.volatile_operators.insert("<~>".into());
    catalogue.volatile_types.insert("nasty".into());
    catalogue
});

static JUDGE: LazyLock<Judge> = LazyLock::new(Judge::default);

fn judge(sql: &str) -> Result<(), std::sync::Arc<Refused>> {
    let read = JUDGE.judge(sql, (&CATALOGUE, 1));
    let verdict = read.expect("there is a thread to read it on");
    verdict.map(drop)
}

/// Any text.
pub(crate) fn wall(data: &[u8]) {
    let sql = String::from_utf8_lossy(data);
    let verdict = judge(&sql);
    if sql.len() < 10_000 {
        let commented = judge(&format!("/**/{sql}"));
        assert_eq!(verdict.is_ok(), commented.is_ok(), "a comment is nothing");
    }
    match verdict {
        Ok(()) => admitted(&sql),
        Err(refused) => {
            let reason = refused.to_string();
            assert!(!reason.is_empty() && reason.len() < 2000, "{reason}");
            let literals = sql.split('\'').skip(1).step_by(2);
            for literal in literals.filter(|literal| literal.len() >= TELLING) {
                let once = sql.matches(literal).count() == 1;
                assert!(!once || !reason.contains(literal), "{reason}");
            }
        }
    }
}

fn admitted(sql: &str) {
    assert!(!sql.contains('\0'));
    let parsed = pg_query::parse(sql, 0).unwrap();
    let [statement] = &parsed.protobuf.stmts[..] else {
        panic!("{} statements", parsed.protobuf.stmts.len());
    };
    let node = statement.stmt.as_ref().and_then(|stmt| stmt.node.as_ref());
    assert!(
        matches!(
            node,
            Some(
                NodeEnum::SelectStmt(_)
                    | NodeEnum::InsertStmt(_)
                    | NodeEnum::UpdateStmt(_)
                    | NodeEnum::DeleteStmt(_)
                    | NodeEnum::MergeStmt(_)
            )
        ),
        "{node:?}"
    );
    // By the library's own lists, which the wall does not use.
    assert!(parsed.ddl_tables().is_empty());
    for function in parsed.functions() {
        let name = function.rsplit('.').next().unwrap_or_default();
        let reads_more = name == "current_setting";
        assert!(!VOLATILE.contains(&name) && !reads_more, "{function}");
    }
    for table in parsed.tables() {
        let away = HIDDEN.iter().any(|start| table.starts_with(start));
        assert!(!away, "{table}");
    }
    for (before, after) in AROUND {
        let whole = format!("{before}{sql}{after}");
        assert!(judge(&whole).is_err(), "{whole}");
    }
}
