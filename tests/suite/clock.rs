//! A database's clock that ran ahead and was put right: nobody is alive who was seen in the future.

use tidegate::inbox::{Taken, Wall};
use tidegate_tests::{payments, wait_eq};
use uuid::Uuid;

use crate::inbox_support::{Db, db};
use crate::reader::{ACCOUNTS, Reader};
use crate::rows::{Counts, PATIENCE, settled};

/// Whoever was seen this far from now, and whether that is alive.
const SEEN: [(&str, bool); 6] = [
    ("-1 hour", false),
    ("-30 seconds", false),
    ("-1 second", true),
    ("2 seconds", true),
    ("1 minute", false),
    ("1 hour", false),
];

async fn seen(db: &Db, host: Uuid, when: &str) {
    db.run(&format!(
        "INSERT INTO tidegate.hosts (consumer_name, host, label, seen_at)
         VALUES ('c', '{host}', 'a host', now() + interval '{when}')
         ON CONFLICT (consumer_name, host) DO UPDATE SET seen_at = excluded.seen_at"
    ))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_seen_in_the_future_is_not_alive_owns_no_partition_and_no_replay() {
    let db = db(Wall::Grammar).await;
    let (other, me) = (Uuid::from_u128(1), Uuid::from_u128(2));
    db.run(&format!(
        "INSERT INTO tidegate.replays (consumer_name, requested_by, filter, owner) VALUES ('c', 'me', '', '{other}')"
    ))
    .await;
    for (when, alive) in SEEN {
        seen(&db, other, when).await;
        let hosts = db.inbox.live_hosts(Some("c")).await.unwrap();
        assert_eq!(hosts.len(), usize::from(alive), "{when}: {hosts:?}");
        let rows = db.inbox.progress_rows().await.unwrap();
        assert_eq!(rows[0].owner_host.is_some(), alive, "{when}: {rows:?}");
        let taken = db.inbox.take_turn("c", me).await.unwrap();
        let is_taken = matches!(taken, Some(Taken::Empty(_)));
        assert_eq!(is_taken, !alive, "{when}: {taken:?}");
        db.run(&format!("UPDATE tidegate.replays SET owner = '{other}'"))
            .await;
    }
}

/// A running host that had been seen in the future is seen now at its next beat.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn positions_are_set_of_a_host_that_died_while_the_clock_ran_ahead() {
    let reader = Reader::forgetful("clock", 1).await;
    let (_ledger, paid) = (reader.ledger().await, payments(10, ACCOUNTS));
    reader.pay(&paid).await;
    let host = reader.start().await;
    settled(&reader.env.db, Counts::done(10)).await;
    let ahead = "UPDATE tidegate.hosts SET seen_at = now() + interval '1 hour'";
    reader.env.db.exec(ahead).await;
    let back = "SELECT count(*) FROM tidegate.hosts WHERE seen_at < now() + interval '5 seconds'";
    wait_eq(PATIENCE, "hosts that are seen now", 1, async || {
        reader.env.db.query_one_i64(back).await
    })
    .await;
    let args = reader.set_args("0", &["--to-offset", "5"]);
    let refused = reader.env.cli(&args, &reader.config()).await;
    assert_eq!(refused.code, 1, "{}{}", refused.stdout, refused.stderr);
    host.kill();
    reader.env.db.exec(ahead).await;
    // Kafka forgets a member that was killed after its session's time-out.
    wait_eq(PATIENCE, "the command's exit code", 0, async || {
        reader.env.cli(&args, &reader.config()).await.code
    })
    .await;
    assert_eq!(reader.place(0).await.unwrap().next, 5);
}
