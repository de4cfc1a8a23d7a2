//! Walks a statement's whole tree: every node's kind must be known, and every name it holds is looked at.

mod functions;
mod names;
mod relations;

use crate::catalogue::Catalogue;
use crate::lists::{KINDS, NEW_SYNTAX};
use crate::parse::too_deep;
use crate::rules::Rules;
use crate::tree::{Node, Value};

pub(crate) use relations::written;

/// What is wrong, and at which byte of the text.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) reason: String,
    pub(crate) at: Option<usize>,
    /// A newer catalogue may know the name.
    pub(crate) unknown: bool,
}

/// Looks at every node of a tree.
///
/// # Errors
/// The first that is not allowed.
pub(crate) fn walk(tree: &Node, rules: &Rules, catalogue: &Catalogue) -> Result<(), Found> {
    let mut walk = Walk {
        rules,
        catalogue,
        depth: 0,
        at: None,
    };
    walk.node(tree, "")
}

struct Walk<'a> {
    rules: &'a Rules,
    catalogue: &'a Catalogue,
    depth: usize,
    /// Where the latest node that has a place stands.
    at: Option<usize>,
}

impl Walk<'_> {
    /// A node under a parent of this kind.
    fn node(&mut self, node: &Node, parent: &str) -> Result<(), Found> {
        if self.depth > self.rules.max_depth {
            return self.refuse(format!("{} (consumer.sql.max_depth)", too_deep()));
        }
        if let Ok(at) = usize::try_from(node.number("location"))
            && at > 0
        {
            self.at = Some(at);
        }
        self.kind(node)?;
        self.names(node)?;
        self.depth += 1;
        for (field, value) in &node.fields {
            self.value(value, (node.kind, field, parent))?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// What stands in a field, named by its node's kind, its own name and the kind of the node above.
    fn value(&mut self, value: &Value, place: (&str, &str, &str)) -> Result<(), Found> {
        match value {
            Value::Node(node) => self.node(node, place.0),
            Value::List(items) => {
                for item in items {
                    match item {
                        Value::Nothing if !may_be_empty(place) => {
                            return self
                                .refuse("the statement holds a node that is not known".to_owned());
                        }
                        item => self.value(item, place)?,
                    }
                }
                Ok(())
            }
            Value::Nothing | Value::Flag | Value::Number(_) | Value::Text(_) => Ok(()),
        }
    }

    fn kind(&self, node: &Node) -> Result<(), Found> {
        let kind = node.kind;
        if KINDS.binary_search(&kind).is_err() {
            return self.refuse(match kind {
                "CurrentOfExpr" => {
                    "WHERE CURRENT OF is not allowed in a handler: there are no cursors".to_owned()
                }
                "IntoClause" => {
                    "SELECT INTO is not allowed in a handler: it creates a table".to_owned()
                }
                kind => format!("{kind} is not allowed in a handler"),
            });
        }
        let calls = NEW_SYNTAX.iter().find(|(new, _)| *new == kind);
        for name in calls.map_or(&[][..], |(_, names)| names) {
            self.not_volatile(name)?;
        }
        Ok(())
    }

    fn names(&mut self, node: &Node) -> Result<(), Found> {
        match node.kind {
            "RangeVar" => self.relation(node),
            "FuncCall" => self.function(node),
            "SqlValueFunction" => self.session_value(node),
            "TypeName" => self.type_name(node),
            "TypeCast" => self.cast(node),
            "ColumnRef" => self.column(node),
            "AIndirection" => self.attributes(&node.names("indirection")),
            "AExpr" => self.operator(&node.names("name")),
            "SubLink" => self.operator(&node.names("oper_name")),
            "SortBy" => self.operator(&node.names("use_op")),
            "CollateClause" => self.schema_of(&node.names("collname")),
            "IndexElem" => {
                self.schema_of(&node.names("opclass"))?;
                self.schema_of(&node.names("collation"))
            }
            "RangeTableSample" => self.sampling(&node.names("method")),
            _ => Ok(()),
        }
    }

    fn refuse<T>(&self, reason: String) -> Result<T, Found> {
        Err(Found {
            reason,
            at: self.at,
            unknown: false,
        })
    }
}

/// Where the grammar itself leaves an item of a list empty: a plain DISTINCT, and a function of FROM without columns
/// of its own. Anywhere else an empty item is a node that the library could not tell.
fn may_be_empty(place: (&str, &str, &str)) -> bool {
    matches!(
        place,
        ("SelectStmt", "distinct_clause", _) | ("List", "items", "RangeFunction")
    )
}

#[cfg(test)]
mod kinds;
#[cfg(test)]
mod tests;
