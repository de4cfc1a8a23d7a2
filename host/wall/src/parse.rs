//! One text through PostgreSQL's grammar.

use std::sync::{Mutex, PoisonError};

use crate::refused::Refused;
use crate::tree::{Node, Value, tree_of};

/// One text at a time in a process: a tree takes up to about a thousand times the memory of its text.
static READING: Mutex<()> = Mutex::new(());

/// The stack that a tree as deep as can be read needs, and much more: decoding one takes more than the usual 2 MiB.
pub(crate) const STACK: usize = 32 * 1024 * 1024;

/// The most of the grammar's message that is shown, in characters.
const SHOWN: usize = 160;

/// The tree of a text that holds one statement. Needs a stack of [`STACK`] bytes.
///
/// # Errors
/// What the grammar does not read, several statements, none, and trees deeper than can be read.
pub(crate) fn parse(sql: &str) -> Result<Box<Node>, Refused> {
    let read = {
        let _alone = READING.lock().unwrap_or_else(PoisonError::into_inner);
        pg_query::parse(sql, 0)
    };
    let message = read.map_err(|error| unreadable(&error))?.protobuf;
    let [statement] = message.stmts.as_slice() else {
        let statements = message.stmts.len();
        return Err(Refused::whole(format!(
            "the text holds {statements} statements; one a call is allowed"
        )));
    };
    match tree_of(statement) {
        Ok(Value::Node(node)) => Ok(node),
        Ok(_) => Err(Refused::whole("the statement has no tree")),
        Err(error) => Err(Refused::whole(error.to_string())),
    }
}

/// What the library says of trees that it cannot hold.
const TOO_DEEP: [&str; 3] = ["stack depth", "nested too deeply", "memory exhausted"];

fn unreadable(error: &pg_query::Error) -> Refused {
    Refused::whole(match error {
        pg_query::Error::Decode(_) => too_deep(),
        pg_query::Error::Parse(message) if TOO_DEEP.iter().any(|deep| message.contains(deep)) => {
            too_deep()
        }
        pg_query::Error::Parse(message) => {
            format!("PostgreSQL's grammar does not read it: {}", shown(message))
        }
        other => format!(
            "the statement cannot be read: {}",
            shown(&other.to_string())
        ),
    })
}

/// What is said of trees deeper than can be read.
pub(crate) fn too_deep() -> String {
    "the statement is nested too deep; join long chains of operators otherwise, for example by arrays".to_owned()
}

/// The grammar's message, without the literal that it may name: that may be a value.
fn shown(message: &str) -> String {
    const NEAR: &str = " at or near \"";
    let message = match message.split_once(NEAR) {
        Some((_, token)) if is_plain(token.trim_end_matches('"')) => message,
        Some((what, _)) => &format!("{what} at a literal or at its end"),
        None => message,
    };
    message.chars().take(SHOWN).collect()
}

/// A word of the grammar, or one symbol: no literal, no rest of the statement, and no name, which may be a value whose
/// quotes went wrong.
fn is_plain(token: &str) -> bool {
    let mut chars = token.chars();
    match (chars.next(), chars.as_str()) {
        (Some(c), "") if c.is_ascii_punctuation() => !"'\"$".contains(c),
        (Some(_), _) => is_keyword(token),
        (None, _) => false,
    }
}

fn is_keyword(token: &str) -> bool {
    let is_word = token.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_');
    let scanned = is_word.then(|| pg_query::scan(token).ok()).flatten();
    let none = pg_query::protobuf::KeywordKind::NoKeyword as i32;
    scanned.is_some_and(|scanned| matches!(&scanned.tokens[..], [one] if one.keyword_kind != none))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(sql: &str) -> String {
        parse(sql).expect_err("refused").to_string()
    }

    #[test]
    fn one_statement_and_one_semicolon_are_read() {
        for sql in [
            "SELECT 1",
            "SELECT 1;",
            "SELECT 1 ; -- that was it",
            ";;SELECT 1;;",
        ] {
            assert_eq!(parse(sql).expect(sql).kind, "RawStmt", "{sql}");
        }
        assert!(refusal("SELECT 1; SELECT 2").contains("2 statements"));
        assert!(refusal("-- nothing").contains("0 statements"));
    }

    #[test]
    fn messages_name_words_and_no_literals() {
        let error = refusal("SELECT FROM WHERE GROUP");
        assert!(error.contains("syntax error at or near"), "{error}");
        for sql in [
            "SELECT 1 'secret'",
            "SELECT 1 /* secret",
            "SELECT 'a'secret x'",
            "SELECT 1 /*secret 12345",
            "SELECT 1 12345",
            "SELECT a b 'secret",
            "SELECT 1 E'secret'",
            "SELECT 1 b'secret'",
            "SELECT 1 N'secret'",
            "SELECT 1 U&'secret'",
        ] {
            let error = refusal(sql);
            assert!(
                !error.contains("secret") && !error.contains("12345"),
                "{error}"
            );
        }
    }
}
