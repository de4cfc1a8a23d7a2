//! The allow-list in front of guest SQL: by the first keyword after comments.
//!
//! The extended protocol takes one statement a call, so the first keyword decides the command. Behind this
//! wall stands the last one: read-only sessions, the seal trigger and the proof of the final update.

/// What stands in front of guest SQL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wall {
    /// The allow-list of first keywords.
    #[default]
    Keywords,
    /// Nothing: for the test suite, which proves the walls behind.
    #[doc(hidden)]
    Off,
}

const ALLOWED: [&str; 7] = [
    "SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "WITH", "VALUES",
];

impl Wall {
    /// Refuses a statement that is not on the list. The error names the keyword and what is allowed.
    pub fn check(self, sql: &str) -> Result<(), String> {
        if self == Wall::Off {
            return Ok(());
        }
        if sql.contains('\0') {
            return Err("the statement holds a NUL character".to_owned());
        }
        let keyword = first_keyword(sql);
        if ALLOWED
            .iter()
            .any(|allowed| keyword.eq_ignore_ascii_case(allowed))
        {
            return Ok(());
        }
        let allowed = ALLOWED.join(", ");
        Err(match keyword {
            "" => format!("the statement does not begin with a keyword; allowed are {allowed}"),
            keyword => {
                let shown = keyword
                    .chars()
                    .take(32)
                    .collect::<String>()
                    .to_ascii_uppercase();
                format!("{shown} is not allowed in a handler; allowed are {allowed}")
            }
        })
    }
}

/// The first word after white space, comments and opening parentheses; empty where there is none.
fn first_keyword(sql: &str) -> &str {
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
    fn what_is_allowed_passes() {
        for sql in [
            "select 1",
            "\n\t /* a /* nested */ one */ -- and a line\n UPDATE t SET a = 1",
            "((SELECT 1)) UNION SELECT 2",
            "with x as (select 1) select * from x",
            "--\rVALUES (1)",
            "MERGE INTO t USING s ON true WHEN MATCHED THEN DELETE",
        ] {
            assert_eq!(Wall::Keywords.check(sql), Ok(()), "{sql}");
        }
    }

    #[test]
    fn what_ends_or_leaves_the_transaction_is_refused() {
        for sql in [
            "COMMIT",
            "/* SELECT */ rollback",
            "/* a /* b */ SELECT */ END",
            "-- SELECT\nSAVEPOINT a",
            ";COMMIT",
            ";SELECT 1",
            "SET ROLE postgres",
            "selectx 1",
            "SELECTé",
            "\u{a0}SELECT 1",
            "\"select\"",
            "/* SELECT 1",
            "/*/ SELECT 1",
            "-- SELECT 1",
            "",
            "COPY t FROM PROGRAM 'x'",
            "DO $$ BEGIN END $$",
            "CALL p()",
            "SELECT '\0'",
        ] {
            assert!(Wall::Keywords.check(sql).is_err(), "{sql}");
            assert_eq!(Wall::Off.check(sql), Ok(()));
        }
    }

    #[test]
    fn the_refusal_names_keyword_and_remedy() {
        let error = Wall::Keywords.check("/**/ commit;").expect_err("refused");
        assert!(
            error.starts_with("COMMIT is not allowed in a handler; allowed are SELECT,"),
            "{error}"
        );
    }
}
