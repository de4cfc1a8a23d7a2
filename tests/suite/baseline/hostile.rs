//! Every setting hostile at once, for the role and for the database, under the demo's workload.

use tidegate_tests::{Host, Ledger, TestEnv, secs, test_env, wait_eq};
use tokio::time::timeout;
use tokio_postgres::Client;

use crate::demo::books::{Books, handled};
use crate::demo::workload::{ACCOUNTS, PARTITIONS, Workload};
use crate::rows::PATIENCE;

/// A schema whose objects stand in for the host's and the server's own, where a search path lets them. None is volatile:
/// an operator whose name runs a volatile function is refused to handlers.
const FALSE_FRIENDS: &str = "
CREATE SCHEMA hostile;
CREATE TABLE hostile.progress (n int);
CREATE TABLE hostile.accounts (id bigint PRIMARY KEY, balance bigint NOT NULL);
CREATE FUNCTION hostile.now() RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$ SELECT '1999-01-01'::timestamptz $$;
CREATE FUNCTION hostile.count(bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 7::bigint';
CREATE FUNCTION hostile.never(text, text) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT false';
CREATE OPERATOR hostile.= (LEFTARG = text, RIGHTARG = text, FUNCTION = hostile.never);
CREATE OPERATOR hostile.<> (LEFTARG = text, RIGHTARG = text, FUNCTION = hostile.never);
CREATE ACCESS METHOD other_heap TYPE TABLE HANDLER heap_tableam_handler";

/// What a role may have, each as bad as it can be.
const HOSTILE: [&str; 62] = [
    "default_transaction_isolation = 'serializable'",
    "default_transaction_read_only = on",
    "default_transaction_deferrable = on",
    "synchronous_commit = off",
    "statement_timeout = '1ms'",
    "lock_timeout = '1ms'",
    "idle_in_transaction_session_timeout = '1ms'",
    "idle_session_timeout = '1ms'",
    "search_path = hostile, public, pg_catalog",
    "row_security = off",
    "exit_on_error = on",
    "session_replication_role = replica",
    "DateStyle = 'German'",
    "IntervalStyle = 'sql_standard'",
    "TimeZone = 'Asia/Kathmandu'",
    "timezone_abbreviations = 'Australia'",
    "bytea_output = 'escape'",
    "extra_float_digits = -15",
    "standard_conforming_strings = off",
    "escape_string_warning = on",
    "backslash_quote = on",
    "client_encoding = 'LATIN1'",
    "client_min_messages = 'debug5'",
    "application_name = 'somebody'",
    "client_connection_check_interval = 0",
    "xmloption = 'document'",
    "xmlbinary = 'hex'",
    "array_nulls = off",
    "transform_null_equals = on",
    "quote_all_identifiers = on",
    "check_function_bodies = off",
    "default_table_access_method = 'other_heap'",
    "default_tablespace = 'nowhere'",
    "temp_tablespaces = 'nowhere'",
    "default_toast_compression = 'pglz'",
    "default_text_search_config = 'pg_catalog.simple'",
    "default_statistics_target = 1",
    "gin_fuzzy_search_limit = 1",
    "gin_pending_list_limit = '64kB'",
    "plan_cache_mode = 'force_generic_plan'",
    "constraint_exclusion = on",
    "force_parallel_mode = on",
    // Else each plan that has to use what is off looks so dear that it is compiled, which takes a minute in all.
    "jit = off",
    "enable_seqscan = off",
    "enable_indexscan = off",
    "enable_indexonlyscan = off",
    "enable_bitmapscan = off",
    "enable_hashjoin = off",
    "enable_mergejoin = off",
    "enable_sort = off",
    "enable_material = off",
    "work_mem = '64kB'",
    "maintenance_work_mem = '1MB'",
    "temp_buffers = '800kB'",
    "hash_mem_multiplier = 1",
    "lc_monetary = 'C'",
    "lc_numeric = 'C'",
    "lc_time = 'C'",
    "lc_messages = 'C'",
    "deadlock_timeout = '1ms'",
    "commit_delay = 1000",
    "track_activities = off",
];

/// A login that comes to a database where everything is set against it, and the way there.
async fn surrounded(env: &TestEnv) -> String {
    let name = env.db.name();
    let db = &env.db;
    db.exec(FALSE_FRIENDS).await;
    let roles = format!("CREATE ROLE \"{name}\" SUPERUSER LOGIN; CREATE ROLE \"{name}-other\"");
    db.exec(&roles).await;
    for setting in HOSTILE {
        for of in ["ROLE", "DATABASE"] {
            db.exec(&format!("ALTER {of} \"{name}\" SET {setting}"))
                .await;
        }
    }
    db.exec(&format!(
        "ALTER ROLE \"{name}\" SET role = \"{name}-other\""
    ))
    .await;
    db.url().replace("postgres@", &format!("{name}@"))
}

/// Waits until so many records are committed; the host's log tells why they are not.
async fn reach(client: &Client, host: &Host, records: i64) {
    let reached = wait_eq(secs(3_600), "records to be handled", true, async || {
        handled(client).await.unwrap() >= records
    });
    // Plans are as bad as they can be, and other tests may have the machine.
    let reached = timeout(3 * PATIENCE, reached).await;
    assert!(reached.is_ok(), "{}", host.log());
}

/// The login is a superuser, so that it may set back what only a superuser may.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_demos_books_are_exact_where_role_and_database_have_every_setting_against_the_host() {
    let env = test_env("hostile-set").await;
    let ledger = Ledger::create(&env.db, ACCOUNTS).await;
    let topic = env.topic("payments.received", PARTITIONS).await;
    env.kafka
        .create_topic(&format!("{topic}.dlt"), 1, &[])
        .await;
    // Of what the tests themselves ask, nothing is to be hostile.
    let client = env.db.client().await;
    let url = surrounded(&env).await;
    let workload = Workload::generate();
    let expected = workload.expected;
    let consumer = env.consumer(&topic, "credit-rust").await;
    let consumer = consumer.batch("max_records", 10);
    let config = env.config().postgres(&url).consumer(consumer);
    env.kafka.produce(&topic, workload.records).await;
    let host = env.host(config.clone()).start().await;
    reach(&client, &host, expected.records / 3).await;
    host.kill();
    let host = host.restart().await;
    reach(&client, &host, expected.records).await;
    let books = Books::compare(&expected, &ledger.balances().await, &env.db).await;
    assert!(books.agree(), "{}\n{}", expected.summary(), books);

    let strangers = "SELECT count(*) FROM pg_class c JOIN pg_am a ON a.oid = c.relam
                      WHERE c.relnamespace = 'tidegate'::regnamespace AND a.amname = 'other_heap'";
    assert_eq!(env.db.query_one_i64(strangers).await, 0);
    let owners = format!(
        "SELECT count(*) FROM pg_class WHERE relnamespace = 'tidegate'::regnamespace
            AND pg_get_userbyid(relowner) <> '{}'",
        env.db.name()
    );
    assert_eq!(env.db.query_one_i64(&owners).await, 0);
    let false_ones =
        "SELECT (SELECT count(*) FROM hostile.progress) + (SELECT count(*) FROM hostile.accounts)";
    assert_eq!(env.db.query_one_i64(false_ones).await, 0);
    for args in [
        &["check", "--database"][..],
        &["dlt", "list"],
        &["inbox", "show", "payment-1"],
        &["offsets", "show"],
        &["consumer", "list"],
    ] {
        let said = env.cli(args, &config).await;
        assert_eq!(said.code, 0, "{args:?}: {}{}", said.stdout, said.stderr);
        assert!(!said.stdout.contains("1999"), "{}", said.stdout);
    }
    assert_eq!(host.terminate().await, 0, "{}", host.log());
}
