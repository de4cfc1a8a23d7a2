//! The default lists: which functions pass or not whatever the server says of them, and which kinds of node pass.

/// A name, or a part of one, and the reason for its place on the list.
pub type Listed = (&'static str, &'static str);

/// The schema of the host's own tables.
pub(crate) const HOST_SCHEMA: &str = "tidegate";

/// Volatile functions that are allowed: all that they do is give a value.
pub const ALLOWED_VOLATILE: &[Listed] = &[
    ("clock_timestamp", "reads the clock"),
    ("gen_random_uuid", "draws a random UUID"),
    (
        "nextval",
        "draws a sequence's next number; a number drawn is not given back by a rollback",
    ),
    ("random", "draws a random number"),
    ("random_normal", "draws a random number"),
    ("timeofday", "reads the clock"),
    ("uuid_generate_v4", "draws a random UUID"),
    ("uuidv4", "draws a random UUID"),
    ("uuidv7", "draws a UUID by the clock"),
];

/// Functions that no configuration can allow.
pub const NEVER: &[Listed] = &[
    ("cursor_to_xml", "runs what a cursor of the session holds"),
    (
        "cursor_to_xmlschema",
        "runs what a cursor of the session holds",
    ),
    (
        "pg_advisory_lock",
        "takes a lock that outlives the transaction",
    ),
    (
        "pg_advisory_lock_shared",
        "takes a lock that outlives the transaction",
    ),
    ("pg_advisory_unlock", "gives up locks of the session"),
    ("pg_advisory_unlock_all", "gives up locks of the session"),
    ("pg_advisory_unlock_shared", "gives up locks of the session"),
    (
        "pg_try_advisory_lock",
        "takes a lock that outlives the transaction",
    ),
    (
        "pg_try_advisory_lock_shared",
        "takes a lock that outlives the transaction",
    ),
    (
        "query_to_xml",
        "runs SQL out of a text, which nobody has looked at",
    ),
    (
        "query_to_xml_and_xmlschema",
        "runs SQL out of a text, which nobody has looked at",
    ),
    (
        "query_to_xmlschema",
        "runs SQL out of a text, which nobody has looked at",
    ),
    (
        "set_config",
        "changes settings that the host's guarantees rest on",
    ),
    (
        "ts_rewrite",
        "runs SQL out of a text, which nobody has looked at",
    ),
    (
        "ts_stat",
        "runs SQL out of a text, which nobody has looked at",
    ),
];

/// Functions that are refused though they are stable or immutable.
pub const DENIED: &[Listed] = &[
    ("col_description", "reads the system's catalogue"),
    ("current_query", "reads what the session runs"),
    ("current_setting", "reads the session's settings"),
    ("inet_client_addr", "reads where the host connects from"),
    ("inet_client_port", "reads where the host connects from"),
    ("inet_server_addr", "reads where the server is"),
    ("inet_server_port", "reads where the server is"),
    ("loread", "reads large objects"),
    ("lowrite", "writes large objects"),
    ("obj_description", "reads the system's catalogue"),
    ("row_security_active", "reads the system's catalogue"),
    ("satisfies_hash_partition", "opens any table"),
    ("session_user", "reads the login that the host uses"),
    ("shobj_description", "reads the system's catalogue"),
    ("system_user", "reads the login that the host uses"),
    ("ts_debug", "reads the system's catalogue"),
    ("version", "reads which server this is"),
];

/// Beginnings of names that are refused.
pub const DENIED_PREFIXES: &[Listed] = &[
    ("_pg_", "reads the system's catalogue"),
    ("binary_upgrade_", "is the server's own tool"),
    ("dblink", "opens connections of its own"),
    ("lo_", "reads and writes large objects, and files"),
    (
        "pg_",
        "reads or changes the server, its catalogue, its files or its sessions",
    ),
    ("plpgsql_", "is the server's own tool"),
    (
        "postgres_fdw_",
        "reads or ends connections to other servers",
    ),
    ("regcollation", "reads the system's catalogue"),
    ("regnamespace", "reads the system's catalogue"),
    ("regoper", "reads the system's catalogue"),
    ("regproc", "reads the system's catalogue"),
    ("regrole", "reads the system's catalogue"),
    ("to_reg", "reads the system's catalogue"),
    (
        "txid_",
        "reads the server's transactions, or begins a numbered one",
    ),
];

/// Endings of names that are refused.
pub const DENIED_ENDINGS: &[Listed] = &[
    ("_privilege", "reads the system's catalogue"),
    (
        "_to_xml",
        "reads whole tables, schemas or databases by name",
    ),
    (
        "_to_xml_and_xmlschema",
        "reads whole tables, schemas or databases by name",
    ),
    (
        "_to_xmlschema",
        "reads whole tables, schemas or databases by name",
    ),
    ("_validator", "is the server's own tool"),
];

/// Names that are allowed in spite of how they begin: they look at their argument and nothing else.
pub const PREFIX_EXCEPTIONS: &[&str] = &[
    "pg_client_encoding",
    "pg_collation_for",
    "pg_column_compression",
    "pg_column_size",
    "pg_input_is_valid",
    "pg_lsn",
    "pg_size_bytes",
    "pg_size_pretty",
    "pg_typeof",
];

