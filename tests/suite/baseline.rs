//! What role and database have set does not reach the host's sessions.

mod hostile;
mod pooler;

use tidegate::inbox::baseline;
use tidegate_tests::{Host, secs, test_env, wait_eq};

use crate::rows::PATIENCE;
use crate::scene::Scene;

/// The lock that whoever migrates holds.
const LOCK: &str = "SELECT pg_advisory_lock(7166182400921774)";

/// A new version of the server brings new ones: each is to be pinned, or left for a reason.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_setting_that_a_role_may_have_of_its_own_is_pinned_or_left_for_a_reason() {
    let env = test_env("baseline-all").await;
    let sql = "SELECT name FROM pg_settings WHERE context IN ('user', 'superuser', 'backend', 'superuser-backend')
                  AND name NOT LIKE '%.%' ORDER BY 1";
    let names = env.db.query_text(sql).await;
    let names: Vec<String> = names.into_iter().flatten().flatten().collect();
    assert!(names.len() > 150, "{names:?}");
    let unknown = names
        .iter()
        .filter(|name| baseline::decided(name).is_none());
    assert_eq!(unknown.collect::<Vec<_>>(), Vec::<&String>::new());
    let pinned = names
        .iter()
        .filter(|name| baseline::decided(name).is_some_and(|d| d.0));
    assert!(pinned.count() >= 28);
}

/// What a login may be made to run into while it waits for the others: each of these ended the wait.
const SHORT: [&str; 4] = [
    "statement_timeout = '500ms'",
    "lock_timeout = '100ms'",
    "idle_in_transaction_session_timeout = '100ms'",
    "default_transaction_read_only = on",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn six_hosts_that_migrate_at_once_wait_for_one_another_whatever_their_roles_patience() {
    let scene = Scene::new("six-hosts", 1, 1).await;
    let login = scene.env.db.name();
    scene
        .env
        .db
        .exec(&format!("CREATE ROLE \"{login}\" SUPERUSER LOGIN"))
        .await;
    for setting in SHORT {
        let alter = format!("ALTER ROLE \"{login}\" SET {setting}");
        scene.env.db.exec(&alter).await;
    }
    let url = scene
        .env
        .db
        .url()
        .replace("postgres@", &format!("{login}@"));
    let consumer = scene.consumer("rejects").await;
    let config = scene.env.config().postgres(&url).consumer(consumer);
    let slow = scene.env.db.client().await;
    slow.batch_execute(LOCK).await.unwrap();
    let mut hosts: Vec<Host> = Vec::new();
    for _ in 0..6 {
        hosts.push(scene.env.host(config.clone()).start().await);
    }
    for host in &hosts {
        host.wait_log("another process migrates the schema", PATIENCE)
            .await;
    }
    drop(slow);
    let alive = "SELECT count(DISTINCT host) FROM tidegate.hosts";
    let made = "SELECT count(*) FROM pg_class WHERE oid = to_regclass('tidegate.hosts')";
    wait_eq(PATIENCE, "hosts that run", 6, async || {
        match scene.env.db.query_one_i64(made).await {
            1 => scene.env.db.query_one_i64(alive).await,
            _ => 0,
        }
    })
    .await;
    for host in &hosts {
        assert!(host.is_running(), "{}", host.log());
    }
    for host in hosts {
        host.kill();
        host.wait_exit(secs(30)).await;
    }
}
