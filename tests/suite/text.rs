//! Text: foreign bytes that PostgreSQL cannot store, the order of statements, collations.

use tidegate_tests::{Rec, wait_for};

use crate::scene::{PATIENCE, Scene, done_and_rejected, pay};

/// A record that writes `body` into text and `doc` into jsonb. `ignored` is a field that the guest never reads.
fn note(n: i64, body: &str, doc: &str, ignored: &str) -> Rec {
    let steps = serde_json::json!([{
        "sql": "INSERT INTO notes (n, body, doc) VALUES ($1, $2, $3)",
        "params": [
            { "type": "int64", "value": n },
            { "type": "text", "value": body },
            { "type": "json", "value": doc },
        ],
        "mode": "stage",
        "expect": { "exactly": 1 },
        "ignored": ignored,
    }]);
    Rec::new(steps.to_string()).to(0).event_id(&format!("e{n}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_nul_in_json_troubles_only_the_record_whose_handler_stores_it() {
    let scene = Scene::new("text-nul", 1, 1).await;
    let table = "CREATE TABLE notes (n bigint PRIMARY KEY, body text, doc jsonb)";
    scene.env.db.exec(table).await;
    let nul = r#"{"a": "\u0000"}"#;
    let record = |n: i64| match n {
        20 => note(n, "fine", "{}", "\0"),
        30 => note(n, "fine", nul, ""),
        31 => note(n, "a\0b", "{}", ""),
        _ => note(n, "fine", "{}", ""),
    };
    scene.produce((1..=50).map(record).collect()).await;
    let _host = scene.run(scene.consumer("all-values").await).await;
    scene.wait_counts(done_and_rejected(48, 2)).await;
    let letters = scene.letters().await;
    assert_eq!(
        (letters[0].offset, letters[0].code.as_str()),
        (29, "sql-22P05")
    );
    assert_eq!(letters[0].sqlstate.as_deref(), Some("22P05"));
    // A NUL in text never reaches the server: the host refuses the parameter.
    assert_eq!(
        (letters[1].offset, letters[1].code.as_str()),
        (30, "bad-parameter")
    );
    let sql = "SELECT count(*), count(DISTINCT n), sum(n) FROM notes";
    let sums = crate::scene::numbers(scene.env.db.query_text(sql).await);
    assert_eq!(sums, [[48, 48, 50 * 51 / 2 - 30 - 31]]);
    // The letters keep the values as they came.
    let sql = "SELECT octet_length(value) FROM tidegate.dead_letters ORDER BY \"offset\"";
    let kept = crate::scene::numbers(scene.env.db.query_text(sql).await).concat();
    let sent = [30, 31].map(|n| record(n).value.unwrap().len());
    assert_eq!(kept, sent.map(|n| i64::try_from(n).unwrap()));
}

/// Text that the server itself cannot hold, built by the guest's own SQL.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn text_that_the_server_refuses_is_the_records_own_dead_letter() {
    let scene = Scene::new("text-server", 1, 5).await;
    let update = |n: i64| format!("UPDATE accounts SET balance = balance + 1 WHERE id = {n}");
    let statements = [
        update(1),
        "SELECT convert_from('\\x00'::bytea, 'UTF8')".to_owned(),
        "SELECT '{\"a\": \"\\u0000\"}'::jsonb".to_owned(),
        "SELECT convert_from('\\xff'::bytea, 'UTF8')".to_owned(),
        update(5),
    ];
    let mut records = Vec::new();
    for mode in ["execute", "query", "stage"] {
        for (n, sql) in statements.iter().enumerate() {
            let rec = Rec::new(sql.as_str()).to(0);
            records.push(rec.event_id(&format!("{mode}-{n}")).header("mode", mode));
        }
    }
    scene.produce(records).await;
    let _host = scene.run(scene.consumer("sql").await).await;
    scene.wait_counts(done_and_rejected(6, 9)).await;
    assert_eq!(scene.journal().await, [1, 5, 1, 5, 1, 5]);
    let expected = ["sql-22021", "sql-22P05", "sql-22021"].repeat(3);
    assert_eq!(scene.codes().await, expected);
}

/// One batch, every mixture of awaited and staged statements: the last insert is what remains.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statements_keep_their_order_across_records_awaited_or_staged() {
    let scene = Scene::new("text-order", 1, 1).await;
    let table = "CREATE TABLE words (id bigint PRIMARY KEY, word text NOT NULL)";
    scene.env.db.exec(table).await;
    let modes = ["stage", "execute", "query"];
    let mut records = Vec::new();
    for id in 0..27 {
        let statements = [
            format!("INSERT INTO words VALUES ({id}, 'hello')"),
            format!("DELETE FROM words WHERE id = {id}"),
            format!("INSERT INTO words VALUES ({id}, 'hallo')"),
        ];
        for (place, sql) in (0..).zip(statements) {
            let mode = modes[id / 3_usize.pow(place) % 3];
            let rec = Rec::new(sql).to(0).event_id(&format!("{id}-{place}"));
            records.push(rec.header("mode", mode));
        }
    }
    // And all three in one record.
    for (id, mode) in (100..).zip(modes) {
        let sql = format!(
            "INSERT INTO words VALUES ({id}, 'hello')\n;;\nDELETE FROM words WHERE id = {id}\n;;\n\
             INSERT INTO words VALUES ({id}, 'hallo')"
        );
        let rec = Rec::new(sql).to(0).event_id(mode);
        records.push(rec.header("mode", mode));
    }
    scene.produce(records).await;
    let _host = scene.run(scene.consumer("sql").await).await;
    scene.wait_counts(done_and_rejected(84, 0)).await;
    let sql = "SELECT word, count(*)::text FROM words GROUP BY word";
    let rows = scene.env.db.query_text(sql).await;
    assert_eq!(rows, [["hallo", "30"].map(|text| Some(text.to_owned()))]);
    let transactions = "SELECT count(DISTINCT xmin::text) FROM tidegate.processed_events";
    assert_eq!(
        scene.env.db.query_one_i64(transactions).await,
        1,
        "one batch"
    );
}

