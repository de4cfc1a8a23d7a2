//! Databases that the host cannot work with as they are set up: refused in words, before anything is handled.

use tidegate::inbox::{Inbox, InboxError, Unfit, Wall};
use tidegate_tests::{HostConfig, Output, TestEnv, secs, test_env};

use crate::inbox_support::{Db, config, db};

/// A login of the database's own name that may do what a host does, and how it comes there.
async fn login(db: &Db) -> (String, Inbox) {
    let name = format!("app_{:08x}", fastrand::u32(..));
    db.run(&format!(
        "CREATE ROLE {name} LOGIN; GRANT USAGE ON SCHEMA tidegate TO {name};
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA tidegate TO {name};
         GRANT USAGE ON ALL SEQUENCES IN SCHEMA tidegate TO {name}"
    ))
    .await;
    let inbox = inbox_of(db, &name);
    (name, inbox)
}

fn inbox_of(db: &Db, login: &str) -> Inbox {
    let url = db.url.replace("postgres@", &format!("{login}@"));
    Inbox::new(&config(&url), Wall::Grammar).unwrap()
}

fn unfit(result: Result<(), InboxError>) -> Unfit {
    match result {
        Err(InboxError::Unfit { unfit, .. }) => unfit,
        other => unreachable!("not unfit: {other:?}"),
    }
}

async fn tables(db: &Db) -> Vec<String> {
    let sql = "SELECT relname::text FROM pg_class
                WHERE relnamespace = 'tidegate'::regnamespace AND relkind IN ('r', 'p') ORDER BY 1";
    let rows = db.client.query(sql, &[]).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_table_that_hides_its_rows_is_found_unless_a_policy_lets_the_login_do_everything() {
    let db = db(Wall::Grammar).await;
    let (name, app) = login(&db).await;
    let tables = tables(&db).await;
    assert!(tables.len() >= 9, "{tables:?}");
    for table in &tables {
        let alter = |what: &str| format!("ALTER TABLE tidegate.{table} {what} ROW LEVEL SECURITY");
        let policy = |what: &str| {
            format!(
                "CREATE POLICY p{} ON tidegate.{table} {what}",
                fastrand::u32(..)
            )
        };
        app.check_schema().await.unwrap();
        db.run(&alter("ENABLE")).await;
        for narrow in [
            "FOR SELECT USING (true)",
            "USING (1 = 2)",
            "TO postgres USING (true)",
        ] {
            let found = unfit(app.check_schema().await);
            let words = found.to_string();
            let Unfit::Hidden { tables, .. } = found else {
                unreachable!("{words}");
            };
            assert_eq!(&tables, std::slice::from_ref(table));
            assert!(
                words.contains("CREATE POLICY") && words.contains(&name),
                "{words}"
            );
            db.run(&policy(narrow)).await;
        }
        unfit(app.check_schema().await);
        // The owner is not bound by it, unless it is forced.
        db.inbox.check_schema().await.unwrap();
        db.run(&policy(&format!(
            "TO {name} USING (true) WITH CHECK (true)"
        )))
        .await;
        app.check_schema().await.unwrap();
        app.prove().await.unwrap();
        db.run(&policy("AS RESTRICTIVE USING (1 = 2)")).await;
        unfit(app.check_schema().await);
        db.run(&alter("DISABLE")).await;
    }
}

/// The tables of the host's schema.
const TABLES: [&str; 10] = [
    "dead_letter_rounds",
    "schema_history",
    "processed_events",
    "progress",
    "dead_letters",
    "consumers",
    "hosts",
    "replays",
    "replay_letters",
    "tenants",
];

/// Seen by an event trigger's doing before there was a schema, the history looks empty.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_trigger_that_hides_new_tables_is_not_taken_for_a_schema_that_is_missing() {
    let env = test_env("unfit-event").await;
    let (app, owner) = (format!("{}-app", env.db.name()), env.db.name());
    env.db
        .exec(&format!(
            "CREATE ROLE \"{owner}\" LOGIN; CREATE ROLE \"{app}\" LOGIN;
             CREATE SCHEMA tidegate AUTHORIZATION \"{owner}\";
             CREATE FUNCTION hide() RETURNS event_trigger LANGUAGE plpgsql AS $$
             DECLARE made record;
             BEGIN
                 FOR made IN SELECT * FROM pg_event_trigger_ddl_commands() WHERE object_type = 'table' LOOP
                     EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', made.object_identity);
                 END LOOP;
             END $$;
             CREATE EVENT TRIGGER hide ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION hide()"
        ))
        .await;
    let consumer = env.consumer(&env.unique("t"), "credit-rust").await;
    let config = env.config().consumer(consumer);
    let by = |login: &str| {
        let url = env.db.url().replace("postgres@", &format!("{login}@"));
        config.clone().postgres(&url)
    };
    assert_eq!(env.cli(&["migrate"], &by(owner)).await.code, 0);
    let harden = ["harden", "--apply", "--login", &app];
    assert_eq!(env.cli(&harden, &config).await.code, 0);
    for args in [
        &["run"][..],
        &["run", "--migrate"],
        &["migrate"],
        &["check", "--database"],
        &["dlt", "list"],
    ] {
        let said = env.cli(args, &by(&app)).await;
        refused(
            &said,
            args,
            &[
                "row-level security",
                "schema_history",
                "tenants",
                "DISABLE ROW LEVEL SECURITY",
            ],
        );
        assert!(
            !said.stderr.contains("not migrated") && !said.stdout.contains("not migrated"),
            "{said:?}"
        );
    }
    for table in TABLES {
        let policy = format!(
            "CREATE POLICY tidegate_host ON tidegate.{table} TO \"{app}\" USING (true) WITH CHECK (true)"
        );
        env.db.exec(&policy).await;
    }
    let checked = env.cli(&["check", "--database"], &by(&app)).await;
    assert!(
        checked
            .stdout
            .contains("ok       the seals hold, and the host sees its own rows"),
        "{checked:?}"
    );
    let host = env.host(by(&app)).args(&["run"]).start().await;
    host.wait_log("consumer", secs(60)).await;
    assert_eq!(host.terminate().await, 0, "{}", host.log());
}

