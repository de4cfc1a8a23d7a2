//! Guests' roles in the transaction: whose rights hold for which statement, and what a name means then. Where a statement
//! asks what no handler may, the check of statements is off.

use std::sync::Arc;

use tidegate::inbox::{Guest, Inbox, Judge, Rules, Transaction, Wall};
use tidegate_core::claim::EventId;
use tidegate_core::failure::Failure;
use tidegate_core::outcome::Outcome;
use tidegate_core::sql::{CallError, Expectation, GuestSql, Value};

use super::inbox_support::{Db, ask, config, db, finish, hour, ints};

/// An inbox that a login with few rights opens, and two guests' roles, which it may take.
pub(crate) struct Roles {
    pub(crate) db: Db,
    pub(crate) login: String,
    pub(crate) one: String,
    pub(crate) two: String,
}

/// Roles belong to the server, not to a database: each test has its own.
pub(crate) async fn roles(wall: Wall) -> Roles {
    roles_on(wall, &["public"]).await
}

pub(crate) async fn roles_on(wall: Wall, search_path: &[&str]) -> Roles {
    let mut db = db(wall).await;
    let suffix = format!("{:08x}", fastrand::u32(..));
    let [login, one, two] = ["login", "one", "two"].map(|name| format!("{name}_{suffix}"));
    db.run(&format!(
        "CREATE ROLE {login} LOGIN NOINHERIT; CREATE ROLE {one} NOLOGIN; CREATE ROLE {two} NOLOGIN;
         GRANT {one}, {two} TO {login}; GRANT USAGE ON SCHEMA tidegate TO {login};
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA tidegate TO {login};
         GRANT USAGE ON ALL SEQUENCES IN SCHEMA tidegate TO {login};
         GRANT SELECT, UPDATE ON accounts TO {one}, {two}"
    ))
    .await;
    let url = db.url.replacen("//postgres@", &format!("//{login}@"), 1);
    let mut config = config(&url);
    config.search_path = search_path.iter().map(|s| (*s).to_owned()).collect();
    db.inbox = Inbox::new(&config, wall).expect("an inbox");
    Roles {
        db,
        login,
        one,
        two,
    }
}

/// A judge of guests that ask who they are.
fn asking() -> Arc<Judge> {
    let mut rules = Rules::default();
    for name in ["current_setting", "session_user"] {
        rules.allow_function(name).expect("allowed");
    }
    Arc::new(Judge::new(rules))
}

pub(crate) fn guest(role: Option<&str>) -> Arc<Guest> {
    Arc::new(Guest {
        module: "m".into(),
        role: role.map(Into::into),
        judge: Some(asking()),
        ..Guest::default()
    })
}

/// The first row's texts.
pub(crate) async fn texts(transaction: &mut Transaction, sql: &str) -> Vec<String> {
    let rows = ask(transaction, sql, vec![]).await.expect(sql).rows;
    let text = |value: &Value| match value {
        Value::Text(text) => text.clone(),
        other => format!("{other:?}"),
    };
    rows[0].iter().map(text).collect()
}

const WHO: &str =
    "SELECT current_user::text, session_user::text, array_to_string(current_schemas(false), ',')";

/// Writes down who changes a table, and by which search path.
async fn watch(db: &Db, tables: &[&str]) {
    db.run(
        "CREATE TABLE public.audit (what text, who text, path text);
         GRANT INSERT ON public.audit TO PUBLIC;
         CREATE FUNCTION public.audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            INSERT INTO public.audit VALUES (TG_TABLE_NAME, current_user, current_setting('search_path'));
            RETURN NULL; END $$",
    )
    .await;
    for table in tables {
        db.run(&format!(
            "CREATE TRIGGER audit AFTER INSERT OR UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION public.audit()"
        ))
        .await;
    }
}

