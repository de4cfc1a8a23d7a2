//! A table space that is full, on a server that is sound otherwise.

use std::path::{Path, PathBuf};
use std::process::Command;

use nix::unistd::User;
use tidegate_tests::Host;

use super::statement;
use crate::scene::{PATIENCE, Scene, done_and_rejected};

/// A file system of 4 MiB, gone when dropped.
struct Tiny(PathBuf);

impl Tiny {
    /// None where this process may not mount one.
    fn mount() -> Option<Self> {
        // The server's user, as the harness chooses it.
        let users = ["postgres", "nobody"].iter();
        let user = users.filter_map(|name| User::from_name(name).ok().flatten());
        let uid = user.map(|user| user.uid).next()?;
        let name = format!("tidegate-tiny-{:08x}", fastrand::u32(..));
        let dir = std::env::temp_dir().join(name);
        std::fs::create_dir(&dir).unwrap();
        let mounted = run(
            "mount",
            &[
                "-t",
                "tmpfs",
                "-o",
                &format!("size=4m,uid={uid},mode=0700"),
                "tmpfs",
            ],
            &dir,
        );
        if !mounted {
            std::fs::remove_dir(&dir).unwrap();
            return None;
        }
        Some(Self(dir))
    }
}

impl Drop for Tiny {
    fn drop(&mut self) {
        // The server may still hold files of it open.
        if run("umount", &["-l"], &self.0) {
            let _left_behind = std::fs::remove_dir(&self.0);
        }
    }
}

fn run(program: &str, args: &[&str], dir: &Path) -> bool {
    let output = Command::new(program).args(args).arg(dir).output();
    output.is_ok_and(|output| output.status.success())
}

/// Waits until records were tried so often.
pub(super) async fn wait_infrastructure(host: &Host, times: i64) {
    let labels = [("verdict", "infrastructure")];
    tidegate_tests::wait_eq(PATIENCE, "attempts that are nobody's", true, async || {
        let scrape = host.scrape().await;
        scrape.count("tidegate_retries_total", &labels) >= times
    })
    .await;
}

/// The one statement meets it by itself, the other inside a trigger: neither is at fault, however long it lasts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_table_space_dead_letters_nothing_and_heals() {
    let Some(tiny) = Tiny::mount() else {
        eprintln!(
            "skipped: no file system can be mounted here; raised::locks has the server speak of itself all the same"
        );
        return;
    };
    let scene = Scene::new("full-disk", 2, 1).await;
    let db = &scene.env.db;
    let space = format!("tiny_{:08x}", fastrand::u32(..));
    db.exec(&format!(
        "CREATE TABLESPACE {space} LOCATION '{}'",
        tiny.0.display()
    ))
    .await;
    db.exec(&format!(
        "CREATE TABLE paid (id int) TABLESPACE {space};
         CREATE TABLE filler (pad text) TABLESPACE {space};
         ALTER TABLE filler ALTER pad SET STORAGE PLAIN;
         CREATE TABLE via (id int);
         CREATE FUNCTION pays() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN INSERT INTO paid VALUES (NEW.id); RETURN NEW; END $$;
         CREATE TRIGGER pays AFTER INSERT ON via FOR EACH ROW EXECUTE FUNCTION pays()"
    ))
    .await;
    let fill = "INSERT INTO filler SELECT repeat('x', 7000) FROM generate_series(1, 2000)";
    let full = db.try_exec(fill).await.expect_err("4 MiB hold no 14 MB");
    assert_eq!(full.code().map(|code| code.code()), Some("53100"));
    let records = [
        "SELECT 1",
        "INSERT INTO paid VALUES (1)",
        "SELECT 1",
        "INSERT INTO via VALUES (2)",
    ];
    let records = records.iter().enumerate();
    let records = records.map(|(n, sql)| statement(n, sql).to(i32::from(n >= 2)));
    scene.produce(records.collect()).await;
    let consumer = scene.consumer("sql").await;
    let consumer = consumer
        .retry("initial", "10ms")
        .retry("max", "50ms")
        .retry("max_attempts", 2)
        .retry("max_elapsed", "1s");
    let host = scene.run_watched(consumer).await;
    wait_infrastructure(&host, 60).await;
    assert_eq!(scene.counts().await, done_and_rejected(2, 0));
    assert_eq!(scene.letters().await, []);
    db.exec("DROP TABLE filler").await;
    scene.wait_counts(done_and_rejected(4, 0)).await;
    assert_eq!(scene.letters().await, []);
    assert_eq!(host.terminate().await, 0);
    db.exec("DROP TABLE paid").await;
    db.exec(&format!("DROP TABLESPACE {space}")).await;
}
