//! The progress row: token, fence, position, schema.

use std::time::Duration;

use tidegate::inbox::{Begun, Inbox, InboxError, Wall};
use tidegate_core::failure::Failure;
use tidegate_core::progress::{Counts, LastRecord};
use uuid::Uuid;

use super::inbox_support::{config, connect, database, db, finish, hour, key, take};

#[tokio::test(flavor = "multi_thread")]
async fn the_fence_tells_a_landed_commit_from_another_owner() {
    let db = db(Wall::Grammar).await;
    let mut end = finish(40);
    end.committed = Some(3);
    end.counts = Counts {
        done: 2,
        republished: 1,
        ..Counts::default()
    };
    end.last = Some(LastRecord {
        offset: 39,
        timestamp_ms: Some(5),
        digest: Some([7; 16]),
        event_id: Some("a".into()),
    });
    let (transaction, _) = db.open(0, vec![]).await;
    transaction.commit(end).await.expect("committed");
    let late = db
        .inbox
        .begin(&db.head(0, vec![hour("x", 0)]), false)
        .await
        .expect("answered");
    assert!(matches!(late, Begun::Landed(40)), "{late:?}");
    let progress = take(&db.inbox, &key(), Uuid::new_v4(), 2)
        .await
        .expect("taken")
        .expect("a row");
    assert_eq!((progress.next_offset, progress.committed), (40, Some(3)));
    let last = progress.last.expect("a last record");
    assert_eq!(last.event_id.as_deref(), Some("a"));
    assert_eq!(last.digest, Some([7; 16]));
    let zombie = db
        .inbox
        .begin(&db.head(40, vec![hour("x", 0)]), true)
        .await
        .expect("answered");
    assert!(matches!(zombie, Begun::Fenced), "{zombie:?}");
    assert_eq!(
        db.number("SELECT count(*) FROM tidegate.processed_events")
            .await,
        0
    );
    assert!(
        !db.inbox
            .place(&key(), db.owner, 1, None)
            .await
            .expect("answered")
    );
    assert!(
        !db.inbox
            .acknowledge(&key(), db.owner, 1)
            .await
            .expect("answered")
    );
    let rows = db.inbox.progress_rows().await.expect("rows");
    assert_eq!(
        (
            rows[0].counts.done,
            rows[0].counts.republished,
            rows[0].committed
        ),
        (2, 1, Some(3))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn taking_the_token_waits_for_the_old_owners_batch() {
    let db = db(Wall::Grammar).await;
    let (transaction, _) = db.open(0, vec![]).await;
    let (inbox, owner) = (db.inbox.clone(), Uuid::new_v4());
    let waiting = tokio::spawn(async move { take(&inbox, &key(), owner, 1).await });
    db.wait_blocked().await;
    assert!(!waiting.is_finished());
    transaction.commit(finish(9)).await.expect("committed");
    let progress = waiting
        .await
        .expect("joined")
        .expect("taken")
        .expect("a row");
    assert_eq!(progress.next_offset, 9);

    let held = db
        .client
        .batch_execute("BEGIN; SELECT 1 FROM tidegate.progress FOR UPDATE");
    held.await.expect("locked");
    let failure = take(&db.inbox, &key(), owner, 1)
        .await
        .expect_err("the lock is held");
    assert!(
        matches!(failure, Failure::Sql { ref sqlstate, .. } if sqlstate == "55P03"),
        "{failure:?}"
    );
    db.run("ROLLBACK").await;
    assert!(
        take(&db.inbox, &key(), owner, 1)
            .await
            .expect("taken")
            .is_some()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn registering_inserts_or_does_nothing_and_adopting_starts_anew() {
    let db = db(Wall::Grammar).await;
    let rows = [(0, 77, None), (1, 5, Some(5)), (2, 6, None)];
    db.inbox
        .register(("c", "t"), "g", "k", &rows)
        .await
        .expect("registered");
    assert_eq!(
        db.inbox.registered("c", "t").await.expect("rows"),
        [0, 1, 2]
    );
    assert_eq!(
        db.number("SELECT next_offset FROM tidegate.progress WHERE partition = 0")
            .await,
        0
    );
    assert!(
        db.inbox
            .place(&key(), db.owner, 4, Some(4))
            .await
            .expect("placed")
    );
    assert!(
        db.inbox
            .acknowledge(&key(), db.owner, 3)
            .await
            .expect("acknowledged")
    );
    db.put(("g2", "k2"), 8, None).await;
    let fenced = db
        .inbox
        .begin(&db.head(4, vec![]), false)
        .await
        .expect("answered");
    assert!(matches!(fenced, Begun::Fenced));
    let progress = take(&db.inbox, &key(), db.owner, 1)
        .await
        .expect("taken")
        .expect("a row");
    assert_eq!(
        (progress.group.as_str(), progress.cluster_id.as_str()),
        ("g2", "k2")
    );
    assert_eq!(
        (progress.next_offset, progress.committed, progress.last),
        (8, None, None)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn migrations_are_idempotent_and_the_schema_is_checked_in_plain_words() {
    let url = database().await;
    let inbox = Inbox::new(&config(&url), Wall::Grammar).expect("an inbox");
    let missing = inbox.check_schema().await.expect_err("no schema yet");
    assert!(
        missing
            .to_string()
            .contains("not migrated: run `tidegate migrate`"),
        "{missing}"
    );
    let (first, second) = tokio::join!(inbox.migrate(), inbox.migrate());
    let (first, second) = (first.expect("migrated"), second.expect("migrated"));
    assert!(
        first.is_empty() != second.is_empty(),
        "one of them did it: {first:?} {second:?}"
    );
    assert_eq!(inbox.migrate().await.expect("again"), Vec::<String>::new());
    inbox.check_schema().await.expect("good");
    let client = connect(&url).await;
    client
        .batch_execute("INSERT INTO tidegate.schema_history SELECT 99, name, applied_on, checksum FROM tidegate.schema_history LIMIT 1")
        .await
        .expect("a version of the future");
    let newer = inbox.check_schema().await.expect_err("newer");
    assert!(
        matches!(newer, InboxError::Newer { found: 99, .. }),
        "{newer}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_shows_the_password() {
    let mut config = config("postgresql://nobody:s3cret@127.0.0.1:1/db");
    config.connect_timeout = Duration::from_secs(1);
    let inbox = Inbox::new(&config, Wall::Grammar).expect("an inbox");
    let error = inbox
        .check_schema()
        .await
        .expect_err("nothing listens there");
    let text = format!("{error} {error:?} {inbox:?} {config:?}");
    assert!(
        text.contains("127.0.0.1:1/db") && !text.contains("s3cret"),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_connection_is_a_stop_and_a_full_server_is_waited_for() {
    let db = db(Wall::Grammar).await;
    db.run(
        "DO $$ BEGIN
             CREATE ROLE tidegate_full LOGIN CONNECTION LIMIT 0; CREATE ROLE tidegate_uninvited LOGIN;
         EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$",
    )
    .await;
    let url = db.url.clone();
    db.run("DO $$ BEGIN EXECUTE format('REVOKE CONNECT ON DATABASE %I FROM PUBLIC', current_database()); END $$")
        .await;
    let (server, name) = url.rsplit_once('/').expect("a database");
    let (_, host) = server.rsplit_once('@').expect("a user");
    let asked = [
        (
            format!("postgresql://nosuchuser:s3cret@{host}/{name}"),
            "28000",
        ),
        (format!("{server}/nosuchdatabase"), "3D000"),
        (
            format!("postgresql://tidegate_uninvited:s3cret@{host}/{name}"),
            "42501",
        ),
    ];
    for (url, wanted) in asked {
        let inbox = Inbox::new(&config(&url), Wall::Grammar).expect("an inbox");
        for error in [
            inbox.check_schema().await.expect_err("refused"),
            inbox.migrate().await.expect_err("refused"),
        ] {
            assert!(
                matches!(error, InboxError::Refused { ref sqlstate, .. } if sqlstate == wanted),
                "{url}: {error}"
            );
            assert!(error.to_string().contains("cannot connect to"), "{error}");
            assert!(!format!("{error:?}").contains("s3cret"), "{error}");
        }
        let failure = inbox.begin(&db.head(0, vec![]), true).await;
        assert!(
            matches!(failure, Err(Failure::Sql { ref sqlstate, .. }) if sqlstate == wanted),
            "{failure:?}"
        );
    }
    db.run("DO $$ BEGIN EXECUTE format('GRANT CONNECT ON DATABASE %I TO tidegate_full', current_database()); END $$")
        .await;
    let full = format!("postgresql://tidegate_full@{host}/{name}");
    let inbox = Inbox::new(&config(&full), Wall::Grammar).expect("an inbox");
    let error = inbox.check_schema().await.expect_err("no room");
    assert!(
        matches!(error, InboxError::Unreachable(ref words) if words.contains("53300")),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ping_proves_a_new_connection_and_a_write() {
    let db = db(Wall::Grammar).await;
    let (one, two) = tokio::join!(db.inbox.ping(), db.inbox.ping());
    one.and(two).expect("all is well");
    let events = "SELECT count(*) FROM tidegate.processed_events";
    assert_eq!(db.number(events).await, 0, "nothing lasts");

    db.run("ALTER TABLE tidegate.processed_events ADD CONSTRAINT no_room CHECK (topic = 't')")
        .await;
    let failure = db.inbox.ping().await.expect_err("no row can be written");
    assert!(matches!(failure, Failure::Sql { .. }), "{failure:?}");
    db.run("ALTER TABLE tidegate.processed_events DROP CONSTRAINT no_room")
        .await;
    db.inbox.ping().await.expect("all is well again");

    let backends = "SELECT count(*) FROM pg_stat_activity
                     WHERE application_name = 'tidegate' AND datname = current_database()";
    let open = db.number(backends).await;
    let (server, name) = db.url.rsplit_once('/').expect("a database");
    let server = connect(&format!("{server}/postgres")).await;
    let allow = |allowed| format!("ALTER DATABASE \"{name}\" ALLOW_CONNECTIONS {allowed}");
    server.batch_execute(&allow(false)).await.expect("closed");
    let failure = db
        .inbox
        .ping()
        .await
        .expect_err("only old connections work");
    server.batch_execute(&allow(true)).await.expect("open");
    assert!(
        open > 0 && matches!(failure, Failure::Unreachable { .. }),
        "{failure:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_waits_for_a_connection_and_a_dead_one_is_replaced() {
    let db = db(Wall::Grammar).await;
    let ended = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                 WHERE application_name = 'tidegate' AND datname = current_database()";
    let (transaction, _) = db.open(0, vec![]).await;
    db.number(ended).await;
    let broken = transaction
        .commit(finish(1))
        .await
        .expect_err("the connection is gone");
    assert!(
        matches!(broken.failure, Failure::Unreachable { .. }),
        "{broken:?}"
    );
    db.handle(0, vec![hour("a", 0)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_says_nothing_does_not_hide_the_next_one() {
    let db = db(Wall::Grammar).await;
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await;
    let silent = silent.expect("a port");
    let port = silent.local_addr().expect("an address").port();
    let (server, name) = db.url.rsplit_once('/').expect("a database");
    let (user, host) = server.rsplit_once('@').expect("a user");
    let mut config = config(&format!("{user}@127.0.0.1:{port},{host}/{name}"));
    config.connect_timeout = Duration::from_secs(2);
    let inbox = Inbox::new(&config, Wall::Grammar).expect("an inbox");
    inbox.check_schema().await.expect("the second server");
    let transaction = match inbox.begin(&db.head(0, vec![]), false).await {
        Ok(Begun::Open(transaction, _)) => transaction,
        other => unreachable!("not open: {other:?}"),
    };
    transaction.commit(finish(1)).await.expect("committed");
}
