//! Relations, types, operators and schemas.

use super::{Found, Walk};
use crate::lists::{DENIED_TYPES, HOST_SCHEMA};
use crate::tree::{Node, Value};

impl Walk<'_> {
    /// A relation, or an alias where rows are locked.
    pub(super) fn relation(&self, node: &Node) -> Result<(), Found> {
        let (schema, name) = (node.text("schemaname"), node.text("relname"));
        if !node.text("catalogname").is_empty() {
            return self.refuse(format!(
                "relation {schema}.{name} is named with a database; leave that out"
            ));
        }
        self.schema_of(&[schema, name])?;
        if !matches!(node.text("relpersistence"), "" | "p") {
            return self
                .refuse("temporary and unlogged tables are not allowed in a handler".to_owned());
        }
        let is_system = match schema {
            "" => name.starts_with("pg_"),
            schema => schema.starts_with("pg_") || schema == "information_schema",
        };
        if is_system && !self.is_allowed_relation(schema, name) {
            let full = [schema, name].join(".");
            let full = full.trim_start_matches('.');
            return self.refuse(format!(
                "relation {full} is the system's; add it to consumer.sql.relations if handlers may read it"
            ));
        }
        Ok(())
    }

    fn is_allowed_relation(&self, schema: &str, name: &str) -> bool {
        let listed = &self.rules.relations;
        let schema = if schema.is_empty() {
            "pg_catalog"
        } else {
            schema
        };
        listed.contains(&format!("{schema}.{name}"))
            || (schema == "pg_catalog" && listed.contains(name))
    }

    /// What is named with the host's schema, in whatever spelling.
    pub(super) fn schema_of(&self, names: &[&str]) -> Result<(), Found> {
        let Some((name, schemas)) = names.split_last() else {
            return Ok(());
        };
        match schemas
            .iter()
            .any(|schema| schema.eq_ignore_ascii_case(HOST_SCHEMA))
        {
            true => self.refuse(format!(
                "{HOST_SCHEMA}.{name} is the host's own; handlers never reach it"
            )),
            false => Ok(()),
        }
    }

    pub(super) fn type_name(&self, node: &Node) -> Result<(), Found> {
        let names = node.names("names");
        self.schema_of(&names)?;
        let name = names.last().copied().unwrap_or_default();
        if matches!(node.field("setof"), Value::Flag)
            || matches!(node.field("pct_type"), Value::Flag)
        {
            return self.refuse(format!(
                "{name} is written as a function's type; name the type alone"
            ));
        }
        if DENIED_TYPES.contains(&name) {
            return self.refuse(format!(
                "type {name} is not allowed in a handler: it reads the system's catalogue"
            ));
        }
        if self.catalogue.volatile_types.contains(name) {
            return self.refuse(format!(
                "type {name} is not allowed in a handler: a volatile function reads, prints or converts its values"
            ));
        }
        Ok(())
    }

    /// A literal that names something of the host's, as the name of a relation or a type.
    pub(super) fn cast(&self, node: &Node) -> Result<(), Found> {
        let target = node.node("type_name").map(|name| name.names("names"));
        match target.as_deref().and_then(<[&str]>::last) {
            Some(&("regclass" | "regtype")) => self.literal(node.field("arg")),
            _ => Ok(()),
        }
    }

    /// Refuses a literal that begins with the host's schema.
    pub(super) fn literal(&self, value: &Value) -> Result<(), Found> {
        let Value::Node(node) = value else {
            return Ok(());
        };
        let text = match node.kind {
            "AConst" => node.node("val").map_or("", |val| val.text("sval")),
            "TypeCast" => return self.literal(node.field("arg")),
            _ => "",
        };
        let schema = text
            .split_once('.')
            .map(|(schema, _)| schema.trim().trim_matches('"'));
        self.schema_of(&[schema.unwrap_or_default(), "it"])
    }

    pub(super) fn operator(&self, names: &[&str]) -> Result<(), Found> {
        self.schema_of(names)?;
        let run: &[&str] = match names.last() {
            None => &[],
            Some(name) if name.contains("BETWEEN") => &["<", "<=", ">", ">="],
            Some(name) => &[name],
        };
        match run.iter().find(|name| self.catalogue.volatile_operators.contains(**name)) {
            Some(name) => self.refuse(format!(
                "operator {name} is not allowed in a handler: an operator of this name runs a volatile function"
            )),
            None => Ok(()),
        }
    }
}
