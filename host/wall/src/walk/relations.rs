//! Which relations a statement writes to.

use crate::tree::{Node, Value};

/// The statements that write; each may stand in a WITH.
const WRITING: [&str; 4] = ["DeleteStmt", "InsertStmt", "MergeStmt", "UpdateStmt"];

/// Schema (empty where there is none) and name of each relation that is written to, in a tree that was walked, and so is not
/// too deep.
pub(crate) fn written(tree: &Node) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    look_at(tree, &mut found);
    found
}

fn look_at<'a>(node: &'a Node, found: &mut Vec<(&'a str, &'a str)>) {
    if WRITING.contains(&node.kind)
        && let Some(relation) = node.node("relation")
    {
        found.push((relation.text("schemaname"), relation.text("relname")));
    }
    for (_, value) in &node.fields {
        look_into(value, found);
    }
}

fn look_into<'a>(value: &'a Value, found: &mut Vec<(&'a str, &'a str)>) {
    match value {
        Value::Node(node) => look_at(node, found),
        Value::List(items) => items.iter().for_each(|item| look_into(item, found)),
        Value::Nothing | Value::Flag | Value::Number(_) | Value::Text(_) => {}
    }
}
