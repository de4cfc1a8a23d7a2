//! What the server knows of functions, operators and types, read for the wall in one statement.

use tidegate_core::failure::Failure;
use tidegate_core::witness::Schema;
use tidegate_wall::{Catalogue, Traits};
use tokio_postgres::Row;

use super::deferred;
use super::error::unreachable;
use super::pool::Pool;

/// An aggregate is as volatile as what it is made of. A function of one argument that may be a row is called by a
/// column's notation too.
const CATALOGUE: &str = "
WITH functions AS (
    SELECT p.oid, p.proname, p.provolatile = 'v' OR EXISTS (
            SELECT FROM pg_catalog.pg_aggregate a
            JOIN pg_catalog.pg_proc part ON part.oid IN (a.aggtransfn, a.aggfinalfn, a.aggcombinefn, a.aggserialfn,
                a.aggdeserialfn, a.aggmtransfn, a.aggminvtransfn, a.aggmfinalfn)
            WHERE a.aggfnoid = p.oid AND part.provolatile = 'v') AS volatile,
        p.pronargs >= 1 AND (p.pronargs - p.pronargdefaults <= 1 OR p.provariadic <> 0) AND EXISTS (
            SELECT FROM pg_catalog.pg_type t LEFT JOIN pg_catalog.pg_type base ON base.oid = t.typbasetype
            WHERE t.oid = p.proargtypes[0] AND (t.typtype IN ('c', 'p') OR base.typtype = 'c')) AS of_row
    FROM pg_catalog.pg_proc p WHERE p.prokind <> 'p'
), types AS (
    SELECT t.oid, t.typname FROM pg_catalog.pg_type t
    JOIN functions f ON f.volatile
        AND f.oid IN (t.typinput, t.typoutput, t.typreceive, t.typsend, t.typmodin, t.typmodout)
    UNION
    SELECT t.oid, t.typname FROM pg_catalog.pg_cast c JOIN functions f ON f.oid = c.castfunc AND f.volatile
    JOIN pg_catalog.pg_type t ON t.oid IN (c.casttarget, c.castsource)
)
SELECT 'function', proname::text, bool_or(volatile), bool_or(volatile AND of_row) FROM functions GROUP BY proname
UNION ALL
SELECT DISTINCT 'operator', o.oprname::text, true, false
    FROM pg_catalog.pg_operator o JOIN functions f ON f.oid = o.oprcode AND f.volatile
UNION ALL
SELECT DISTINCT 'type', typname::text, true, false FROM types
UNION ALL
SELECT DISTINCT 'type', d.typname::text, true, false FROM pg_catalog.pg_type d JOIN types t ON t.oid = d.typbasetype";

