//! Two tenants under different roles in one batch: neither reaches the other's rows, whatever its module sends.

use tidegate_tests::{Rec, wait_for};

use super::{letters, of, started};
use crate::scene::{PATIENCE, Scene, done_and_rejected};

/// Names of roles are the server's, and other tests run beside this one.
struct Roles {
    a: String,
    b: String,
}

/// One table with a policy by role, one table a role.
async fn tables(scene: &Scene) -> Roles {
    let name = |letter: &str| scene.env.unique(letter).replace('-', "_");
    let roles = Roles {
        a: name("role_a"),
        b: name("role_b"),
    };
    let Roles { a, b } = &roles;
    let sql = format!(
        "CREATE ROLE {a} NOLOGIN; CREATE ROLE {b} NOLOGIN;
         CREATE TABLE of_a (note text); GRANT ALL ON of_a TO {a};
         CREATE TABLE of_b (note text); GRANT ALL ON of_b TO {b};
         CREATE TABLE shared (owner text NOT NULL DEFAULT current_user, note text);
         ALTER TABLE shared ENABLE ROW LEVEL SECURITY;
         CREATE POLICY own ON shared USING (owner = current_user) WITH CHECK (owner = current_user);
         GRANT ALL ON shared TO {a}, {b}"
    );
    scene.env.db.exec(&sql).await;
    roles
}

fn run(tenant: &str, id: &str, sql: &str) -> Rec {
    of(tenant, Rec::new(sql).to(0).event_id(id))
}

