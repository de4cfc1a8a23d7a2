//! Constraints that are deferrable and initially deferred hold at the end of each record: not before, and not for whoever comes
//! behind it in the batch.

use tidegate_tests::{Rec, wait_eq};

use crate::scene::{PATIENCE, Scene, done_and_rejected};

/// A ring of two tables, a view, places that may be swapped, and a trigger that writes to the ring.
const TABLES: &str = "
    CREATE TABLE parent (id int PRIMARY KEY, favourite int);
    CREATE TABLE child (id int PRIMARY KEY,
        parent int NOT NULL REFERENCES parent ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED);
    ALTER TABLE parent ADD FOREIGN KEY (favourite) REFERENCES child DEFERRABLE INITIALLY DEFERRED;
    CREATE VIEW children AS SELECT id, parent FROM child;
    CREATE TABLE seat (person text PRIMARY KEY, place int UNIQUE DEFERRABLE INITIALLY DEFERRED);
    INSERT INTO seat VALUES ('a', 1), ('b', 2);
    CREATE TABLE ordered (id int);
    CREATE FUNCTION orders() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO child VALUES (NEW.id, NEW.id); INSERT INTO parent VALUES (NEW.id); RETURN NEW; END $$;
    CREATE TRIGGER orders BEFORE INSERT ON ordered FOR EACH ROW EXECUTE FUNCTION orders();
    CREATE TABLE plain (id int PRIMARY KEY);
    CREATE TABLE one (parent int CONSTRAINT shared REFERENCES parent DEFERRABLE INITIALLY DEFERRED);
    CREATE TABLE other (id int CONSTRAINT shared CHECK (id > 0));";

/// What a record does, a number of its own in it.
const SOUND: [&str; 5] = [
    "INSERT INTO child VALUES (?, ?);INSERT INTO parent VALUES (?)",
    "INSERT INTO parent VALUES (?, ?);INSERT INTO child VALUES (?, ?)",
    "UPDATE seat SET place = 3 - place WHERE person = 'a';UPDATE seat SET place = 3 - place WHERE person = 'b'",
    "INSERT INTO children VALUES (?, ?);INSERT INTO parent VALUES (?)",
    "INSERT INTO ordered VALUES (?)",
];

/// What leaves a constraint violated, and its letter.
const BROKEN: [(&str, &str, &str); 3] = [
    (
        "INSERT INTO child VALUES (?, ?)",
        "retries-exhausted",
        "23503",
    ),
    ("UPDATE seat SET place = 1", "sql-23505", "23505"),
    (
        "INSERT INTO children VALUES (?, ?);INSERT INTO plain VALUES (?)",
        "retries-exhausted",
        "23503",
    ),
];

fn record(n: usize, sql: &str) -> Rec {
    let mode = ["stage", "execute"][n % 2];
    let number = (1000 + n).to_string();
    let sql = sql.replace('?', &number).replace(';', "\n;;\n");
    Rec::new(sql)
        .to(0)
        .event_id(&format!("e{n}"))
        .header("mode", mode)
}

/// Sound records, and broken ones between them; and how many there are of each.
fn records() -> (Vec<Rec>, i64, i64) {
    let broken = BROKEN.map(|(sql, ..)| sql);
    let all = SOUND.iter().cycle().take(30).copied();
    let mut all: Vec<&str> = all.collect();
    for (n, sql) in broken.into_iter().enumerate() {
        all.insert(5 + 7 * n, sql);
    }
    let records = all.iter().enumerate().map(|(n, sql)| record(n, sql));
    (records.collect(), 30, 3)
}

async fn settles(scene: &Scene, role: Option<&str>) {
    scene.env.db.exec(TABLES).await;
    if let Some(role) = role {
        let grants = format!(
            "CREATE ROLE {role} NOLOGIN; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}"
        );
        scene.env.db.exec(&grants).await;
    }
    let (records, sound, broken) = records();
    scene.produce(records).await;
    let consumer = scene.consumer("sql").await.set("brake", "off");
    let consumer = consumer.retry("initial", "10ms").retry("max_attempts", 2);
    let consumer = match role {
        Some(role) => consumer.set("role", role),
        None => consumer,
    };
    let host = scene.run(consumer).await;
    scene.wait_counts(done_and_rejected(sound, broken)).await;
    let letters = scene.letters().await.into_iter();
    let letters = letters.map(|l| (l.offset, l.code, l.sqlstate.unwrap()));
    let wanted = (0..)
        .zip(BROKEN)
        .map(|(n, (_, code, sqlstate))| (5 + 7 * n, code.to_owned(), sqlstate.to_owned()));
    assert_eq!(letters.collect::<Vec<_>>(), wanted.collect::<Vec<_>>());
    let orphans = "SELECT count(*) FROM child c WHERE NOT EXISTS (SELECT FROM parent p WHERE p.id = c.parent)";
    assert_eq!(scene.env.db.query_one_i64(orphans).await, 0);
    let children = "SELECT count(*) FROM child";
    assert_eq!(scene.env.db.query_one_i64(children).await, 24);
    assert_eq!(host.log_count("quarantined"), 0);
    assert_eq!(host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_before_its_parent_a_ring_and_a_swap_hold_at_their_records_end() {
    let scene = Scene::new("deferred", 1, 1).await;
    settles(&scene, None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deferred_constraints_hold_under_a_handlers_role_too() {
    let scene = Scene::new("deferred-role", 1, 1).await;
    let role = format!("deferrer_{:08x}", fastrand::u32(..));
    settles(&scene, Some(&role)).await;
    scene.env.db.exec(&format!("DROP OWNED BY {role}")).await;
}

/// The letter of a child without a parent is handled once the parent is there, or is rejected again by itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replay_holds_deferred_constraints_at_its_end() {
    let scene = Scene::new("deferred-replay", 1, 1).await;
    scene.env.db.exec(TABLES).await;
    let orphan = |n| {
        record(
            n,
            "INSERT INTO child VALUES (?, ?);INSERT INTO plain VALUES (?)",
        )
    };
    scene.produce(vec![orphan(1), orphan(2)]).await;
    let consumer = scene.consumer("sql").await.set("brake", "off");
    let consumer = consumer.retry("initial", "10ms").retry("max_attempts", 2);
    let config = scene.env.config().consumer(consumer);
    let host = scene.env.host(config.clone()).start().await;
    scene.wait_counts(done_and_rejected(0, 2)).await;
    scene.env.db.exec("INSERT INTO parent VALUES (1002)").await;
    let said = scene.env.cli(&["dlt", "replay"], &config).await;
    assert_eq!(said.code, 1, "{said:?}");
    let statuses = async || {
        let letters = scene.letters().await.into_iter();
        letters.map(|l| l.status).collect::<Vec<_>>()
    };
    let wanted = vec!["open".to_owned(), "resolved".to_owned()];
    wait_eq(PATIENCE, "the letters", wanted, statuses).await;
    let plain = "SELECT sum(id)::bigint FROM plain";
    assert_eq!(scene.env.db.query_one_i64(plain).await, 1002);
    assert_eq!(host.terminate().await, 0);
}
