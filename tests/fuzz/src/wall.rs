//! The wall before guest SQL: what it lets pass is one statement of a kind that a handler may send, whatever
//! stands around it.

use std::sync::OnceLock;

use tidegate_wall::{Catalogue, Judge, Rules, Traits};

/// Functions of the catalogue here, and whether they are volatile.
const FUNCTIONS: [(&str, bool); 8] = [
    ("lower", false),
    ("count", false),
    ("now", false),
    ("generate_series", false),
    ("current_setting", false),
    ("set_config", true),
    ("pg_sleep", true),
    ("random", true),
];

/// Any text, as the judge of the default rules sees it.
pub(crate) fn wall(data: &[u8]) {
    static COURT: OnceLock<(Judge, Catalogue)> = OnceLock::new();
    let (judge, catalogue) = COURT.get_or_init(court);
    let sql = String::from_utf8_lossy(data);
    let admits = |sql: &str| judge.glance(sql).is_ok() && judge.judge(sql, (catalogue, 1)).is_ok();
    let admitted = admits(&sql);
    if sql.len() < 10_000 {
        let commented = admits(&format!("/**/{sql}"));
        assert_eq!(commented, admitted, "a comment changes nothing");
    }
    if admitted {
        harmless(&sql);
    }
}

fn court() -> (Judge, Catalogue) {
    let mut catalogue = Catalogue::default();
    for (name, volatile) in FUNCTIONS {
        let traits = Traits {
            volatile,
            volatile_of_row: false,
        };
        catalogue.functions.insert(name.into(), traits);
    }
    (Judge::new(Rules::default()), catalogue)
}

/// By the letters alone: it begins with a word that a handler's statement may begin with, wherever white space,
/// comments and parentheses end.
fn harmless(sql: &str) {
    assert!(!sql.contains('\0'));
    let word = first_word(sql).to_ascii_uppercase();
    let data = [
        "SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "WITH", "VALUES", "TABLE",
    ];
    assert!(data.contains(&&*word), "{sql}");
}

fn first_word(sql: &str) -> &str {
    let space = [' ', '\t', '\n', '\r', '\x0b', '\x0c', '(', ';'];
    let mut rest = sql;
    loop {
        rest = rest.trim_start_matches(space);
        if let Some(comment) = rest.strip_prefix("--") {
            rest = comment.find(['\n', '\r']).map_or("", |end| &comment[end..]);
        } else if rest.starts_with("/*") {
            rest = behind_comment(rest);
        } else {
            let end = rest.find(|c: char| !c.is_ascii_alphabetic());
            return &rest[..end.unwrap_or(rest.len())];
        }
    }
}

/// What follows a block comment, which may hold others.
fn behind_comment(sql: &str) -> &str {
    let bytes = sql.as_bytes();
    let (mut at, mut depth) = (0, 0_usize);
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => (depth, at) = (depth + 1, at + 2),
            b"*/" => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return &sql[at..];
        }
    }
    ""
}
