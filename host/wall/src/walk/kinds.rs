//! One example of every kind of statement that the grammar of PostgreSQL 18 has: all but five are refused, however they are dressed.

use crate::parse::parse;
use crate::testing::{passes, verdict};

/// Those that handlers may send.
const ALLOWED: [(&str, &str); 5] = [
    ("SelectStmt", "SELECT 1"),
    ("InsertStmt", "INSERT INTO t VALUES (1)"),
    ("UpdateStmt", "UPDATE t SET a = 1"),
    ("DeleteStmt", "DELETE FROM t"),
    (
        "MergeStmt",
        "MERGE INTO t USING s ON true WHEN MATCHED THEN DELETE",
    ),
];

/// All others, by the library's names.
const REFUSED: &[(&str, &str)] = &[
    ("AlterCollationStmt", "ALTER COLLATION c REFRESH VERSION"),
    (
        "AlterDatabaseRefreshCollStmt",
        "ALTER DATABASE d REFRESH COLLATION VERSION",
    ),
    ("AlterDatabaseSetStmt", "ALTER DATABASE d SET a = 1"),
    ("AlterDatabaseStmt", "ALTER DATABASE d CONNECTION LIMIT 1"),
    (
        "AlterDefaultPrivilegesStmt",
        "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC",
    ),
    ("AlterDomainStmt", "ALTER DOMAIN d SET NOT NULL"),
    ("AlterEnumStmt", "ALTER TYPE e ADD VALUE 'a'"),
    ("AlterEventTrigStmt", "ALTER EVENT TRIGGER e DISABLE"),
    (
        "AlterExtensionContentsStmt",
        "ALTER EXTENSION e ADD TABLE t",
    ),
    ("AlterExtensionStmt", "ALTER EXTENSION e UPDATE"),
    (
        "AlterFdwStmt",
        "ALTER FOREIGN DATA WRAPPER f OPTIONS (a 'b')",
    ),
    ("AlterForeignServerStmt", "ALTER SERVER s VERSION '1'"),
    ("AlterFunctionStmt", "ALTER FUNCTION f() VOLATILE"),
    (
        "AlterObjectDependsStmt",
        "ALTER FUNCTION f() DEPENDS ON EXTENSION e",
    ),
    ("AlterObjectSchemaStmt", "ALTER TABLE t SET SCHEMA s"),
    (
        "AlterOpFamilyStmt",
        "ALTER OPERATOR FAMILY f USING btree DROP FUNCTION 1 (int)",
    ),
    (
        "AlterOperatorStmt",
        "ALTER OPERATOR + (int, int) SET (RESTRICT = NONE)",
    ),
    ("AlterOwnerStmt", "ALTER FUNCTION f() OWNER TO r"),
    ("AlterPolicyStmt", "ALTER POLICY p ON t TO r"),
    ("AlterPublicationStmt", "ALTER PUBLICATION p ADD TABLE t"),
    ("AlterRoleSetStmt", "ALTER ROLE r SET a = 1"),
    ("AlterRoleStmt", "ALTER ROLE r SUPERUSER"),
    ("AlterSeqStmt", "ALTER SEQUENCE s RESTART"),
    ("AlterStatsStmt", "ALTER STATISTICS s SET STATISTICS 1"),
    ("AlterSubscriptionStmt", "ALTER SUBSCRIPTION s DISABLE"),
    ("AlterSystemStmt", "ALTER SYSTEM SET a = 1"),
    (
        "AlterTableMoveAllStmt",
        "ALTER TABLE ALL IN TABLESPACE a SET TABLESPACE b",
    ),
    (
        "AlterTableSpaceOptionsStmt",
        "ALTER TABLESPACE a SET (b = 1)",
    ),
    ("AlterTableStmt", "ALTER TABLE t ADD a int"),
    (
        "AlterTsConfigurationStmt",
        "ALTER TEXT SEARCH CONFIGURATION c DROP MAPPING FOR word",
    ),
    (
        "AlterTsDictionaryStmt",
        "ALTER TEXT SEARCH DICTIONARY d (a = 'b')",
    ),
    ("AlterTypeStmt", "ALTER TYPE t SET (RECEIVE = f)"),
    (
        "AlterUserMappingStmt",
        "ALTER USER MAPPING FOR u SERVER s OPTIONS (a 'b')",
    ),
    ("CallStmt", "CALL p()"),
    ("CheckPointStmt", "CHECKPOINT"),
    ("ClosePortalStmt", "CLOSE c"),
    ("ClusterStmt", "CLUSTER t"),
    ("CommentStmt", "COMMENT ON TABLE t IS 'a'"),
    ("CompositeTypeStmt", "CREATE TYPE t AS (a int)"),
    ("ConstraintsSetStmt", "SET CONSTRAINTS ALL DEFERRED"),
    ("CopyStmt", "COPY t TO PROGRAM 'cat'"),
    (
        "CreateAmStmt",
        "CREATE ACCESS METHOD a TYPE INDEX HANDLER h",
    ),
    (
        "CreateCastStmt",
        "CREATE CAST (int AS text) WITHOUT FUNCTION",
    ),
    (
        "CreateConversionStmt",
        "CREATE CONVERSION c FOR 'UTF8' TO 'LATIN1' FROM f",
    ),
    ("CreateDomainStmt", "CREATE DOMAIN d AS int"),
    ("CreateEnumStmt", "CREATE TYPE e AS ENUM ('a')"),
    (
        "CreateEventTrigStmt",
        "CREATE EVENT TRIGGER e ON ddl_command_start EXECUTE FUNCTION f()",
    ),
    ("CreateExtensionStmt", "CREATE EXTENSION dblink"),
    ("CreateFdwStmt", "CREATE FOREIGN DATA WRAPPER f"),
    (
        "CreateForeignServerStmt",
        "CREATE SERVER s FOREIGN DATA WRAPPER f",
    ),
    (
        "CreateForeignTableStmt",
        "CREATE FOREIGN TABLE t (a int) SERVER s",
    ),
    (
        "CreateFunctionStmt",
        "CREATE FUNCTION f() RETURNS int LANGUAGE sql RETURN 1",
    ),
    (
        "CreateOpClassStmt",
        "CREATE OPERATOR CLASS c FOR TYPE int USING btree AS STORAGE int",
    ),
    ("CreateOpFamilyStmt", "CREATE OPERATOR FAMILY f USING btree"),
    ("CreatePLangStmt", "CREATE LANGUAGE l HANDLER h"),
    ("CreatePolicyStmt", "CREATE POLICY p ON t"),
    ("CreatePublicationStmt", "CREATE PUBLICATION p"),
    ("CreateRangeStmt", "CREATE TYPE r AS RANGE (SUBTYPE = int)"),
    ("CreateRoleStmt", "CREATE ROLE r"),
    ("CreateSchemaStmt", "CREATE SCHEMA s"),
    ("CreateSeqStmt", "CREATE SEQUENCE s"),
    ("CreateStatsStmt", "CREATE STATISTICS s ON a, b FROM t"),
    ("CreateStmt", "CREATE TABLE t (a int)"),
    (
        "CreateSubscriptionStmt",
        "CREATE SUBSCRIPTION s CONNECTION 'a' PUBLICATION p",
    ),
    ("CreateTableAsStmt", "CREATE TABLE t AS SELECT 1"),
    ("CreateTableSpaceStmt", "CREATE TABLESPACE t LOCATION '/a'"),
    (
        "CreateTransformStmt",
        "CREATE TRANSFORM FOR t LANGUAGE l (FROM SQL WITH FUNCTION f(internal))",
    ),
    (
        "CreateTrigStmt",
        "CREATE TRIGGER g AFTER INSERT ON t EXECUTE FUNCTION f()",
    ),
    (
        "CreateUserMappingStmt",
        "CREATE USER MAPPING FOR u SERVER s",
    ),
    ("CreatedbStmt", "CREATE DATABASE d"),
    ("DeallocateStmt", "DEALLOCATE ALL"),
    (
        "DeclareCursorStmt",
        "DECLARE c CURSOR WITH HOLD FOR SELECT 1",
    ),
    (
        "DefineStmt",
        "CREATE AGGREGATE a (int) (SFUNC = f, STYPE = int)",
    ),
    ("DiscardStmt", "DISCARD ALL"),
    ("DoStmt", "DO $$ BEGIN COMMIT; END $$"),
    ("DropOwnedStmt", "DROP OWNED BY r"),
    ("DropRoleStmt", "DROP ROLE r"),
    ("DropStmt", "DROP TABLE t"),
    ("DropSubscriptionStmt", "DROP SUBSCRIPTION s"),
    ("DropTableSpaceStmt", "DROP TABLESPACE t"),
    ("DropUserMappingStmt", "DROP USER MAPPING FOR u SERVER s"),
    ("DropdbStmt", "DROP DATABASE d"),
    ("ExecuteStmt", "EXECUTE p"),
    ("ExplainStmt", "EXPLAIN ANALYZE SELECT 1"),
    ("FetchStmt", "FETCH ALL FROM c"),
    ("GrantRoleStmt", "GRANT a TO b"),
    ("GrantStmt", "GRANT ALL ON t TO PUBLIC"),
    (
        "ImportForeignSchemaStmt",
        "IMPORT FOREIGN SCHEMA a FROM SERVER s INTO b",
    ),
    ("IndexStmt", "CREATE INDEX ON t (a)"),
    ("ListenStmt", "LISTEN a"),
    ("LoadStmt", "LOAD 'a'"),
    ("LockStmt", "LOCK TABLE t"),
    ("NotifyStmt", "NOTIFY a"),
    ("PrepareStmt", "PREPARE p AS SELECT 1"),
    ("ReassignOwnedStmt", "REASSIGN OWNED BY a TO b"),
    ("RefreshMatViewStmt", "REFRESH MATERIALIZED VIEW v"),
    ("ReindexStmt", "REINDEX TABLE t"),
    ("RenameStmt", "ALTER TABLE t RENAME TO u"),
    ("RuleStmt", "CREATE RULE r AS ON INSERT TO t DO NOTHING"),
    ("SecLabelStmt", "SECURITY LABEL ON TABLE t IS 'a'"),
    ("TransactionStmt", "COMMIT AND CHAIN"),
    ("TruncateStmt", "TRUNCATE t"),
    ("UnlistenStmt", "UNLISTEN *"),
    ("VacuumStmt", "VACUUM t"),
    ("VariableSetStmt", "SET ROLE postgres"),
    ("VariableShowStmt", "SHOW ALL"),
    ("ViewStmt", "CREATE VIEW v AS SELECT 1"),
];

