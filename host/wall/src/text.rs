//! What is looked at before the grammar: size, NUL, and the first keyword.

use crate::refused::Refused;
use crate::rules::Rules;

/// The words that a statement may begin with.
const FIRST_WORDS: [&str; 8] = [
    "SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "WITH", "VALUES", "TABLE",
];

/// The most symbols in a row: for each that begins an operator or a comment the grammar's scanner reads all that follow.
const MOST_SYMBOLS: usize = 512;

/// The most of a word that a message shows, in characters.
const SHOWN: usize = 32;

/// Refuses what need not, or must not, be given to the grammar. The first word decides the command, so whatever is
/// no query is refused by its name, in time that grows with the text alone.
pub(crate) fn check(sql: &str, rules: &Rules) -> Result<(), Refused> {
    if sql.len() > rules.max_bytes {
        let (long, most) = (sql.len(), rules.max_bytes);
        return Err(Refused::whole(format!(
            "the statement is {long} bytes long, {most} are allowed; pass values as parameters, and lists as arrays, or raise consumer.sql.max_bytes"
        )));
    }
    if let Some(at) = sql.find('\0') {
        return Err(Refused::at(
            sql,
            Some(at),
            "the statement holds a NUL character",
        ));
    }
    if let Some(at) = long_run(sql) {
        let reason = format!(
            "more than {MOST_SYMBOLS} symbols stand in a row; put spaces between operators, and nest no comments"
        );
        return Err(Refused::at(sql, Some(at), reason));
    }
    let keyword = first_word(sql);
    if FIRST_WORDS
        .iter()
        .any(|word| keyword.eq_ignore_ascii_case(word))
    {
        return Ok(());
    }
    Err(Refused::whole(match keyword {
        // A number, or letters of another alphabet, may be a value.
        word if word.is_empty() || !word.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_') => {
            format!("the statement does not begin with a keyword; {ALLOWED}")
        }
        keyword => not_allowed(keyword),
    }))
}

const ALLOWED: &str =
    "allowed are SELECT, INSERT, UPDATE, DELETE, MERGE, VALUES and WITH before them";

/// Where a run of symbols that is too long begins. A line of dashes is a comment and costs nothing.
fn long_run(sql: &str) -> Option<usize> {
    let bytes = sql.as_bytes();
    let is_symbol = |byte: &u8| b"~!@#^&|`?+-*/%<>=".contains(byte);
    let mut at = 0;
    for run in bytes.split_inclusive(|byte| !is_symbol(byte)) {
        if run.len() > MOST_SYMBOLS && !run.starts_with(b"--") {
            return Some(at);
        }
        at += run.len();
    }
    None
}

/// What is said of a statement that begins with this word.
fn not_allowed(keyword: &str) -> String {
    let shown = keyword.chars().take(SHOWN).collect::<String>();
    let shown = shown.to_ascii_uppercase();
    format!("{shown} is not allowed in a handler; {ALLOWED}")
}

/// The first word after white space, comments and opening parentheses; empty where there is none.
fn first_word(sql: &str) -> &str {
    let mut rest = sql;
    loop {
        let trimmed = rest.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c', '(']);
        rest = if let Some(comment) = trimmed.strip_prefix("--") {
            comment.find(['\n', '\r']).map_or("", |end| &comment[end..])
        } else if trimmed.starts_with("/*") {
            after_block_comment(trimmed)
        } else {
            let end = trimmed.find(|c: char| !is_word(c)).unwrap_or(trimmed.len());
            return &trimmed[..end];
        }
    }
}

/// What PostgreSQL would take into a word: a letter that is not ASCII continues one too, so `SELECTé` is no
/// SELECT.
fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$' || !c.is_ascii()
}

/// What follows a block comment, which may hold others; nothing where it does not end.
fn after_block_comment(sql: &str) -> &str {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_pass_and_all_else_is_named() {
        let rules = Rules::default();
        for sql in [
            "select 1",
            "\n\t /* a /* nested */ one */ -- and a line\n UPDATE t SET a = 1",
            "((SELECT 1)) UNION SELECT 2",
            "--\rVALUES (1)",
        ] {
            assert_eq!(check(sql, &rules), Ok(()), "{sql}");
        }
        for sql in [
            "/* SELECT */ rollback",
            "/* a /* b */ SELECT */ END",
            ";SELECT 1",
            "selectx 1",
            "SELECTé",
            "\u{a0}SELECT 1",
            "\"select\"",
            "/* SELECT 1",
            "/*/ SELECT 1",
            "-- SELECT 1",
            "",
            "SELECT '\0'",
        ] {
            assert!(check(sql, &rules).is_err(), "{sql}");
        }
        let error = check("/**/ commit;", &rules)
            .expect_err("refused")
            .to_string();
        assert!(
            error.starts_with("COMMIT is not allowed in a handler;"),
            "{error}"
        );
        for value in ["4111111111111111", "Grüße", "ada_1"] {
            let error = check(value, &rules).expect_err("refused").to_string();
            assert!(!error.contains(value) && !error.contains("4111"), "{error}");
        }
    }

    #[test]
    fn symbols_in_a_row_are_few() {
        let rules = Rules::default();
        for run in ["+", "/*", "-+", "*", "é+"] {
            let sql = format!("SELECT 1 {}", run.repeat(600));
            assert_eq!(check(&sql, &rules).is_err(), run != "é+", "{run}");
        }
        let dashes = format!("{}\nSELECT 1", "-".repeat(2000));
        assert_eq!(check(&dashes, &rules), Ok(()));
    }

    #[test]
    fn a_statement_may_be_so_long_and_no_longer() {
        let rules = Rules {
            max_bytes: 9,
            ..Rules::default()
        };
        assert_eq!(check("SELECT 12", &rules), Ok(()));
        let error = check("SELECT 123", &rules)
            .expect_err("refused")
            .to_string();
        assert!(error.contains("10 bytes long, 9 are allowed"), "{error}");
    }
}
