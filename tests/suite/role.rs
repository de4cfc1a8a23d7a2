//! Handlers' roles in the host as it runs: the documented set-up, row-level security, and roles that cannot be taken.

use std::path::Path;

use tidegate_tests::{HostConfig, Rec};

use crate::scene::{PATIENCE, Scene, done_and_rejected};

/// The host without its first wall.
const WITHOUT_WALL: &str = env!("CARGO_BIN_EXE_tidegate-without-wall");

const DOCS: &str = include_str!("../../docs/security.md");

/// SQL that the page shows, to the letter.
fn documented(name: &str) -> &'static str {
    let (_, rest) = DOCS.split_once(&format!("<!-- sql: {name} -->")).unwrap();
    let (_, rest) = rest.split_once("```sql\n").unwrap();
    rest.split_once("```").unwrap().0
}

fn url(scene: &Scene, login: &str) -> String {
    let url = scene.env.db.url();
    url.replacen("//postgres@", &format!("//{login}@"), 1)
}

async fn cli(scene: &Scene, args: &[&str], config: &HostConfig, code: i32) -> String {
    let output = scene.env.cli(args, config).await;
    assert_eq!(
        output.code, code,
        "{args:?}: {} {}",
        output.stdout, output.stderr
    );
    output.stdout
}