/// The kind of the statement that a text holds.
fn kind(sql: &str) -> &'static str {
    let read = std::thread::scope(|scope| {
        let reader = std::thread::Builder::new().stack_size(crate::parse::STACK);
        let reader = reader.spawn_scoped(scope, || parse(sql)).expect("a thread");
        reader.join().expect("no panic").expect(sql)
    });
    read.node("stmt").expect("a statement").kind
}

#[test]
fn every_kind_of_statement_is_judged() {
    for (name, sql) in ALLOWED {
        assert_eq!(kind(sql), name);
        passes(sql);
        passes(&format!("/* x */ -- y\n{sql} ;"));
    }
    for (name, sql) in REFUSED {
        assert!(
            kind(sql).eq_ignore_ascii_case(name),
            "{} is no {name}: {sql}",
            kind(sql)
        );
        for dressed in [
            (*sql).to_owned(),
            sql.to_lowercase(),
            format!("/* SELECT /* 1 */ */ -- é SELECT\n\t{sql};"),
            format!("({sql})"),
            format!("((({sql})))"),
            format!("\u{feff}{sql}"),
            format!("SELECT 1;{sql}"),
            format!("{sql};SELECT 1"),
            format!("WITH a AS ({sql}) SELECT 1"),
            format!("WITH a AS (SELECT 1) {sql}"),
            format!("SELECT * FROM ({sql}) a"),
            format!("INSERT INTO t {sql}"),
        ] {
            assert!(verdict(&dressed).is_err(), "{dressed}");
        }
    }
}
