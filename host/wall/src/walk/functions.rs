//! Functions, however they are called.

use super::{Found, Walk};
use crate::lists::{ALLOWED_VOLATILE, NEVER, SYNTAX_FUNCTIONS, denied, reason_of};
use crate::tree::Node;

/// SESSION_USER.
const SESSION_USER: i64 = pg_query::protobuf::SqlValueFunctionOp::SvfopSessionUser as i64;

/// What to do where a function is harmless.
const REMEDY: &str = "add it to consumer.sql.functions if it is safe in a handler";

impl Walk<'_> {
    pub(super) fn function(&mut self, node: &Node) -> Result<(), Found> {
        let names = node.names("funcname");
        self.schema_of(&names)?;
        let Some(name) = names.last() else {
            return self.refuse("a function has no name".to_owned());
        };
        if *name == "nextval" {
            for argument in node.list("args") {
                self.literal(argument)?;
            }
        }
        if names[0] == "pg_catalog" && SYNTAX_FUNCTIONS.contains(name) {
            // The grammar names them so for its own syntax; not every server has all of them.
            return Ok(());
        }
        self.called(name)
    }

    /// A function that is called by this name.
    fn called(&self, name: &str) -> Result<(), Found> {
        if let Some(why) = reason_of(NEVER, name) {
            return self.refuse(format!(
                "function {name} is not allowed in a handler: it {why}"
            ));
        }
        if self.rules.functions.contains(name) {
            return Ok(());
        }
        if let Some(why) = denied(name) {
            return self.refuse(format!(
                "function {name} is not allowed in a handler: it {why}; {REMEDY}"
            ));
        }
        match self.catalogue.function(name) {
            Some(_) => self.not_volatile(name),
            None => Err(self.unknown(name)),
        }
    }

    fn unknown(&self, name: &str) -> Found {
        Found {
            reason: format!(
                "there is no function of the name {name}, by what the host knows of the server; a type's name is cast to by CAST or ::"
            ),
            at: self.at,
            unknown: true,
        }
    }

    /// Refuses a function where one of its name is volatile.
    pub(super) fn not_volatile(&self, name: &str) -> Result<(), Found> {
        let traits = self.catalogue.function(name).unwrap_or_default();
        let allowed =
            reason_of(ALLOWED_VOLATILE, name).is_some() || self.rules.functions.contains(name);
        match traits.volatile && !allowed {
            true => self.refuse(format!(
                "function {name} is not allowed in a handler: one of this name is volatile, it may do more than give a value; {REMEDY}"
            )),
            false => Ok(()),
        }
    }

    pub(super) fn session_value(&self, node: &Node) -> Result<(), Found> {
        match node.number("op") {
            SESSION_USER => self.called("session_user"),
            _ => Ok(()),
        }
    }

    /// `t.name`: a column, or a function of the row.
    pub(super) fn column(&self, node: &Node) -> Result<(), Found> {
        match node.names("fields").as_slice() {
            [] | [_] => Ok(()),
            [.., name] => self.attributes(&[name]),
        }
    }

    /// `(...).name`: a field, or a function of the row.
    pub(super) fn attributes(&self, names: &[&str]) -> Result<(), Found> {
        let calls = |name: &&&str| {
            let traits = self.catalogue.function(name).unwrap_or_default();
            traits.volatile_of_row && !self.rules.functions.contains(**name)
        };
        match names.iter().find(calls) {
            Some(name) => self.refuse(format!(
                ".{name} is not allowed in a handler: it may call function {name}, which is volatile, with the row; {REMEDY}"
            )),
            None => Ok(()),
        }
    }

    /// What chooses a sample's rows.
    pub(super) fn sampling(&self, names: &[&str]) -> Result<(), Found> {
        self.schema_of(names)?;
        match names.last() {
            Some(&("bernoulli" | "system")) => Ok(()),
            Some(name) if self.rules.functions.contains(*name) => Ok(()),
            name => {
                let name = name.copied().unwrap_or_default();
                self.refuse(format!(
                    "the sampling method {name} is not allowed in a handler; {REMEDY}"
                ))
            }
        }
    }
}
