//! Whose word an error is: what a function raises is its record's own, whatever the code; what the server says of itself is
//! waited for, and counts for nobody.

mod full_disk;
mod locks;

use std::collections::BTreeSet;

use tidegate_core::sqlstate::{Origin, Speaker};
use tidegate_tests::Rec;

use crate::scene::{Scene, done_and_rejected};

/// Codes that a record is tried again for, to the end of its retries: a connection that works refutes most of them.
const BOUNDED: &str = "08000 08003 08006 08001 08004 08007 08P01 25006 25P02 25P03 25P04 40001 40P01 53000 53100 53200 53300 \
    53400 55P03 57014 57P01 57P02 57P03 57P04 57P05 58000 58030 58P01 58P02";

/// All others of these classes, and those that reach for the transaction.
const AT_ONCE: &str = "25000 25001 25002 25003 25004 25005 25007 25008 25P01 2D000 40000 40002 40003 42000 42501 42601 42602 \
    42611 42622 42701 42702 42703 42704 42710 42712 42723 42725 42803 42804 42809 42830 42846 42883 42939 428C9 42P01 42P02 \
    42P03 42P04 42P05 42P06 42P07 42P08 42P09 42P10 42P11 42P12 42P13 42P14 42P15 42P16 42P17 42P18 42P19 42P20 42P21 42P22 \
    54000 54001 54011 54023 55000 55006 55P02 55P04 57000 0A000 26000 28000 3D000 3F000 XX000 XX001 XX002";

/// A trigger that raises what it is told, and one that has the server raise it.
const GUARDED: &str = "
    CREATE TABLE guarded (code text);
    CREATE FUNCTION guard() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'so it says' USING ERRCODE = NEW.code; END $$;
    CREATE TRIGGER guard BEFORE INSERT ON guarded FOR EACH ROW EXECUTE FUNCTION guard();
    CREATE TABLE kept (id int);
    CREATE TABLE provoked (what text);
    CREATE FUNCTION sorts_much() RETURNS bigint LANGUAGE sql SET temp_file_limit = '64kB' SET work_mem = '64kB' AS
    $$ SELECT count(*) FROM (SELECT md5(g::text) FROM generate_series(1, 50000) g ORDER BY 1) x $$;
    CREATE FUNCTION falls(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN falls(n + 1); END $$;
    CREATE FUNCTION provoke() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        CASE NEW.what
            WHEN 'read-only' THEN SET LOCAL transaction_read_only = on; INSERT INTO kept VALUES (1);
            WHEN 'file' THEN PERFORM pg_read_file('/nowhere/to/be/found');
            WHEN 'sort' THEN PERFORM sorts_much();
            WHEN 'fall' THEN PERFORM falls(0);
        END CASE;
        RETURN NEW;
    END $$;
    CREATE TRIGGER provoke BEFORE INSERT ON provoked FOR EACH ROW EXECUTE FUNCTION provoke();";

fn statement(n: usize, sql: &str) -> Rec {
    let mode = if n.is_multiple_of(2) {
        "stage"
    } else {
        "execute"
    };
    Rec::new(sql)
        .to(0)
        .event_id(&format!("e{n}"))
        .header("mode", mode)
}

/// Runs the statements and a good one behind them, which shows that the module still runs; their letters' codes.
async fn codes(name: &str, statements: &[String]) -> Vec<(String, String)> {
    let scene = Scene::new(name, 1, 1).await;
    scene.env.db.exec(GUARDED).await;
    let failing = statements.iter().enumerate();
    let mut records: Vec<Rec> = failing.map(|(n, sql)| statement(n, sql)).collect();
    records.push(statement(records.len(), "SELECT 1"));
    scene.produce(records).await;
    let consumer = scene.consumer("sql").await.set("brake", "off");
    let consumer = consumer
        .retry("initial", "10ms")
        .retry("max", "20ms")
        .retry("max_attempts", 2);
    let host = scene.run(consumer).await;
    let rejected = i64::try_from(statements.len()).unwrap();
    scene.wait_counts(done_and_rejected(1, rejected)).await;
    assert_eq!(host.log_count("quarantined"), 0, "{}", host.log());
    assert_eq!(host.terminate().await, 0);
    let letters = scene.letters().await.into_iter();
    letters
        .map(|letter| (letter.code, letter.sqlstate.unwrap()))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_code_that_a_trigger_raises_is_its_records_own() {
    let bounded = BOUNDED.split_whitespace().map(|code| (code, true));
    let at_once = AT_ONCE.split_whitespace().map(|code| (code, false));
    let all: Vec<(&str, bool)> = bounded.chain(at_once).collect();
    let sql = |code| format!("INSERT INTO guarded VALUES ('{code}')");
    let statements: Vec<String> = all.iter().map(|(code, _)| sql(code)).collect();
    let wanted = all.iter().map(|(code, bounded)| {
        let letter = match bounded {
            true => "retries-exhausted".to_owned(),
            false => format!("sql-{code}"),
        };
        (letter, (*code).to_owned())
    });
    assert_eq!(
        codes("raised-by-trigger", &statements).await,
        wanted.collect::<Vec<_>>()
    );
}

/// Errors of the server itself that a function brings about: no module is quarantined and no partition waits for them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_trigger_makes_the_server_raise_is_its_records_own() {
    let wanted = [
        ("read-only", "retries-exhausted", "25006"),
        ("file", "retries-exhausted", "58P01"),
        ("sort", "retries-exhausted", "53400"),
        ("fall", "sql-54001", "54001"),
    ];
    let statements = wanted.map(|(what, ..)| format!("INSERT INTO provoked VALUES ('{what}')"));
    let codes = codes("raised-by-server", &statements).await;
    let wanted = wanted.map(|(_, code, sqlstate)| (code.to_owned(), sqlstate.to_owned()));
    assert_eq!(codes, wanted);
}

/// The server's word is known by the names of its source files: the binary that is installed here names them too.
#[test]
fn the_installed_servers_own_files_are_known() {
    let binary = tidegate_tests::postgres_binary();
    let bytes = std::fs::read(&binary).unwrap();
    let texts = bytes.split(|byte| *byte == 0);
    let files: BTreeSet<&str> = texts
        .filter_map(|text| std::str::from_utf8(text).ok())
        .filter(|text| text.contains("/src/backend/") && !text.contains(' '))
        .filter_map(|path| path.rsplit('/').next())
        .filter(|name| name.ends_with(".c"))
        .collect();
    assert!(files.len() > 300, "{}: {}", binary.display(), files.len());
    let unknown = files.iter().filter(|file| {
        let origin = Origin::new(Some(file), Some("r"), false);
        origin.speaker() != Speaker::Server
    });
    assert_eq!(unknown.collect::<Vec<_>>(), Vec::<&&str>::new());
}