async fn audited(db: &Db) -> Vec<(String, String, String)> {
    let sql = "SELECT DISTINCT what, who, path FROM public.audit ORDER BY 1";
    let rows = db.client.query(sql, &[]).await.expect("rows");
    rows.iter()
        .map(|row| (row.get(0), row.get(1), row.get(2)))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_writes_under_its_role_and_the_host_under_the_login() {
    let roles = roles(Wall::Off).await;
    let (db, one, login) = (&roles.db, roles.one.as_str(), roles.login.as_str());
    let host = [
        "tidegate.progress",
        "tidegate.processed_events",
        "tidegate.dead_letters",
    ];
    watch(db, &[&host[..], &["accounts"]].concat()).await;
    let (mut transaction, _) = db.open(0, vec![hour("a", 0), hour("b", 1)]).await;
    transaction.run_by(guest(Some(one)));
    transaction.enter(0);
    let credit = "UPDATE accounts SET balance = balance + 1 WHERE id = 1";
    let staged = transaction
        .stage(credit.into(), vec![], Expectation::Exactly(1))
        .await;
    staged.expect("staged");
    let who = texts(&mut transaction, WHO).await;
    assert_eq!(who, [one, login, "public"]);
    let mut end = finish(2);
    let id = EventId::new("b".into()).expect("an id");
    end.outcomes = vec![(Arc::default(), id, Outcome::Skipped)];
    transaction.commit(end).await.expect("committed");
    let own = |what: &str| {
        (
            what.to_owned(),
            login.to_owned(),
            "pg_catalog, pg_temp".to_owned(),
        )
    };
    let guests = (
        "accounts".to_owned(),
        one.to_owned(),
        "public, pg_temp".to_owned(),
    );
    let expected = vec![guests, own("processed_events"), own("progress")];
    assert_eq!(audited(db).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_guest_of_a_transaction_has_its_own_rights_and_names() {
    let schemas = ["one", "two"];
    let roles = roles_on(Wall::Grammar, &schemas).await;
    let db = &roles.db;
    for (schema, role) in schemas.iter().zip([&roles.one, &roles.two]) {
        db.run(&format!(
            "CREATE SCHEMA {schema}; CREATE TABLE {schema}.mine AS SELECT '{schema}'::text AS whose;
             GRANT USAGE ON SCHEMA {schema} TO {role}; GRANT SELECT, INSERT ON {schema}.mine TO {role}"
        ))
        .await;
    }
    let mine = "SELECT whose, current_user::text FROM mine";
    for at in 0..2 {
        let (mut transaction, _) = db.open(at, vec![]).await;
        let turns = [
            (&roles.one, "one"),
            (&roles.two, "two"),
            (&roles.two, "two"),
            (&roles.one, "one"),
        ];
        for (n, (role, schema)) in turns.into_iter().enumerate() {
            transaction.run_by(guest(Some(role)));
            transaction.enter(i64::try_from(n).expect("small"));
            assert_eq!(texts(&mut transaction, mine).await, [schema, role]);
        }
        transaction.commit(finish(at + 1)).await.expect("committed");
    }
}

/// A server looks at the right to use a schema when it reads a statement, not when it runs it.
#[tokio::test(flavor = "multi_thread")]
async fn what_one_guest_has_prepared_is_no_way_into_a_schema_for_another() {
    let roles = roles(Wall::Grammar).await;
    let (db, one, two) = (&roles.db, &roles.one, &roles.two);
    db.run(&format!(
        "CREATE SCHEMA hidden; CREATE TABLE hidden.t AS SELECT 1 AS n;
         GRANT SELECT ON hidden.t TO {one}, {two}; GRANT USAGE ON SCHEMA hidden TO {one}"
    ))
    .await;
    let (mut transaction, _) = db.open(0, vec![]).await;
    for (role, works) in [(one, true), (two, false)] {
        transaction.run_by(guest(Some(role)));
        transaction.enter(0);
        let answer = ask(&mut transaction, "SELECT n FROM hidden.t", vec![]).await;
        assert_eq!(answer.is_ok(), works, "{answer:?}");
    }
    let broken = transaction.commit(finish(1)).await.expect_err("refused");
    assert!(
        matches!(&broken.failure, Failure::Sql { sqlstate, .. } if sqlstate == "42501"),
        "{broken:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_may_not_be_taken_is_nobodys_fault_and_heals_by_its_grant() {
    let roles = roles(Wall::Grammar).await;
    let db = &roles.db;
    let lone = format!("lone_{}", roles.one);
    for (awaited, code, remedy) in [
        (true, "22023", "CREATE ROLE"),
        (false, "22023", "CREATE ROLE"),
        (true, "42501", "GRANT"),
        (false, "42501", "GRANT"),
    ] {
        if code == "42501" && awaited {
            db.run(&format!("CREATE ROLE {lone} NOLOGIN")).await;
        }
        let (mut transaction, _) = db.open(0, vec![hour("a", 0)]).await;
        transaction.run_by(guest(Some(&lone)));
        transaction.enter(7);
        if awaited {
            let answer = ask(&mut transaction, "SELECT 1", vec![]).await;
            assert_eq!(answer, Err(CallError::Ended));
        } else {
            let sql = "UPDATE accounts SET balance = 0";
            transaction
                .stage(sql.into(), vec![], Expectation::Any)
                .await
                .ok();
        }
        let broken = transaction.commit(finish(1)).await.expect_err("refused");
        assert_eq!(broken.offset, Some(7));
        let Failure::RoleRefused { message } = &broken.failure else {
            panic!("{broken:?}")
        };
        for word in [&lone, &roles.login, code, remedy, "TO"] {
            assert!(message.contains(word), "{word}: {message}");
        }
    }
    db.run(&format!("GRANT {lone} TO {}", roles.login)).await;
    let (mut transaction, _) = db.open(0, vec![hour("a", 0)]).await;
    transaction.run_by(guest(Some(&lone)));
    transaction.enter(0);
    assert_eq!(
        texts(&mut transaction, "SELECT current_user::text").await,
        [lone]
    );
    transaction.commit(finish(1)).await.expect("committed");
    assert_eq!(db.total().await, 100_000);
}

/// With the check of statements off: the proof stands between two guests too, not at the end alone.
#[tokio::test(flavor = "multi_thread")]
async fn what_one_guest_changes_is_exposed_before_the_next_one_runs() {
    let roles = roles(Wall::Off).await;
    let change = "SELECT set_config('row_security', 'off', true)";
    for next in [Some(roles.two.as_str()), None] {
        let (mut transaction, _) = roles.db.open(0, vec![hour("a", 0)]).await;
        transaction.run_by(guest(Some(&roles.one)));
        transaction.enter(0);
        texts(&mut transaction, change).await;
        transaction.run_by(guest(next));
        let answer = ask(&mut transaction, "SELECT 1", vec![]).await;
        assert_eq!(answer, Err(CallError::Ended));
        let broken = transaction.commit(finish(1)).await.expect_err("exposed");
        assert_eq!(broken.offset, Some(0));
        assert!(
            matches!(broken.failure, Failure::Escape { .. }),
            "{broken:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_runs_no_statement_takes_no_role() {
    let roles = roles(Wall::Grammar).await;
    let (mut transaction, _) = roles.db.open(0, vec![hour("a", 0)]).await;
    transaction.run_by(guest(Some("nobody_has_this_role")));
    transaction.enter(0);
    transaction.commit(finish(1)).await.expect("committed");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_role_a_guest_runs_as_the_login_with_its_own_names() {
    let roles = roles(Wall::Off).await;
    let (mut transaction, _) = roles.db.open(0, vec![]).await;
    transaction.enter(0);
    let who = texts(&mut transaction, WHO).await;
    assert_eq!(who, [&roles.login, &roles.login, "public"]);
    transaction.commit(finish(1)).await.expect("committed");
}

/// Objects in a schema of the search path that fit the host's statements better than the server's own would.
#[tokio::test(flavor = "multi_thread")]
async fn the_hosts_names_mean_the_servers_own_objects() {
    let roles = roles(Wall::Off).await;
    let db = &roles.db;
    db.run(
        "CREATE FUNCTION public.unnest(text[]) RETURNS SETOF text LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'hostile'; END $$;
         CREATE FUNCTION public.times(bigint, interval) RETURNS interval LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'hostile'; END $$;
         CREATE OPERATOR public.* (LEFTARG = bigint, RIGHTARG = interval, FUNCTION = public.times)",
    )
    .await;
    let (mut transaction, _) = db.open(0, vec![hour("a", 0)]).await;
    transaction.run_by(guest(Some(&roles.one)));
    transaction.enter(0);
    let sql = "SELECT unnest(ARRAY['x']::text[])";
    let reached = ask(&mut transaction, sql, vec![]).await;
    assert!(
        matches!(&reached, Err(CallError::Sql(e)) if e.message == "hostile"),
        "a guest's names do mean them: {reached:?}"
    );
    transaction.rollback().await;
    let (mut transaction, _) = db.open(0, vec![hour("a", 0)]).await;
    transaction.run_by(guest(Some(&roles.one)));
    transaction.enter(0);
    transaction
        .execute(super::inbox_support::CREDIT.into(), ints(&[1, 1]))
        .await
        .expect("credited");
    let mut end = finish(1);
    let id = EventId::new("a".into()).expect("an id");
    end.outcomes = vec![(Arc::default(), id.clone(), Outcome::Skipped)];
    end.superseded = vec![(Arc::default(), id)];
    transaction.commit(end).await.expect("committed");
}