async fn consumer(scene: &Scene, roles: &Roles) -> tidegate_tests::Consumer {
    let toml = format!(
        "[consumer.tenants]\nfrom = \"header:tenant\"\n\
         [consumer.tenant.a]\nrole = {:?}\n[consumer.tenant.b]\nrole = {:?}\n",
        roles.a, roles.b
    );
    scene.consumer("sql").await.raw(&toml)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_tenants_in_one_batch_read_and_write_rows_of_their_own_alone() {
    let scene = Scene::new("tenants-roles", 1, 1).await;
    let roles = tables(&scene).await;
    // Each copies all that it sees of the shared table, which has a row of either by then.
    let records = vec![
        run("a", "a1", "INSERT INTO shared (note) VALUES ('of a')"),
        run("b", "b1", "INSERT INTO shared (note) VALUES ('of b')"),
        run("a", "a2", "INSERT INTO of_a SELECT note FROM shared"),
        run("b", "b2", "INSERT INTO of_b SELECT note FROM shared"),
        run("a", "a3", "UPDATE shared SET note = note || '!'"),
        run("b", "b3", "DELETE FROM shared WHERE owner <> current_user"),
        run("a", "a4", "INSERT INTO of_a VALUES (current_user)"),
        run("b", "b4", "INSERT INTO of_b VALUES (current_user)"),
    ];
    scene.produce(records).await;
    let consumer = consumer(&scene, &roles).await;
    let config = scene.env.config().consumer(consumer.clone());
    let host = started(&scene, &config).await;
    scene.wait_counts(done_and_rejected(8, 0)).await;
    let db = &scene.env.db;
    assert_eq!(
        db.query_one_i64("SELECT sum(begun) FROM tidegate.progress")
            .await,
        1,
        "one batch"
    );
    let texts = async |sql: &str| {
        let rows = db.query_text(sql).await;
        rows.into_iter()
            .map(|row| row[0].clone().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(texts("SELECT note FROM of_a").await, ["of a", &roles.a]);
    assert_eq!(texts("SELECT note FROM of_b").await, ["of b", &roles.b]);
    assert_eq!(
        texts("SELECT note FROM shared ORDER BY note").await,
        ["of a!", "of b"]
    );
    assert_eq!(host.terminate().await, 0);
}

/// A module that reaches for the other's rows gets nowhere: not by its table, its policy, its role, nor the host's tables.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_module_that_reaches_for_another_tenants_rows_brakes_its_own_tenant() {
    let tries = [
        "INSERT INTO of_b VALUES ('from a')",
        "INSERT INTO of_a SELECT note FROM of_b",
        "SET ROLE postgres",
        "INSERT INTO of_a SELECT value::text FROM tidegate.dead_letters",
        "SELECT set_config('role', 'none', true)",
    ];
    for sql in tries {
        let scene = Scene::new("tenants-reach", 1, 1).await;
        let roles = tables(&scene).await;
        scene
            .env
            .db
            .exec("INSERT INTO of_b VALUES ('secret')")
            .await;
        let records = vec![
            run("b", "b1", "INSERT INTO of_b VALUES ('mine')"),
            run("a", "a1", sql),
            run("b", "b2", "INSERT INTO of_b VALUES ('mine too')"),
        ];
        scene.produce(records).await;
        let host = scene.run(consumer(&scene, &roles).await).await;
        scene.wait_counts(done_and_rejected(2, 1)).await;
        let (_, tenant, code) = letters(&scene).await.remove(0);
        assert_eq!(tenant, "a");
        // A right that is missing holds the tenant back; a statement of another kind is that record's own fault.
        assert!(
            code == "tenant-braked" || code == "sql-refused",
            "{sql}: {code}"
        );
        let db = &scene.env.db;
        assert_eq!(db.query_one_i64("SELECT count(*) FROM of_a").await, 0);
        assert_eq!(db.query_one_i64("SELECT count(*) FROM of_b").await, 3);
        assert_eq!(host.terminate().await, 0);
    }
}

/// What a stored definition names must not become a right by the hand of whoever hardens the database.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hardening_grants_no_role_that_a_handler_must_not_have_and_takes_nothing_from_the_owner() {
    let scene = Scene::new("tenants-harden", 1, 1).await;
    let Roles { a, b } = &tables(&scene).await;
    let login = scene.env.unique("login").replace('-', "_");
    let toml = format!(
        "[consumer.tenants]\nfrom = \"header:tenant\"\n\
         [consumer.tenant.a]\nrole = {a:?}\n[consumer.tenant.b]\nrole = {b:?}\n"
    );
    let config = scene
        .env
        .config()
        .consumer(scene.consumer("sql").await.raw(&toml));
    super::command(&scene, &config, &["migrate"]).await;
    let sql = format!(
        "CREATE ROLE {login} LOGIN NOINHERIT; ALTER ROLE {a} BYPASSRLS; ALTER SCHEMA tidegate OWNER TO {b}"
    );
    scene.env.db.exec(&sql).await;
    let measures = super::command(&scene, &config, &["harden", "--login", &login]).await;
    assert!(
        measures.contains("GRANT USAGE ON SCHEMA tidegate"),
        "{measures}"
    );
    for role in [a, b] {
        assert!(
            !measures.contains(&format!("GRANT {role} TO")),
            "{measures}"
        );
        assert!(!measures.contains(&format!("FROM {role}")), "{measures}");
    }
    let checked = scene.env.cli(&["check", "--database"], &config).await;
    assert_eq!(checked.code, 1, "{checked:?}");
    let problems = checked.stdout.matches("no handler may have it").count();
    assert_eq!(problems, 2, "{}", checked.stdout);
    scene
        .env
        .db
        .exec(&format!(
            "ALTER SCHEMA tidegate OWNER TO postgres; DROP ROLE {login}"
        ))
        .await;
}

/// The server's words on one tenant's rows reach nobody's log and no other tenant: codes and names alone do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_server_says_of_a_tenants_rows_stays_with_it() {
    let scene = Scene::new("tenants-values", 1, 1).await;
    let roles = tables(&scene).await;
    scene
        .env
        .db
        .exec("ALTER TABLE of_a ADD UNIQUE (note)")
        .await;
    let records = vec![
        run("a", "a1", "INSERT INTO of_a VALUES ('ada@example.org')"),
        run("b", "b1", "INSERT INTO of_b VALUES ('b')"),
        run("a", "a2", "INSERT INTO of_a VALUES ('ada@example.org')"),
        run(
            "a",
            "a3",
            "INSERT INTO of_a VALUES ('x'), (('ada@example.org'::text)::int::text)",
        ),
        run("b", "b2", "INSERT INTO of_b VALUES ('b')"),
    ];
    scene.produce(records).await;
    let config = scene
        .env
        .config()
        .watched()
        .consumer(consumer(&scene, &roles).await);
    let host = started(&scene, &config).await;
    scene.wait_counts(done_and_rejected(3, 2)).await;
    let dlt = format!("{}.dlt", scene.topic);
    let published = wait_for(PATIENCE, "both letters", async || {
        let all = scene.env.kafka.consume_all(&dlt).await;
        (all.len() == 2).then_some(all)
    })
    .await;
    let own = |name: &str| name.starts_with("tidegate-");
    let headers = published.iter().flat_map(|letter| &letter.headers);
    for (name, value) in headers.filter(|(name, _)| own(name)) {
        let text = String::from_utf8_lossy(value.as_deref().unwrap_or_default()).into_owned();
        assert!(!text.contains("ada@"), "{name}: {text}");
    }
    let metrics = host.ask("/metrics").await.body;
    assert!(
        metrics.contains("tidegate_tenant_records_total"),
        "{metrics}"
    );
    let counted = |tenant: &str, outcome: &str, count: u32| {
        let labels = format!("tenant=\"{tenant}\",outcome=\"{outcome}\"}} {count}");
        assert!(metrics.contains(&labels), "{labels} is not in {metrics}");
    };
    counted("a", "done", 1);
    counted("a", "rejected", 2);
    counted("b", "done", 2);
    assert!(
        metrics.contains("tidegate_tenant_guest_cpu_microseconds_total{"),
        "{metrics}"
    );
    assert!(metrics.contains("state=\"running\"} 2"), "{metrics}");
    for text in [host.log(), metrics.clone()] {
        assert!(!text.contains("ada@"), "{text}");
    }
    let in_row = "SELECT count(*) FROM tidegate.dead_letters WHERE tenant = 'a' AND sqlstate IN ('23505', '22P02')";
    assert_eq!(scene.env.db.query_one_i64(in_row).await, 2);
    assert_eq!(host.terminate().await, 0);
}