/// Whatever a statement's meaning or a role's rights hang on, each row by its key and the transaction that wrote it: any
/// change of the schema changes the sum. Temporary objects come and go, and are no handler's.
const SCHEMA: &str = "
WITH passing AS (
    SELECT oid FROM pg_catalog.pg_namespace WHERE nspname ~ '^pg_(toast_)?temp_'
), relations AS (
    SELECT oid, xmin FROM pg_catalog.pg_class WHERE relnamespace NOT IN (TABLE passing)
), written (kind, id, version) AS (
    SELECT 'class', oid::text, xmin::text FROM relations
    UNION ALL SELECT 'namespace', oid::text, xmin::text FROM pg_catalog.pg_namespace WHERE oid NOT IN (TABLE passing)
    UNION ALL SELECT 'attribute', attrelid || ' ' || attnum, a.xmin::text
        FROM pg_catalog.pg_attribute a JOIN relations r ON r.oid = attrelid WHERE attnum > 0
    UNION ALL SELECT 'default', d.oid::text, d.xmin::text FROM pg_catalog.pg_attrdef d JOIN relations r ON r.oid = adrelid
    UNION ALL SELECT 'index', indexrelid::text, i.xmin::text FROM pg_catalog.pg_index i JOIN relations r ON r.oid = indexrelid
    UNION ALL SELECT 'trigger', t.oid::text, t.xmin::text FROM pg_catalog.pg_trigger t JOIN relations r ON r.oid = tgrelid
    UNION ALL SELECT 'rule', w.oid::text, w.xmin::text FROM pg_catalog.pg_rewrite w JOIN relations r ON r.oid = ev_class
    UNION ALL SELECT 'type', oid::text, xmin::text FROM pg_catalog.pg_type WHERE typnamespace NOT IN (TABLE passing)
    UNION ALL SELECT 'constraint', oid::text, xmin::text FROM pg_catalog.pg_constraint
        WHERE connamespace NOT IN (TABLE passing)
    UNION ALL SELECT 'proc', oid::text, xmin::text FROM pg_catalog.pg_proc
    UNION ALL SELECT 'policy', oid::text, xmin::text FROM pg_catalog.pg_policy
    UNION ALL SELECT 'operator', oid::text, xmin::text FROM pg_catalog.pg_operator
    UNION ALL SELECT 'cast', oid::text, xmin::text FROM pg_catalog.pg_cast
    UNION ALL SELECT 'enum', oid::text, xmin::text FROM pg_catalog.pg_enum
    UNION ALL SELECT 'collation', oid::text, xmin::text FROM pg_catalog.pg_collation
    UNION ALL SELECT 'language', oid::text, xmin::text FROM pg_catalog.pg_language
    UNION ALL SELECT 'extension', oid::text, xmin::text FROM pg_catalog.pg_extension
    UNION ALL SELECT 'foreign', oid::text, xmin::text FROM pg_catalog.pg_foreign_server
    UNION ALL SELECT 'conversion', oid::text, xmin::text FROM pg_catalog.pg_conversion
    UNION ALL SELECT 'opclass', oid::text, xmin::text FROM pg_catalog.pg_opclass
    UNION ALL SELECT 'text search', oid::text, xmin::text FROM pg_catalog.pg_ts_config
    UNION ALL SELECT 'dictionary', oid::text, xmin::text FROM pg_catalog.pg_ts_dict
    UNION ALL SELECT 'setting', setdatabase || ' ' || setrole, xmin::text FROM pg_catalog.pg_db_role_setting
    UNION ALL SELECT 'member', roleid || ' ' || member, xmin::text FROM pg_catalog.pg_auth_members
    UNION ALL SELECT 'role', oid::text, concat_ws(' ', rolname, rolsuper, rolinherit, rolbypassrls) FROM pg_catalog.pg_roles
)
SELECT hashtextextended(concat_ws(' ', count(*),
        sum(hashtextextended(concat_ws(' ', kind, id, version), 0)::numeric)), 0)
  FROM written";

/// Looks at the schema. Errors: as those of a read.
pub(super) async fn schema(service: &Pool) -> Result<Schema, Failure> {
    let mut held = service.get(false).await?;
    let rows = held.query(SCHEMA, &[]).await?;
    held.release();
    let schema = rows.first().map_or(0, |row| row.get::<_, i64>(0));
    // 0 says that nobody has looked.
    Ok(if schema == 0 { 1 } else { schema })
}

/// Reads it. Errors: the server cannot be asked, or does not answer it; whoever waits for it waits on.
pub(super) async fn read(service: &Pool, search_path: &[String]) -> Result<Catalogue, Failure> {
    let asked = async {
        let mut held = service.get(false).await?;
        let rows = held.query(CATALOGUE, &[]).await?;
        let deferred = deferred::read(&mut held).await?;
        held.release();
        Ok((rows, deferred))
    };
    match asked.await {
        Ok((rows, deferred)) => Ok(Catalogue {
            deferred,
            search_path: search_path
                .iter()
                .map(|schema| Box::from(schema.as_str()))
                .collect(),
            ..catalogue(&rows)?
        }),
        Err(failure @ Failure::Sql { .. }) => Err(unreachable(format!(
            "the functions of the server, which handlers' statements are checked by, cannot be read: {failure}"
        ))),
        Err(failure) => Err(failure),
    }
}

fn catalogue(rows: &[Row]) -> Result<Catalogue, Failure> {
    let mut read = Catalogue::default();
    for row in rows {
        let name = Box::from(row.get::<_, &str>(1));
        match row.get::<_, &str>(0) {
            "function" => {
                let traits = Traits {
                    volatile: row.get(2),
                    volatile_of_row: row.get(3),
                };
                read.functions.insert(name, traits);
            }
            "operator" => drop(read.volatile_operators.insert(name)),
            _ => drop(read.volatile_types.insert(name)),
        }
    }
    match read.functions.is_empty() {
        // Then it was not the catalogue that answered.
        true => Err(unreachable(
            "the server names no functions at all".to_owned(),
        )),
        false => Ok(read),
    }
}
