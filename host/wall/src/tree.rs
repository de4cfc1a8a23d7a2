//! A statement's tree in one uniform shape, so that walking it can leave nothing out.

mod build;
mod form;

pub(crate) use build::tree_of;
pub(crate) use form::form;

/// What stands in a field. Defaults (nothing, no, zero, empty) are left out of the tree.
#[derive(Debug)]
pub(crate) enum Value {
    Nothing,
    Flag,
    Number(i64),
    Text(String),
    List(Vec<Value>),
    Node(Box<Node>),
}

/// A node of the grammar.
#[derive(Debug)]
pub(crate) struct Node {
    /// The grammar's name for it.
    pub(crate) kind: &'static str,
    pub(crate) fields: Vec<(&'static str, Value)>,
}

impl Node {
    pub(crate) fn field(&self, name: &str) -> &Value {
        let found = self.fields.iter().find(|(field, _)| *field == name);
        found.map_or(&Value::Nothing, |(_, value)| value)
    }

    /// A text; empty where there is none.
    pub(crate) fn text(&self, name: &str) -> &str {
        match self.field(name) {
            Value::Text(text) => text,
            _ => "",
        }
    }

    /// A number, or a word of one of the grammar's enumerations; 0 where there is none.
    pub(crate) fn number(&self, name: &str) -> i64 {
        match self.field(name) {
            Value::Number(number) => *number,
            _ => 0,
        }
    }

    pub(crate) fn list(&self, name: &str) -> &[Value] {
        match self.field(name) {
            Value::List(items) => items,
            _ => &[],
        }
    }

    pub(crate) fn node(&self, name: &str) -> Option<&Node> {
        match self.field(name) {
            Value::Node(node) => Some(node),
            _ => None,
        }
    }

    /// The names in a list of them, such as `schema.function`. What is no name (a `*`, a subscript) is left out.
    pub(crate) fn names(&self, name: &str) -> Vec<&str> {
        let mut names = Vec::new();
        for item in self.list(name) {
            if let Value::Node(node) = item
                && node.kind == "String"
            {
                names.push(node.text("sval"));
            }
        }
        names
    }
}
