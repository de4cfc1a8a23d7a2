//! Why a statement is refused, and where in it.

/// A place in a statement, both from 1; the column counts characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The character in it.
    pub column: usize,
}

impl Position {
    /// The place of a byte; the end of the statement for one beyond it.
    pub(crate) fn of(sql: &str, byte: usize) -> Self {
        let before = sql.get(..byte).unwrap_or(sql);
        let line = before.rsplit('\n').next().unwrap_or_default();
        Self {
            line: before.matches('\n').count() + 1,
            column: line.chars().count() + 1,
        }
    }
}

/// A refusal. It names what is refused and the remedy, and never a value of the statement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Refused {
    /// What is wrong, and what to do about it.
    pub reason: String,
    /// Where; none for what concerns the whole statement.
    pub position: Option<Position>,
    /// It holds only because the catalogue does not know a name: a newer one may.
    pub unknown: bool,
}

impl Refused {
    /// One that concerns the whole statement.
    pub(crate) fn whole(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            position: None,
            unknown: false,
        }
    }

    /// One about what stands at a byte of the statement.
    pub(crate) fn at(sql: &str, byte: Option<usize>, reason: impl Into<String>) -> Self {
        Self {
            position: byte.map(|byte| Position::of(sql, byte)),
            ..Self::whole(reason)
        }
    }
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.reason)?;
        match self.position {
            Some(Position { line, column }) => write!(f, " (line {line}, column {column})"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_told_in_lines_and_characters() {
        let sql = "SELECT 'é',\n  pg_sleep(1)";
        let at = sql.find("pg_sleep");
        let refused = Refused::at(sql, at, "no");
        assert_eq!(refused.to_string(), "no (line 2, column 3)");
        assert_eq!(
            Position::of(sql, 11),
            Position {
                line: 1,
                column: 11
            }
        );
        assert_eq!(Position::of(sql, 9000).line, 2);
    }
}