/// Types whose text is a name of the system's catalogue, which reading or printing one looks up.
pub(crate) const DENIED_TYPES: &[&str] = &[
    "regcollation",
    "regnamespace",
    "regoper",
    "regoperator",
    "regproc",
    "regprocedure",
    "regrole",
];

/// Functions that the grammar itself calls for its own syntax, such as EXTRACT or TRIM.
pub(crate) const SYNTAX_FUNCTIONS: &[&str] = &[
    "btrim",
    "extract",
    "is_normalized",
    "like_escape",
    "ltrim",
    "normalize",
    "overlaps",
    "overlay",
    "position",
    "rtrim",
    "similar_to_escape",
    "substring",
    "timezone",
    "xmlexists",
];

/// Nodes that older servers read as calls of functions of these names.
pub(crate) const NEW_SYNTAX: &[(&str, &[&str])] = &[
    ("JsonArrayAgg", &["json_arrayagg"]),
    ("JsonArrayConstructor", &["json_array"]),
    ("JsonArrayQueryConstructor", &["json_array"]),
    ("JsonFuncExpr", &["json_exists", "json_query", "json_value"]),
    ("JsonObjectAgg", &["json_objectagg"]),
    ("JsonObjectConstructor", &["json_object"]),
    ("JsonParseExpr", &["json"]),
    ("JsonScalarExpr", &["json_scalar"]),
    ("JsonSerializeExpr", &["json_serialize"]),
    ("JsonTable", &["json_table"]),
    ("MergeSupportFunc", &["merge_action"]),
];

/// The kinds of node that a handler's statement may have; sorted. All others are refused.
pub(crate) const KINDS: &[&str] = &[
    "AArrayExpr",
    "AConst",
    "AExpr",
    "AIndices",
    "AIndirection",
    "AStar",
    "Alias",
    "BitString",
    "BoolExpr",
    "Boolean",
    "BooleanTest",
    "CaseExpr",
    "CaseWhen",
    "CoalesceExpr",
    "CollateClause",
    "ColumnDef",
    "ColumnRef",
    "CommonTableExpr",
    "CteCycleClause",
    "CteSearchClause",
    "DeleteStmt",
    "Float",
    "FuncCall",
    "GroupingFunc",
    "GroupingSet",
    "IndexElem",
    "InferClause",
    "InsertStmt",
    "Integer",
    "JoinExpr",
    "JsonAggConstructor",
    "JsonArgument",
    "JsonArrayAgg",
    "JsonArrayConstructor",
    "JsonArrayQueryConstructor",
    "JsonBehavior",
    "JsonFormat",
    "JsonFuncExpr",
    "JsonIsPredicate",
    "JsonKeyValue",
    "JsonObjectAgg",
    "JsonObjectConstructor",
    "JsonOutput",
    "JsonParseExpr",
    "JsonReturning",
    "JsonScalarExpr",
    "JsonSerializeExpr",
    "JsonTable",
    "JsonTableColumn",
    "JsonTablePathSpec",
    "JsonValueExpr",
    "List",
    "LockingClause",
    "MergeStmt",
    "MergeSupportFunc",
    "MergeWhenClause",
    "MinMaxExpr",
    "MultiAssignRef",
    "NamedArgExpr",
    "NullTest",
    "OnConflictClause",
    "ParamRef",
    "RangeFunction",
    "RangeSubselect",
    "RangeTableFunc",
    "RangeTableFuncCol",
    "RangeTableSample",
    "RangeVar",
    "RawStmt",
    "ResTarget",
    "ReturningClause",
    "ReturningOption",
    "RowExpr",
    "SelectStmt",
    "SetToDefault",
    "SortBy",
    "SqlValueFunction",
    "String",
    "SubLink",
    "TypeCast",
    "TypeName",
    "UpdateStmt",
    "WindowDef",
    "WithClause",
    "XmlExpr",
    "XmlSerialize",
];

/// The reason that a list gives for a name.
pub(crate) fn reason_of(list: &[Listed], name: &str) -> Option<&'static str> {
    let found = list.iter().find(|(listed, _)| *listed == name);
    found.map(|(_, why)| *why)
}

/// Why a function is refused whatever its volatility; none for most.
pub(crate) fn denied(name: &str) -> Option<&'static str> {
    if PREFIX_EXCEPTIONS.contains(&name) {
        return None;
    }
    let begins = DENIED_PREFIXES
        .iter()
        .find(|(part, _)| name.starts_with(part));
    let ends = || DENIED_ENDINGS.iter().find(|(part, _)| name.ends_with(part));
    reason_of(DENIED, name).or_else(|| begins.or_else(ends).map(|(_, why)| *why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kinds_are_sorted() {
        assert!(KINDS.is_sorted());
    }

    #[test]
    fn names_are_denied_whole_by_beginning_or_by_end() {
        for name in [
            "version",
            "pg_sleep",
            "has_table_privilege",
            "table_to_xml",
            "lo_get",
        ] {
            assert!(denied(name).is_some(), "{name}");
        }
        for name in [
            "lower",
            "pg_typeof",
            "has_stock",
            "to_json",
            "log",
            "substring",
        ] {
            assert_eq!(denied(name), None, "{name}");
        }
    }
}
