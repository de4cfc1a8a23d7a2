//! What everybody may do on a server by default and no handler needs, and what the host's login needs itself: found in
//! the server's catalogs, each with the SQL that puts it right.

use tokio_postgres::Row;

use super::{Inbox, InboxError};

/// Something to be put right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    /// What is as it should not be, in words.
    pub what: String,
    /// What it would let a guest do, or keep the host from.
    pub why: &'static str,
    /// The statement that puts it right.
    pub sql: String,
}

/// Functions that PUBLIC may call by default or by a extension's: a word for them, their names as a regular expression,
/// and what they would let a guest do.
const FUNCTIONS: [(&str, &str, &str); 9] = [
    (
        "set_config",
        "set_config",
        "it changes any setting, the role among them",
    ),
    (
        "pg_sleep and its kin",
        "pg_sleep(_for|_until)?",
        "they hold a batch's locks for as long as they like",
    ),
    (
        "advisory locks",
        "pg_(try_)?advisory_(xact_)?(lock|unlock)(_shared|_all)?",
        "they outlive the transaction, hold up whoever uses the same number, and tell one guest of another",
    ),
    (
        "large objects",
        "lo_[a-z0-9_]+|loread|lowrite",
        "large objects belong to no schema and no policy holds for them",
    ),
    (
        "notifications and messages",
        "pg_notify|pg_logical_emit_message",
        "they reach other sessions, and whoever reads the log",
    ),
    (
        "other sessions",
        "pg_terminate_backend|pg_cancel_backend|pg_log_backend_memory_contexts",
        "they end or disturb other sessions of the same role",
    ),
    (
        "files of the server",
        "pg_read_(binary_)?file(_old)?|pg_ls_[a-z]+|pg_stat_file|pg_current_logfile",
        "they read the server's files",
    ),
    (
        "texts run as SQL",
        "(query|cursor|table|schema|database)_to_xml(schema|_and_xmlschema)?|ts_stat|ts_rewrite|dblink.*|crosstab.*|connectby",
        "they run a text as SQL, which nobody has looked at",
    ),
    (
        "snapshots",
        "pg_export_snapshot",
        "other sessions could read what this one sees",
    ),
];