/// In a database that sorts by a language, the host's own keys sort by bytes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_text_column_in_an_index_of_the_host_is_collated_by_bytes() {
    let scene = Scene::new("text-collation", 1, 3).await;
    let icu = "SELECT count(*) FROM pg_collation WHERE collname = 'en-US-x-icu'";
    let name = scene.env.unique("sorted").replace('-', "_");
    let name = &name[name.len().saturating_sub(60)..];
    let options = match scene.env.db.query_one_i64(icu).await {
        0 => "LOCALE 'C.UTF-8'",
        _ => "LOCALE 'C.UTF-8' LOCALE_PROVIDER icu ICU_LOCALE 'en-US'",
    };
    let create = format!("CREATE DATABASE \"{name}\" TEMPLATE template0 {options}");
    scene.env.db.exec(&create).await;
    let url = scene.env.db.url().replace(scene.env.db.name(), name);
    let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls)
        .await
        .unwrap();
    tokio::spawn(connection);
    let accounts = "CREATE TABLE accounts (id bigint PRIMARY KEY, balance bigint NOT NULL);
                    INSERT INTO accounts SELECT n, 0 FROM generate_series(1, 3) n";
    client.batch_execute(accounts).await.unwrap();

    let ids = ["a", "A", "\u{e9}", "e\u{301}", "aa", "a a", "a-a"];
    scene.produce(ids.map(|id| pay(1, id, "")).to_vec()).await;
    let config = scene.env.config().postgres(&url);
    let config = config.consumer(scene.consumer("rejects").await);
    let host = scene.env.host(config).start().await;
    let sum = "SELECT balance FROM accounts WHERE id = 1";
    wait_for(PATIENCE, "seven different events", async || {
        let balance: i64 = client.query_one(sum, &[]).await.unwrap().get(0);
        (balance == 7).then_some(())
    })
    .await;
    let collations = "
        SELECT c.relname || '.' || a.attname, coll.collname
          FROM pg_index i
          JOIN pg_class c ON c.oid = i.indexrelid
          JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = 'tidegate'
          JOIN pg_attribute a ON a.attrelid = i.indexrelid AND a.attcollation <> 0
          JOIN pg_collation coll ON coll.oid = a.attcollation";
    let rows = client.query(collations, &[]).await.unwrap();
    let found: Vec<(String, String)> = rows.iter().map(|r| (r.get(0), r.get(1))).collect();
    assert!(found.len() >= 8, "{found:?}");
    assert!(found.iter().all(|(_, name)| name == "C"), "{found:?}");
    host.kill();
    drop(client);
    let drop = format!("DROP DATABASE \"{name}\" WITH (FORCE)");
    scene.env.db.exec(&drop).await;
}