fn refused(said: &Output, args: &[&str], words: &[&str]) {
    assert_eq!(said.code, 2, "{args:?}: {said:?}");
    for word in words {
        let all = format!("{}{}", said.stdout, said.stderr);
        assert!(all.contains(word), "{args:?}, {word}: {all}");
    }
}

/// It is tried, not read out of the catalogue: one that is off is found, and one whose function does nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_trigger_that_does_not_do_its_work_is_found() {
    let db = db(Wall::Grammar).await;
    db.inbox.prove().await.unwrap();
    for (table, trigger, function) in [
        ("progress", "progress_seal", "refuse_unsealed"),
        ("replays", "replay_seal", "refuse_unsealed_replay"),
        ("tenants", "tenants_changed", "tenants_changed"),
    ] {
        let alter = |what: &str| format!("ALTER TABLE tidegate.{table} {what} TRIGGER {trigger}");
        let definition = format!("SELECT pg_get_functiondef('tidegate.{function}'::regproc)");
        let definition: String = db.client.query_one(&definition, &[]).await.unwrap().get(0);
        let nothing = format!(
            "CREATE OR REPLACE FUNCTION tidegate.{function}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$"
        );
        for (hurt, heal) in [
            (alter("DISABLE"), alter("ENABLE ALWAYS")),
            (nothing, definition),
        ] {
            db.run(&hurt).await;
            let found = unfit(db.inbox.prove().await);
            let is_it = matches!(found, Unfit::Silent { trigger: of, .. } if of == trigger);
            assert!(is_it, "{hurt}: {found}");
            db.run(&heal).await;
            db.inbox.prove().await.unwrap();
        }
    }
    let left = "SELECT count(*) FROM tidegate.progress WHERE consumer_name = 'tidegate probe'";
    assert_eq!(db.number(left).await, 0, "nothing of a proof stays");
}

/// A later migration that forgets it is found here.
#[tokio::test(flavor = "multi_thread")]
async fn every_trigger_of_the_hosts_schema_fires_always() {
    let db = db(Wall::Grammar).await;
    let sql =
        "SELECT format('%s on %s: %s', tgname, tgrelid::regclass, tgenabled) FROM pg_trigger t
                 JOIN pg_class c ON c.oid = t.tgrelid
                WHERE c.relnamespace = 'tidegate'::regnamespace AND NOT tgisinternal";
    let rows = db.client.query(sql, &[]).await.unwrap();
    let found: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    assert!(found.len() >= 3, "{found:?}");
    let others = found.iter().filter(|found| !found.ends_with(": A"));
    assert_eq!(others.collect::<Vec<_>>(), Vec::<&String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_whose_triggers_do_not_fire_is_refused_by_the_place_that_made_it_so() {
    let db = db(Wall::Grammar).await;
    let (name, app) = login(&db).await;
    app.check_schema().await.unwrap();
    let database = db.url.rsplit('/').next().unwrap();
    for of in [
        format!("ALTER ROLE \"{name}\""),
        format!("ALTER DATABASE \"{database}\""),
        format!("ALTER ROLE \"{name}\" IN DATABASE \"{database}\""),
    ] {
        db.run(&format!("{of} SET session_replication_role = replica"))
            .await;
        let words = unfit(inbox_of(&db, &name).check_schema().await).to_string();
        assert!(
            words.contains(&format!("{of} RESET session_replication_role")),
            "{words}"
        );
        // A superuser may set it back.
        inbox_of(&db, "postgres").prove().await.unwrap();
        db.run(&format!("{of} RESET session_replication_role"))
            .await;
        inbox_of(&db, &name).check_schema().await.unwrap();
    }
}

/// A database of another encoding, and a configuration that goes there.
async fn encoded(env: &TestEnv, encoding: &str) -> HostConfig {
    let name = format!("{}-{}", env.db.name(), encoding.to_lowercase());
    env.db
        .exec(&format!(
            "CREATE DATABASE \"{name}\" TEMPLATE template0 ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C'"
        ))
        .await;
    let url = env.db.url().replace(env.db.name(), &name);
    let consumer = env.consumer(&env.unique("t"), "credit-rust").await;
    env.config().postgres(&url).consumer(consumer)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_not_in_utf_8_is_refused_and_left_as_it_is() {
    let env = test_env("enc").await;
    for encoding in ["LATIN1", "SQL_ASCII", "EUC_JP"] {
        let config = encoded(&env, encoding).await;
        for args in [
            &["run"][..],
            &["run", "--migrate"],
            &["migrate"],
            &["check", "--database"],
            &["offsets", "show"],
        ] {
            let said = env.cli(args, &config).await;
            let remedy = ["ENCODING 'UTF8' TEMPLATE template0", encoding];
            refused(&said, args, &remedy);
        }
        let name = format!("{}-{}", env.db.name(), encoding.to_lowercase());
        env.db.exec(&format!("DROP DATABASE \"{name}\"")).await;
    }
}