/// Those of the server itself and of extensions; never the user's own.
const CALLABLE: &str = r#"
SELECT g.n, string_agg(format('%I.%I(%s)', s.nspname, p.proname, oidvectortypes(p.proargtypes)), ', ' ORDER BY p.proname, p.oid)
  FROM unnest($1::int[], $2::text[]) AS g (n, names)
  JOIN pg_proc p ON p.proname ~ ('^(' || g.names || ')$') AND p.prokind = 'f'
  JOIN pg_namespace s ON s.oid = p.pronamespace
 WHERE (s.nspname = 'pg_catalog'
        OR EXISTS (SELECT 1 FROM pg_depend d
                    WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'))
   AND has_function_privilege('public', p.oid, 'EXECUTE')
 GROUP BY g.n ORDER BY g.n"#;

/// What PUBLIC may do beyond functions. Schemas are those of the search path; roles are the guests'.
const OPEN: &str = r#"
SELECT 0, format('REVOKE UPDATE ON pg_catalog.pg_settings FROM PUBLIC')
 WHERE has_table_privilege('public', 'pg_catalog.pg_settings', 'UPDATE')
UNION ALL
SELECT 1, format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database())
 WHERE has_database_privilege('public', current_database(), 'TEMPORARY')
UNION ALL
SELECT 2, format('REVOKE CREATE ON SCHEMA %I FROM PUBLIC', s.nspname) FROM pg_namespace s
 WHERE s.nspname = ANY ($1) AND has_schema_privilege('public', s.oid, 'CREATE')
UNION ALL
SELECT 3, format('REVOKE ALL ON SCHEMA tidegate FROM PUBLIC') FROM pg_namespace s
 WHERE s.nspname = 'tidegate' AND has_schema_privilege('public', s.oid, 'USAGE, CREATE')
UNION ALL
SELECT 3, format('REVOKE ALL ON SCHEMA tidegate FROM %I', r.rolname) FROM pg_namespace s, pg_roles r
 WHERE s.nspname = 'tidegate' AND r.rolname = ANY ($2) AND NOT r.rolsuper AND r.rolname <> $3
   AND s.nspowner <> r.oid AND has_schema_privilege(r.oid, s.oid, 'USAGE, CREATE')
UNION ALL
SELECT 3, format('REVOKE ALL ON ALL TABLES IN SCHEMA tidegate FROM PUBLIC')
 WHERE EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace
                WHERE s.nspname = 'tidegate' AND c.relkind = 'r'
                  AND has_table_privilege('public', c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, TRIGGER'))"#;

const OPEN_WORDS: [(&str, &str); 4] = [
    (
        "PUBLIC may update pg_settings",
        "an UPDATE changes any setting, the role among them",
    ),
    (
        "PUBLIC may create temporary tables",
        "they outlive the batch, and stand before other names",
    ),
    (
        "PUBLIC may create objects in a schema of the search path",
        "what one guest creates there, another's names could mean",
    ),
    (
        "others than the host may use the schema \"tidegate\"",
        "claims, positions and dead letters are the host's alone",
    ),
];

/// What the login lacks. Migrations may run under another: what they create in future is granted too.
const LACKING: &str = r#"
WITH login AS (SELECT oid, rolname, rolsuper FROM pg_roles WHERE rolname = $1),
     home AS (SELECT s.oid, pg_get_userbyid(s.nspowner) AS owner FROM pg_namespace s WHERE s.nspname = 'tidegate')
SELECT format('GRANT USAGE ON SCHEMA tidegate TO %I', l.rolname) FROM login l, home h
 WHERE NOT has_schema_privilege(l.oid, h.oid, 'USAGE')
UNION ALL
SELECT format('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA tidegate TO %I', l.rolname) FROM login l
 WHERE EXISTS (SELECT 1 FROM pg_class c JOIN home h ON h.oid = c.relnamespace WHERE c.relkind = 'r'
                AND NOT (has_table_privilege(l.oid, c.oid, 'SELECT') AND has_table_privilege(l.oid, c.oid, 'INSERT')
                     AND has_table_privilege(l.oid, c.oid, 'UPDATE') AND has_table_privilege(l.oid, c.oid, 'DELETE')))
UNION ALL
SELECT format('GRANT USAGE ON ALL SEQUENCES IN SCHEMA tidegate TO %I', l.rolname) FROM login l
 WHERE EXISTS (SELECT 1 FROM pg_class c JOIN home h ON h.oid = c.relnamespace WHERE c.relkind = 'S'
                AND NOT has_sequence_privilege(l.oid, c.oid, 'USAGE'))
UNION ALL
SELECT format('ALTER DEFAULT PRIVILEGES FOR ROLE %I IN SCHEMA tidegate GRANT %s TO %I', h.owner, k.rights, l.rolname)
  FROM login l, home h, (VALUES ('r', 'SELECT, INSERT, UPDATE, DELETE ON TABLES'), ('S', 'USAGE ON SEQUENCES')) AS k (kind, rights)
 WHERE NOT pg_has_role(l.oid, h.owner, 'USAGE')
   AND NOT EXISTS (SELECT 1 FROM pg_default_acl a, aclexplode(a.defaclacl) e
                    WHERE a.defaclnamespace = h.oid AND a.defaclobjtype::text = k.kind AND e.grantee = l.oid)
UNION ALL
SELECT format('GRANT EXECUTE ON FUNCTION pg_catalog.pg_advisory_xact_lock(bigint) TO %I', l.rolname) FROM login l
 WHERE NOT l.rolsuper AND ($2 OR NOT has_function_privilege(l.oid, 'pg_catalog.pg_advisory_xact_lock(bigint)', 'EXECUTE'))
UNION ALL
SELECT format('GRANT EXECUTE ON FUNCTION pg_catalog.pg_advisory_lock(bigint) TO %I', o.rolname)
  FROM home h JOIN pg_roles o ON o.rolname = h.owner
 WHERE NOT o.rolsuper AND ($2 OR NOT has_function_privilege(o.oid, 'pg_catalog.pg_advisory_lock(bigint)', 'EXECUTE'))
UNION ALL
SELECT format('GRANT %I TO %I', r.rolname, l.rolname) FROM login l, pg_roles r
 WHERE r.rolname = ANY ($3) AND r.oid <> l.oid AND NOT pg_has_role(l.oid, r.oid, 'MEMBER')
   AND NOT (r.rolsuper OR r.rolbypassrls OR r.rolcreaterole OR r.rolcreatedb OR r.rolreplication OR r.rolname ~ '^pg_'
            OR EXISTS (SELECT 1 FROM home h WHERE h.owner = r.rolname)
            OR EXISTS (SELECT 1 FROM pg_database d WHERE d.datname = current_database() AND d.datdba = r.oid))"#;

impl Inbox {
    /// What is to be put right for `login` and the guests' `roles`, in the order in which it is done; nothing where all
    /// is as it should be. Errors: as those of any question.
    pub async fn measures(&self, login: &str, roles: &[&str]) -> Result<Vec<Measure>, InboxError> {
        let numbers: Vec<i32> = (0..).take(FUNCTIONS.len()).collect();
        let names = FUNCTIONS.map(|(_, names, _)| names);
        let callable = self.ask(CALLABLE, &[&numbers, &&names[..]]).await?;
        let mut measures: Vec<Measure> = callable.iter().filter_map(functions).collect();
        // The login has advisory locks as everybody does, until they are taken from everybody.
        let takes_locks = measures
            .iter()
            .any(|m| m.sql.contains("pg_advisory_xact_lock("));
        let path = &self.settings.search_path;
        let open = self.ask(OPEN, &[path, &roles, &login]).await?;
        measures.extend(open.iter().filter_map(other));
        let lacking = self.ask(LACKING, &[&login, &takes_locks, &roles]).await?;
        measures.extend(lacking.iter().map(|row| Measure {
            what: format!("the login {login:?}, or who migrates, lacks a right"),
            why: "the host needs it for its work, now or after the next migration",
            sql: row.get(0),
        }));
        Ok(measures)
    }

    /// Takes the measures, all or none. Errors: one is refused.
    pub async fn take(&self, measures: &[Measure]) -> Result<(), InboxError> {
        let held = self.service.take(false).await?;
        held.begin().await?;
        for measure in measures {
            if let Err(failure) = held.command(&measure.sql).await {
                held.roll_back().await;
                return Err(failure.into());
            }
        }
        held.command("COMMIT").await?;
        held.release();
        Ok(())
    }
}

fn functions(row: &Row) -> Option<Measure> {
    let group = usize::try_from(row.get::<_, i32>(0)).ok()?;
    let (what, _, why) = FUNCTIONS.get(group)?;
    let functions: &str = row.get(1);
    Some(Measure {
        what: format!("PUBLIC may call functions: {what}"),
        why,
        sql: format!("REVOKE EXECUTE ON FUNCTION {functions} FROM PUBLIC"),
    })
}

fn other(row: &Row) -> Option<Measure> {
    let (what, why) = OPEN_WORDS.get(usize::try_from(row.get::<_, i32>(0)).ok()?)?;
    Some(Measure {
        what: (*what).to_owned(),
        why,
        sql: row.get(1),
    })
}
