//! What a consumer's configuration adds to the wall, and how large a statement may be.

use std::collections::BTreeSet;

use crate::lists::{HOST_SCHEMA, NEVER, reason_of};

/// The largest `max_bytes`.
pub const MAX_BYTES_BOUND: usize = 1024 * 1024;

/// The largest `max_depth`: what reads the grammar's tree goes no deeper.
pub const MAX_DEPTH_BOUND: usize = 90;

/// Rules for the statements of one consumer's handlers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rules {
    /// Names of functions that are allowed whatever the lists and the server say of them.
    pub functions: BTreeSet<String>,
    /// Names of system relations that may be read, such as `pg_class` or `information_schema.columns`.
    pub relations: BTreeSet<String>,
    /// The longest statement, in bytes.
    pub max_bytes: usize,
    /// The deepest nesting of expressions, joins and subqueries.
    pub max_depth: usize,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            functions: BTreeSet::new(),
            relations: BTreeSet::new(),
            max_bytes: 64 * 1024,
            max_depth: 48,
        }
    }
}

/// Why a name cannot be allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRule {
    /// The name is none.
    #[error("{0:?} is no name; write it as PostgreSQL keeps it, without quotes and arguments")]
    NoName(String),
    /// A function that would take the wall down.
    #[error("{0} cannot be allowed: it {1}")]
    Never(String, &'static str),
    /// A relation of the host.
    #[error("{0:?} is the host's own; handlers never reach it")]
    HostRelation(String),
}

impl Rules {
    /// Allows a function, by its name without a schema.
    ///
    /// # Errors
    /// What is no name, and functions that no configuration can allow.
    pub fn allow_function(&mut self, name: &str) -> Result<(), BadRule> {
        let bad = |c: char| c.is_whitespace() || "\"().;,".contains(c);
        if name.is_empty() || name.contains(bad) {
            return Err(BadRule::NoName(name.to_owned()));
        }
        if let Some(why) = reason_of(NEVER, name) {
            return Err(BadRule::Never(name.to_owned(), why));
        }
        self.functions.insert(name.to_owned());
        Ok(())
    }

    /// Allows a system relation, by its name with or without the schema.
    ///
    /// # Errors
    /// What is no name, and relations of the host.
    pub fn allow_relation(&mut self, name: &str) -> Result<(), BadRule> {
        let bad = |c: char| c.is_whitespace() || "\"();,".contains(c);
        let parts = name.split('.').collect::<Vec<_>>();
        if name.contains(bad) || parts.len() > 2 || parts.iter().any(|part| part.is_empty()) {
            return Err(BadRule::NoName(name.to_owned()));
        }
        if parts.len() == 2 && parts[0].eq_ignore_ascii_case(HOST_SCHEMA) {
            return Err(BadRule::HostRelation(name.to_owned()));
        }
        self.relations.insert(name.to_owned());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_as_postgresql_keeps_them() {
        let mut rules = Rules::default();
        for name in ["pg_notify", "Überall", "has$money"] {
            assert_eq!(rules.allow_function(name), Ok(()));
        }
        for name in ["", "a b", "f()", "public.f", "\"f\"", "f;"] {
            assert!(rules.allow_function(name).is_err(), "{name}");
        }
        for name in ["pg_class", "information_schema.columns"] {
            assert_eq!(rules.allow_relation(name), Ok(()));
        }
        for name in [
            "",
            "a.b.c",
            ".",
            "a.",
            "tidegate.progress",
            "Tidegate.x",
            "a b",
        ] {
            assert!(rules.allow_relation(name).is_err(), "{name}");
        }
        assert_eq!((rules.functions.len(), rules.relations.len()), (3, 2));
    }

    #[test]
    fn what_takes_the_wall_down_cannot_be_allowed() {
        for name in ["set_config", "query_to_xml", "ts_stat", "pg_advisory_lock"] {
            let refused = Rules::default().allow_function(name);
            assert!(matches!(refused, Err(BadRule::Never(..))), "{name}");
        }
    }
}
