//! How deep arrays and objects of a JSON text lie within one another, without parsing it.

/// Whether more than `limit` arrays and objects lie within one another. What is no JSON is judged by its brackets; the
/// server refuses it.
pub(crate) fn is_deeper(text: &str, limit: usize) -> bool {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'[' | b'{' if !quoted => {
                depth += 1;
                if depth > limit {
                    return true;
                }
            }
            b']' | b'}' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn brackets_in_strings_do_not_count() {
        assert!(!is_deeper("1", 0));
        assert!(is_deeper("[]", 0));
        assert!(!is_deeper(r#"[{"a[[": "\"[[", "\\": 1}]"#, 2));
        assert!(is_deeper(r#"[{"\\": [1]}]"#, 2));
        assert!(!is_deeper("[],[],[]", 1));
    }

    fn depth(value: &Value) -> usize {
        match value {
            Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
            Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
        }
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![Just(Value::Null), ".{0,8}".prop_map(Value::from)];
        leaf.prop_recursive(6, 30, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(".{0,4}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn as_deep_as_its_tree(value in json(), limit in 0_usize..8) {
            prop_assert_eq!(is_deeper(&value.to_string(), limit), depth(&value) > limit);
        }
    }
}
