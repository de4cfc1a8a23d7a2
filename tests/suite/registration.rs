//! Registration: the first host that meets a topic writes a row for every partition of it, in one go.

use tidegate_tests::{payments, wait_eq};

use crate::reader::{ACCOUNTS, Reader, wait_taken};
use crate::rows::{Counts, PATIENCE, recs, settled, wait_owned};

/// Remembers each statement that wrote progress rows: how many rows of what topic.
const WITNESS: &str = "
    CREATE TABLE registrations (topic text, rows bigint, at bigint);
    CREATE FUNCTION witness() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO public.registrations
        SELECT topic, count(*), min(next_offset + done + skipped + rejected + redelivered + republished + taken_over)
          FROM added GROUP BY topic;
        RETURN NULL;
    END $$;
    CREATE TRIGGER witness AFTER INSERT ON tidegate.progress
        REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION witness();";

/// Makes the host's tables and has registrations witnessed.
async fn witnessed(reader: &Reader) {
    let migrated = reader.env.cli(&["migrate"], &reader.config()).await;
    assert_eq!(migrated.code, 0, "{}", migrated.stderr);
    reader.env.db.exec(WITNESS).await;
}

async fn registrations(reader: &Reader, topic: &str) -> Vec<(i64, i64)> {
    let sql = format!("SELECT rows, at FROM registrations WHERE topic = '{topic}'");
    let rows = reader.env.db.query_text(&sql).await;
    let number = |cell: &Option<String>| cell.as_ref().unwrap().parse().unwrap();
    rows.iter()
        .map(|r| (number(&r[0]), number(&r[1])))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_partition_of_each_topic_gets_its_row_in_one_statement() {
    let reader = Reader::new("one-go", 6).await;
    let second = reader.env.topic("second", 3).await;
    let reader = reader.with(|c| c.topic(&second));
    let (ledger, paid) = (reader.ledger().await, payments(20, ACCOUNTS));
    reader.env.kafka.produce(&reader.topic, recs(&paid)).await;
    witnessed(&reader).await;
    let host = reader.start().await;
    settled(&reader.env.db, Counts::done(20)).await;
    wait_owned(&reader.env.db, 9).await;
    ledger.assert_exact(&paid).await;
    assert_eq!(registrations(&reader, &reader.topic).await, [(6, 0)]);
    assert_eq!(registrations(&reader, &second).await, [(3, 0)]);
    assert_eq!(host.terminate().await, 0);

    // Nothing is registered twice, and a partition that came later is registered by itself.
    reader.env.kafka.add_partitions(&second, 4).await;
    let host = host.restart().await;
    wait_taken(&host, 10).await;
    assert_eq!(registrations(&reader, &reader.topic).await, [(6, 0)]);
    assert_eq!(registrations(&reader, &second).await, [(3, 0), (1, 0)]);
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hosts_that_race_register_a_topic_once() {
    let reader = Reader::new("race", 8).await;
    let reader = reader.with(|c| c.set("start", "latest"));
    let (ledger, paid) = (reader.ledger().await, payments(160, ACCOUNTS));
    for partition in 0..8 {
        reader.pay_to(partition, &paid[..5]).await;
    }
    witnessed(&reader).await;
    let (one, two) = tokio::join!(reader.start(), reader.start());
    let rows = "SELECT count(*) FROM tidegate.progress";
    wait_eq(PATIENCE, "the rows", 8, async || {
        reader.env.db.query_one_i64(rows).await
    })
    .await;
    for (partition, part) in (0..8).zip(paid.chunks(20)) {
        reader.pay_to(partition, part).await;
    }
    let after = Counts {
        next: 200,
        committed: 200,
        ..Counts::done(160)
    };
    settled(&reader.env.db, after).await;
    ledger.assert_exact(&paid).await;
    assert_eq!(
        registrations(&reader, &reader.topic).await,
        [(8, 5)],
        "one statement, every row at the end of its log"
    );
    wait_owned(&reader.env.db, 8).await;
    let owners = "SELECT count(DISTINCT owner) FROM tidegate.progress";
    assert_eq!(reader.env.db.query_one_i64(owners).await, 8);
    assert_eq!(one.terminate().await, 0);
    assert_eq!(two.terminate().await, 0);
}
