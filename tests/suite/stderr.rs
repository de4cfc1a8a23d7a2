//! The log's reader stands still, or goes away: records, probes and signals go on, and what was lost is counted.

use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write, pipe};
use std::sync::{Arc, Mutex};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use tidegate_tests::{Host, HostConfig, Scrape, TestEnv, ask, payments, secs, test_env, wait_for};

use crate::rows::slow_recs;
use crate::scene::{PATIENCE, Scene, done_and_rejected, pay};

const RECORDS: i64 = 300;
const LOST: &str = "tidegate_log_lines_lost_total";

/// A pipe in which nothing more has room.
fn full() -> (PipeReader, PipeWriter) {
    let (reader, mut writer) = pipe().unwrap();
    fcntl(&writer, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).unwrap();
    while writer.write(&[b'.'; 512]).is_ok() {}
    fcntl(&writer, FcntlArg::F_SETFL(OFlag::empty())).unwrap();
    (reader, writer)
}

/// A host whose log is a pipe, read as far as the address of its metrics.
struct Piped {
    host: Host,
    log: BufReader<PipeReader>,
    address: String,
}

impl Piped {
    async fn start(scene: &Scene) -> Self {
        let consumer = scene.consumer("prints-a-lot").await;
        let config = scene.env.config().watched().consumer(consumer);
        let (reader, writer) = pipe().unwrap();
        let host = scene.env.host(config);
        let host = host.start_into(Some(writer.into())).await;
        let (log, address) = tokio::task::spawn_blocking(move || {
            let mut log = BufReader::new(reader);
            let address = address(&mut log);
            (log, address)
        })
        .await
        .unwrap();
        Self { host, log, address }
    }

    async fn scrape(&self) -> Scrape {
        Scrape::parse(&ask(&self.address, "GET", "/metrics").await.body)
    }

    async fn probes_answer(&self) {
        assert_eq!(ask(&self.address, "GET", "/livez").await.status, 200);
        wait_for(PATIENCE, "readiness", async || {
            let answer = ask(&self.address, "GET", "/readyz").await;
            (answer.status == 200).then_some(())
        })
        .await;
    }

    async fn wait_lost(&self) -> i64 {
        wait_for(PATIENCE, "lines to be lost", async || {
            let lost = self.scrape().await.count(LOST, &[]);
            (lost > 0).then_some(lost)
        })
        .await
    }
}

fn address(log: &mut impl BufRead) -> String {
    loop {
        let mut line = String::new();
        assert!(log.read_line(&mut line).unwrap() > 0, "the host ended");
        if let Some((_, address)) = line.split_once("served over HTTP address=") {
            return address.split_whitespace().next().unwrap().to_owned();
        }
    }
}

/// A scene with records whose guest floods the log.
async fn chatty(name: &str) -> Scene {
    let scene = Scene::new(name, 1, 10).await;
    let loud = |n: i64| pay(n % 10 + 1, &format!("e{n}"), "print");
    scene.produce((0..RECORDS).map(loud).collect()).await;
    scene
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_nobody_reads_stops_no_record_no_probe_and_no_signal() {
    let scene = chatty("log-unread").await;
    let piped = Piped::start(&scene).await;
    scene.wait_counts(done_and_rejected(RECORDS, 0)).await;
    piped.probes_answer().await;
    assert!(piped.wait_lost().await > 0);
    assert_eq!(piped.host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_reads_the_log_again_is_told_once_how_much_is_missing() {
    let scene = chatty("log-read-again").await;
    let mut piped = Piped::start(&scene).await;
    scene.wait_counts(done_and_rejected(RECORDS, 0)).await;
    piped.wait_lost().await;
    let text = Arc::new(Mutex::new(String::new()));
    let (lines, mut log) = (Arc::clone(&text), piped.log);
    let reading = std::thread::spawn(move || {
        let mut line = String::new();
        while log.read_line(&mut line).unwrap() > 0 {
            lines.lock().unwrap().push_str(&line);
            line.clear();
        }
    });
    const TOLD: &str = "lines of this log are lost";
    wait_for(PATIENCE, "the line that tells", async || {
        text.lock().unwrap().contains(TOLD).then_some(())
    })
    .await;
    // The pipe to be read is the thread's now.
    piped.log = BufReader::new(pipe().unwrap().0);
    let lost = piped.scrape().await.count(LOST, &[]);
    assert_eq!(piped.host.terminate().await, 0);
    drop(piped);
    reading.join().unwrap();
    let text = text.lock().unwrap();
    let told: Vec<_> = text.lines().filter(|line| line.contains(TOLD)).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains(&format!("lines={lost}")), "{told:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_of_the_log_that_goes_away_takes_nothing_with_it() {
    let scene = Scene::new("log-gone", 1, 10).await;
    let mut piped = Piped::start(&scene).await;
    piped.log = BufReader::new(pipe().unwrap().0);
    let loud = |n: i64| pay(n % 10 + 1, &format!("e{n}"), "print");
    scene.produce((0..20).map(loud).collect()).await;
    scene.wait_counts(done_and_rejected(20, 0)).await;
    piped.probes_answer().await;
    assert!(piped.wait_lost().await > 0);
    assert_eq!(piped.host.terminate().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_signal_ends_a_host_at_once_whose_log_nobody_reads() {
    let scene = Scene::new("log-second", 1, 10).await;
    scene.produce(slow_recs(&payments(1, 10), 28_000)).await;
    let consumer = scene.consumer("slow").await.set("drain_timeout", "200s");
    let config = scene.env.config().set("host", "shutdown_timeout", "10m");
    let (_unread, writer) = full();
    let host = scene.env.host(config.consumer(consumer));
    let host = host.start_into(Some(writer.into())).await;
    wait_for(PATIENCE, "the handler to sleep", async || {
        let asleep = "SELECT count(*) FROM pg_stat_activity
                       WHERE datname = current_database() AND wait_event = 'PgSleep'";
        (scene.env.db.query_one_i64(asleep).await == 1).then_some(())
    })
    .await;
    host.interrupt();
    // The first was heard: only a second one ends it so.
    wait_for(PATIENCE, "the end by a second signal", async || {
        host.interrupt_if_running();
        (!host.is_running()).then_some(())
    })
    .await;
    assert_eq!(host.wait_exit(secs(30)).await, 130);
}

/// A configuration that is refused.
fn wrong(env: &TestEnv) -> HostConfig {
    env.config().raw("nonsense = 1")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_that_fails_says_so_and_ends_whoever_reads() {
    let env = test_env("log-start").await;
    let (mut reader, writer) = pipe().unwrap();
    let host = env.host(wrong(&env)).start_into(Some(writer.into())).await;
    assert_eq!(host.wait_exit(secs(30)).await, 2);
    let mut said = String::new();
    reader.read_to_string(&mut said).unwrap();
    assert!(said.contains("nonsense"), "{said}");

    let (unread, writer) = full();
    let host = env.host(wrong(&env)).start_into(Some(writer.into())).await;
    assert_eq!(host.wait_exit(secs(30)).await, 2);
    drop(unread);

    let (gone, writer) = pipe().unwrap();
    drop(gone);
    let host = env.host(wrong(&env)).start_into(Some(writer.into())).await;
    assert_eq!(host.wait_exit(secs(30)).await, 2);
}
