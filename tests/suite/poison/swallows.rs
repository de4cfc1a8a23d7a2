//! A guest that swallows an SQL error and says done.

use tidegate_tests::Rec;

use crate::scene::{Scene, done_and_rejected, pay};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_swallowed_sql_error_commits_nothing_and_is_the_letters_cause() {
    let scene = Scene::new("swallows", 1, 6).await;
    let records = vec![
        pay(1, "e1", ""),
        swallow(2, None),
        pay(3, "e3", ""),
        swallow(4, Some("INSERT INTO accounts VALUES (1, 0)")),
        swallow(5, Some("SELECT 'no number'::bigint")),
        pay(6, "e6", ""),
    ];
    scene.produce(records).await;
    let _host = scene.run(scene.consumer("swallows-error").await).await;
    scene.wait_counts(done_and_rejected(3, 3)).await;

    assert_eq!(scene.journal().await, [1, 3, 6]);
    let letters = scene.letters().await;
    let causes: Vec<_> = letters
        .iter()
        .map(|l| (l.offset, l.code.as_str(), l.sqlstate.as_deref()))
        .collect();
    let expected = [
        (1, "sql-22012", Some("22012")),
        (3, "sql-23505", Some("23505")),
        (4, "sql-22P02", Some("22P02")),
    ];
    assert_eq!(causes, expected);
    assert!(
        letters[0].message.contains("division by zero"),
        "{letters:?}"
    );
    assert!(letters[1].message.contains("accounts_pkey"), "{letters:?}");
}

fn swallow(account: i64, sql: Option<&str>) -> Rec {
    let mut value = serde_json::json!({
        "amount_minor": 1, "account_id": account, "trick": "swallow",
    });
    if let Some(sql) = sql {
        value["sql"] = sql.into();
    }
    Rec::new(value.to_string())
        .to(0)
        .event_id(&format!("e{account}"))
}
