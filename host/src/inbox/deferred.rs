//! Which constraints wait for the end of a record: those that the schema's author declared INITIALLY DEFERRED.
//!
//! The host makes all constraints immediate when a batch begins, so that a record succeeds or fails as it would alone. These are
//! deferred again for each record that writes to a relation which may fire them, and checked behind its last statement.

use tidegate_core::failure::Failure;
use tidegate_wall::Deferred;
use tokio_postgres::Row;

use super::pinned::quoted;
use super::pool::Held;

/// Relations, and the constraints of their own schema that writing to them may fire: their own and those that point to them;
/// those of partitions, of what a view shows, of rows that a foreign key's action changes. A trigger may write to anything
/// beside its table. Constraints of other schemas stay immediate: a handler's role may not be allowed to name them. So do those that share their name with one that is not deferred: a name means all of that name
/// in a schema.
const DEFERRED: &str = "
WITH RECURSIVE named AS (
    SELECT c.oid, n.nspname, c.relname, c.relnamespace FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'f') AND n.nspname !~ '^(pg_|tidegate$|information_schema$)'
), waiting AS (
    SELECT k.conname, k.connamespace, k.conrelid, k.confrelid FROM pg_catalog.pg_constraint k
    WHERE k.condeferred AND k.conparentid = 0 AND k.conrelid IN (SELECT oid FROM named)
        AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint o
            WHERE o.connamespace = k.connamespace AND o.conname = k.conname AND NOT o.condeferred)
), writes (upper, lower) AS (
    SELECT k.confrelid, k.conrelid FROM pg_catalog.pg_constraint k
        WHERE k.contype = 'f' AND (k.confdeltype IN ('c', 'n', 'd') OR k.confupdtype IN ('c', 'n', 'd'))
    UNION ALL SELECT inhparent, inhrelid FROM pg_catalog.pg_inherits
    UNION ALL SELECT inhrelid, inhparent FROM pg_catalog.pg_inherits
    UNION ALL SELECT r.ev_class, d.refobjid FROM pg_catalog.pg_rewrite r JOIN pg_catalog.pg_depend d ON d.objid = r.oid
        WHERE d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.refclassid = 'pg_catalog.pg_class'::regclass
        AND d.refobjid <> r.ev_class
    UNION ALL SELECT t.tgrelid, n.oid FROM pg_catalog.pg_trigger t JOIN named w ON w.oid = t.tgrelid
        JOIN named n ON n.relnamespace = w.relnamespace AND n.oid <> w.oid WHERE NOT t.tgisinternal
), reaches (first, relation) AS (
    SELECT oid, oid FROM named WHERE EXISTS (SELECT FROM waiting)
    UNION
    SELECT r.first, w.lower FROM reaches r JOIN writes w ON w.upper = r.relation
)
SELECT DISTINCT n.nspname::text, n.relname::text, w.conname::text
  FROM reaches r JOIN named n ON n.oid = r.first
  JOIN waiting w ON r.relation IN (w.conrelid, w.confrelid) AND w.connamespace = n.relnamespace";

/// Reads them. Errors: the server does not answer.
pub(super) async fn read(held: &mut Held) -> Result<Deferred, Failure> {
    let rows = held.query(DEFERRED, &[]).await?;
    let mut deferred = Deferred::new();
    for row in &rows {
        let (relation, constraint) = named(row);
        deferred.entry(relation).or_default().push(constraint);
    }
    Ok(deferred)
}

fn named(row: &Row) -> ((Box<str>, Box<str>), Box<str>) {
    let text = |column| row.get::<_, &str>(column);
    let constraint = format!("{}.{}", quoted(text(0)), quoted(text(2)));
    ((text(0).into(), text(1).into()), constraint.into())
}
