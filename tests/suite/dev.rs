//! `tidegate dev`: its services come and go with whoever holds them, and nothing stays behind.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tidegate_tests::{secs, tidegate_bin, wait_for};

/// The services' line, once it is there.
#[derive(Clone, Debug)]
struct Addresses {
    postgres_url: String,
    bootstrap_servers: String,
    directory: PathBuf,
}

struct Running {
    child: Child,
    addresses: Addresses,
}

async fn start() -> Running {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let mut command = Command::new(tidegate_bin().await);
    let mut child = command
        .args(["dev-services", "--topic", "a", "--partitions", "3"])
        .stdin(Stdio::piped())
        .stdout(std::fs::File::create(&out).unwrap())
        .spawn()
        .unwrap();
    let addresses = wait_for(secs(60), "the services' addresses", async || {
        assert!(child.try_wait().unwrap().is_none(), "the services ended");
        let line = std::fs::read_to_string(&out).ok()?;
        let json: serde_json::Value = serde_json::from_str(&line).ok()?;
        let text = |name: &str| json[name].as_str().unwrap().to_owned();
        Some(Addresses {
            postgres_url: text("postgres_url"),
            bootstrap_servers: text("bootstrap_servers"),
            directory: text("directory").into(),
        })
    })
    .await;
    Running { child, addresses }
}

async fn gone(running: &mut Running) {
    let child = &mut running.child;
    wait_for(secs(20), "the end of the services", async || {
        child.try_wait().unwrap()
    })
    .await;
    let Addresses {
        postgres_url,
        directory,
        ..
    } = &running.addresses;
    assert!(
        !directory.exists(),
        "{} is left behind",
        directory.display()
    );
    assert!(
        tokio_postgres::connect(postgres_url, tokio_postgres::NoTls)
            .await
            .is_err()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn services_are_usable_and_end_with_their_stdin() {
    let mut running = start().await;
    let url = &running.addresses.postgres_url;
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls)
        .await
        .unwrap();
    let connection = tokio::spawn(connection);
    client
        .batch_execute("CREATE TABLE t (x int)")
        .await
        .unwrap();
    let partitions = partitions(&running.addresses.bootstrap_servers).await;
    assert_eq!(partitions, 3);
    drop(running.child.stdin.take());
    gone(&mut running).await;
    connection.abort();
}

async fn partitions(servers: &str) -> usize {
    use rdkafka::consumer::{BaseConsumer, Consumer};
    let mut config = rdkafka::ClientConfig::new();
    config.set("bootstrap.servers", servers);
    let asked = tokio::task::spawn_blocking(move || {
        let client: BaseConsumer = config.create().unwrap();
        let metadata = client.fetch_metadata(Some("a"), secs(10)).unwrap();
        metadata.topics()[0].partitions().len()
    });
    asked.await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn services_end_when_asked_to() {
    let mut running = start().await;
    let pid = Pid::from_raw(i32::try_from(running.child.id()).unwrap());
    kill(pid, Signal::SIGTERM).unwrap();
    gone(&mut running).await;
}

/// A parent that is killed closes its end of the pipe like any other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn services_end_when_their_parent_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    write_config(dir.path());
    // PostgreSQL may run as another user, who must get through.
    std::fs::set_permissions(dir.path(), Permissions::from_mode(0o711)).unwrap();
    let mut parent = Command::new(tidegate_bin().await)
        .arg("dev")
        .current_dir(dir.path())
        .env("TMPDIR", dir.path())
        .env("XDG_CACHE_HOME", dir.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let left = || {
        let entries = std::fs::read_dir(dir.path()).unwrap().flatten();
        let names = entries.map(|entry| entry.file_name().into_string().unwrap());
        names
            .filter(|name| name.starts_with("tidegate-dev-"))
            .count()
    };
    wait_for(secs(30), "the services' directory", async || {
        (left() > 0).then_some(())
    })
    .await;
    parent.kill().unwrap();
    parent.wait().unwrap();
    wait_for(secs(60), "the directory's end", async || {
        (left() == 0).then_some(())
    })
    .await;
}

fn write_config(dir: &Path) {
    let text = "[[consumer]]\nname = \"a\"\ntopics = [\"a\"]\nhandler = \"none.wasm\"\n";
    std::fs::write(dir.join("tidegate.toml"), text).unwrap();
}
