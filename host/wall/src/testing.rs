//! A small catalogue for the unit tests, and what a statement comes to by it.

use crate::{Catalogue, Judge, Rules, Traits, Verdict};

/// Functions that are not volatile.
const CALM: &[&str] = &[
    "lower",
    "upper",
    "count",
    "sum",
    "max",
    "min",
    "coalesce_all",
    "now",
    "abs",
    "generate_series",
    "row_number",
    "percentile_cont",
    "jsonb_build_object",
    "to_tsvector",
    "length",
    "round",
    "string_agg",
    "array_agg",
    "unnest",
    "json_object",
    "regexp_replace",
    "date_trunc",
    "sqrt",
    "version",
    "current_setting",
    "table_to_xml",
];

/// Volatile ones.
const VOLATILE: &[&str] = &[
    "pg_sleep",
    "evil",
    "setval",
    "random",
    "nextval",
    "gen_random_uuid",
    "set_config",
    "pg_notify",
    "query_to_xml",
    "currval",
    "lastval",
];

pub(crate) fn catalogue() -> Catalogue {
    let mut catalogue = Catalogue::default();
    for (names, volatile) in [(CALM, false), (VOLATILE, true)] {
        for name in names {
            let traits = Traits {
                volatile,
                volatile_of_row: *name == "evil",
            };
            catalogue.functions.insert((*name).into(), traits);
        }
    }
    catalogue.volatile_operators.insert("<~>".into());
    catalogue.volatile_types.insert("nasty".into());
    catalogue
}

pub(crate) fn verdict(sql: &str) -> Verdict {
    judged(&Judge::new(Rules::default()), sql, 1)
}

pub(crate) fn judged(judge: &Judge, sql: &str, generation: u64) -> Verdict {
    judge
        .judge(sql, (&catalogue(), generation))
        .expect("a thread")
}

pub(crate) fn passes(sql: &str) {
    assert_eq!(verdict(sql).map(drop), Ok(()), "{sql}");
}

/// What is said of a statement that is refused.
pub(crate) fn refusal(sql: &str) -> String {
    match verdict(sql) {
        Ok(_) => unreachable!("not refused: {sql}"),
        Err(refused) => refused.to_string(),
    }
}