/// The roles of the page are made here alone: they are the server's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::too_many_lines, reason = "one story, told in its order")]
async fn the_documented_set_up_keeps_two_handlers_apart_in_one_table() {
    let scene = Scene::new("role-docs", 1, 1).await;
    let db = &scene.env.db;
    db.exec(documented("roles")).await;
    db.exec(documented("policies")).await;
    let handlers = ["billing_handler", "audit_handler"];
    let mut config = scene.env.config();
    for handler in handlers {
        let consumer = scene.consumer("sql").await.batch("max_wait", "0ms");
        let consumer = consumer
            .set("name", handler)
            .group(&scene.env.unique(handler));
        config = config.consumer(consumer.set("role", handler));
    }
    let [owner, admin, app] = ["tidegate_owner", "postgres", "tidegate_app"]
        .map(|login| config.clone().postgres(&url(&scene, login)));
    cli(&scene, &["migrate"], &owner, 0).await;
    let before = cli(&scene, &["check", "--database"], &app, 1).await;
    for word in ["set_config", "GRANT USAGE ON SCHEMA tidegate", "TEMPORARY"] {
        assert!(before.contains(word), "{word}: {before}");
    }
    let harden = ["harden", "--login", "tidegate_app"];
    let printed = cli(&scene, &harden, &admin, 0).await;
    assert!(
        printed.contains(
            "REVOKE EXECUTE ON FUNCTION pg_catalog.set_config(text, text, boolean) FROM PUBLIC;"
        ),
        "{printed}"
    );
    assert_eq!(
        cli(&scene, &harden, &admin, 0).await,
        printed,
        "printing changes nothing"
    );
    let apply = [&harden[..], &["--apply"]].concat();
    let refused = scene.env.cli(&apply, &owner).await;
    assert_eq!(refused.code, 1, "{}", refused.stdout);
    let applied = cli(&scene, &apply, &admin, 0).await;
    assert!(applied.ends_with("-- done\n"), "{applied}");
    let again = cli(&scene, &apply, &admin, 0).await;
    assert_eq!(again, "-- nothing is left to be done\n");
    let after = cli(&scene, &["check", "--database"], &app, 0).await;
    assert!(after.contains("ok       rights: "), "{after}");
    assert!(!after.contains("warning"), "{after}");

    // The login can do all that a host does, and the handlers see their own rows alone.
    let host = scene.env.host(app.clone()).start().await;
    let texts = [
        "INSERT INTO ledger (account, amount) VALUES (1, 10)",
        "UPDATE ledger SET amount = amount + 1",
        "DELETE FROM ledger WHERE tenant <> current_user",
        "COMMIT",
    ];
    let records = texts.iter().enumerate();
    let records = records.map(|(n, sql)| Rec::new(*sql).to(0).event_id(&format!("e{n}")));
    scene.produce(records.collect()).await;
    for handler in handlers {
        let what = "a handler's counters";
        let done = done_and_rejected(3, 1);
        tidegate_tests::wait_eq(PATIENCE, what, done, async || {
            scene.counts_of(handler).await
        })
        .await;
    }
    let rows = db
        .query_text("SELECT tenant, amount FROM ledger ORDER BY 1")
        .await;
    let row = |tenant: &str| vec![Some(tenant.to_owned()), Some("11".to_owned())];
    assert_eq!(rows, [row("audit_handler"), row("billing_handler")]);
    let billing = ["--consumer", "billing_handler"];
    let failed = cli(
        &scene,
        &[&["dlt", "replay"][..], &billing].concat(),
        &app,
        1,
    )
    .await;
    assert!(failed.contains("done"), "{failed}");
    for (args, of) in [
        (&["dlt", "list"][..], &billing[..]),
        (&["dlt", "discard", "--yes"], &billing),
        (&["consumer", "pause", "billing_handler"], &[]),
        (&["consumer", "list"], &[]),
        (&["consumer", "resume", "billing_handler"], &[]),
        (&["offsets", "show"], &[]),
    ] {
        cli(&scene, &[args, of].concat(), &app, 0).await;
    }
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_that_is_not_there_stops_and_heals_without_a_restart() {
    let scene = Scene::new("role-none", 1, 1).await;
    let db = &scene.env.db;
    let [role, login] = ["handler", "app"].map(|name| format!("{name}_{:08x}", fastrand::u32(..)));
    db.exec("CREATE TABLE seen (who text DEFAULT current_user)")
        .await;
    db.exec(&format!("CREATE ROLE {login} LOGIN NOINHERIT"))
        .await;
    let consumer = scene.consumer("sql").await.batch("max_wait", "0ms");
    let config = scene
        .env
        .config()
        .watched()
        .consumer(consumer.set("role", &role));
    cli(&scene, &["migrate"], &config, 0).await;
    let apply = ["harden", "--apply", "--login", &login];
    cli(&scene, &apply, &config, 0).await;
    let config = config.postgres(&url(&scene, &login));
    let checked = cli(&scene, &["check", "--database"], &config, 1).await;
    assert!(checked.contains("does not exist; CREATE ROLE"), "{checked}");
    let host = scene.env.host(config).start().await;
    let sql = "INSERT INTO seen DEFAULT VALUES";
    scene.produce(vec![Rec::new(sql).to(0).event_id("e")]).await;
    host.wait_log("does not exist", PATIENCE).await;
    host.wait_status("/readyz", 503).await;
    db.exec(&format!(
        "CREATE ROLE {role} NOLOGIN; GRANT INSERT ON seen TO {role}"
    ))
    .await;
    host.wait_log("may not take the role", PATIENCE).await;
    db.exec(&format!("GRANT {role} TO {login}")).await;
    scene.wait_counts(done_and_rejected(1, 0)).await;
    host.wait_status("/readyz", 200).await;
    let seen = db.query_text("SELECT who FROM seen").await;
    assert_eq!(seen, [[Some(role)]]);
    assert_eq!(scene.letters().await, []);
    assert_eq!(host.terminate().await, 0);
}

/// With the check of statements off.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guest_that_leaves_its_role_commits_nothing_and_is_quarantined() {
    let scene = Scene::new("role-left", 1, 1).await;
    let role = format!("handler_{:08x}", fastrand::u32(..));
    scene
        .env
        .db
        .exec(&format!(
            "CREATE TABLE effects (who text); CREATE ROLE {role} NOLOGIN; GRANT INSERT ON effects TO {role}"
        ))
        .await;
    let write = "INSERT INTO effects VALUES (current_user)";
    // By a function: the server's word for it is SELECT, and only the proof sees it.
    let escape = format!("SELECT set_config('role', 'none', true)\n;;\n{write}");
    let [good, bad] =
        [("good", write), ("bad", &escape)].map(|(id, sql)| Rec::new(sql).to(0).event_id(id));
    scene.produce(vec![good, bad]).await;
    let consumer = scene.consumer("sql").await.set("role", &role);
    let config = scene.env.config().consumer(consumer);
    let host = scene
        .env
        .host(config)
        .bin(Path::new(WITHOUT_WALL))
        .start()
        .await;
    host.wait_log("quarantined", PATIENCE).await;
    scene.wait_counts(done_and_rejected(1, 1)).await;
    assert_eq!(scene.codes().await, ["escape"]);
    let effects = scene.env.db.query_text("SELECT who FROM effects").await;
    assert_eq!(effects, [[Some(role)]]);
    assert!(host.is_running());
}
