//! A number of a tree's form: trees that differ in constants and places alone have the same.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::{Node, Value};

/// The kind of node that a constant is.
const CONSTANT: &str = "AConst";

/// The form of a tree that was walked, and so is not too deep.
pub(crate) fn form(tree: &Node) -> u64 {
    let mut hasher = DefaultHasher::new();
    node(tree, &mut hasher);
    hasher.finish()
}

fn node(of: &Node, hasher: &mut DefaultHasher) {
    of.kind.hash(hasher);
    if of.kind == CONSTANT {
        return;
    }
    let fields = of.fields.iter().filter(|(name, _)| !is_place(name));
    for (name, of) in fields {
        name.hash(hasher);
        value(of, hasher);
    }
    // So that what follows is known to be no field of it.
    0_u8.hash(hasher);
}

/// Where something stands in the text, and how long it is.
fn is_place(field: &str) -> bool {
    field.ends_with("location") || field == "stmt_len"
}

fn value(of: &Value, hasher: &mut DefaultHasher) {
    match of {
        Value::Nothing => 1_u8.hash(hasher),
        Value::Flag => 2_u8.hash(hasher),
        Value::Number(number) => (3_u8, number).hash(hasher),
        Value::Text(text) => (4_u8, text).hash(hasher),
        Value::List(items) => {
            (5_u8, items.len()).hash(hasher);
            items.iter().for_each(|item| value(item, hasher));
        }
        Value::Node(of) => node(of, hasher),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse;

    fn of(sql: &str) -> u64 {
        form(&parse(sql).expect(sql))
    }

    #[test]
    fn texts_that_differ_in_constants_alone_have_one_form() {
        for (one, other) in [
            ("SELECT 'a=>1'::hstore", "SELECT  'a=>'::hstore -- so"),
            (
                "INSERT INTO t (a, b) VALUES (1, 'x')",
                "INSERT INTO t (a, b) VALUES (22, NULL);",
            ),
            (
                "UPDATE t SET a = 1.5 WHERE b = true",
                "UPDATE t SET a = 12 WHERE b = false",
            ),
        ] {
            assert_eq!(of(one), of(other), "{one}, {other}");
        }
    }

    #[test]
    fn other_names_types_and_shapes_are_other_forms() {
        let all = [
            "SELECT 'a'::ltree",
            "SELECT 'a'::hstore",
            "SELECT $1::hstore",
            "SELECT $2::hstore",
            "SELECT a FROM t_01",
            "SELECT a FROM t_02",
            "SELECT a FROM s.t_01",
            "SELECT b FROM t_01",
            "SELECT a FROM t_01 WHERE a = 1",
            "SELECT a FROM t_01 WHERE a > 1",
            "SELECT DISTINCT a FROM t_01",
            "SELECT f(1)",
            "SELECT g(1)",
            "SELECT f(1, 1)",
        ];
        for (n, one) in all.iter().enumerate() {
            for other in &all[n + 1..] {
                assert_ne!(of(one), of(other), "{one}, {other}");
            }
        }
    }
}
