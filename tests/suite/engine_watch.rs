//! A handler's file under everything that writers do to files.

#![expect(
    clippy::unwrap_used,
    reason = "a helper that fails is a test that fails"
)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tidegate::engine::watch::{self, Handler};
use tidegate_core::limits::GuestLimits;
use tidegate_tests::{digest, guest_bytes};
use tokio::time::{sleep, timeout};

use crate::engine_fake::{Fake, engine, env};

/// Longer than two looks at the file and a load.
const SETTLED: Duration = Duration::from_millis(1500);

struct Watched {
    handler: Handler<Fake>,
    path: PathBuf,
    old: Vec<u8>,
    new: Vec<u8>,
    _dir: tempfile::TempDir,
}

impl Watched {
    async fn open() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("h.wasm");
        let (old, new) = (guest_bytes("credit-rust").await, guest_bytes("trap").await);
        fs::write(&path, &old).unwrap();
        let handler = watch::open(&engine(dir.path()), &path, &env(GuestLimits::default()))
            .await
            .unwrap();
        Self {
            handler,
            path,
            old,
            new,
            _dir: dir,
        }
    }

    fn loaded(&self) -> String {
        hex::encode(self.handler.changed().borrow().digest())
    }

    async fn swapped_to(&self, wasm: &[u8]) {
        let wanted = digest(wasm);
        let mut changed = self.handler.changed();
        let swap = changed.wait_for(|m| hex::encode(m.digest()) == wanted);
        let swap = timeout(Duration::from_secs(20), swap).await;
        swap.expect("swapped in time").expect("watched");
        assert_eq!(self.loaded(), wanted);
    }

    async fn stays(&self, wasm: &[u8]) {
        let changed = self.handler.changed();
        sleep(SETTLED).await;
        assert_eq!(self.loaded(), digest(wasm));
        assert!(!changed.has_changed().unwrap(), "no swap");
    }
}

fn rename_over(path: &Path, wasm: &[u8]) {
    let beside = path.with_extension("new");
    fs::write(&beside, wasm).unwrap();
    fs::rename(&beside, path).unwrap();
}

#[tokio::test]
async fn a_file_written_in_pieces_is_loaded_once_when_it_holds_still() {
    let watched = Watched::open().await;
    let changed = watched.handler.changed();
    fs::write(&watched.path, b"").unwrap();
    for piece in 1..=10 {
        let upto = watched.new.len() * piece / 10;
        fs::write(&watched.path, &watched.new[..upto]).unwrap();
        assert_eq!(watched.loaded(), digest(&watched.old));
        assert!(!changed.has_changed().unwrap());
        sleep(Duration::from_millis(200)).await;
    }
    watched.swapped_to(&watched.new).await;
    watched.handler.stop().await;
}

#[tokio::test]
async fn a_bad_file_is_refused_and_its_next_change_is_tried() {
    let watched = Watched::open().await;
    for bad in [b"".as_slice(), b"junk", &watched.new[..5000]] {
        fs::write(&watched.path, bad).unwrap();
        watched.stays(&watched.old).await;
    }
    fs::write(&watched.path, &watched.new).unwrap();
    watched.swapped_to(&watched.new).await;
}

#[tokio::test]
async fn a_deleted_file_changes_nothing_until_it_is_back() {
    let watched = Watched::open().await;
    fs::remove_file(&watched.path).unwrap();
    watched.stays(&watched.old).await;
    fs::write(&watched.path, &watched.new).unwrap();
    watched.swapped_to(&watched.new).await;
}

#[tokio::test]
async fn a_file_renamed_over_or_linked_anew_is_loaded() {
    let watched = Watched::open().await;
    rename_over(&watched.path, &watched.new);
    watched.swapped_to(&watched.new).await;
    // As a ConfigMap does: the path is a link that is replaced.
    let target = watched.path.with_extension("target");
    fs::write(&target, &watched.old).unwrap();
    let link = watched.path.with_extension("link");
    symlink(&target, &link).unwrap();
    fs::rename(&link, &watched.path).unwrap();
    watched.swapped_to(&watched.old).await;
}

#[tokio::test]
async fn the_same_bytes_are_no_swap() {
    let watched = Watched::open().await;
    let file = fs::File::options()
        .append(true)
        .open(&watched.path)
        .unwrap();
    file.set_modified(std::time::SystemTime::now()).unwrap();
    watched.stays(&watched.old).await;
    rename_over(&watched.path, &watched.old);
    watched.stays(&watched.old).await;
}

#[tokio::test]
async fn a_missing_file_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("none.wasm");
    let error = watch::open(&engine(dir.path()), &path, &env(GuestLimits::default()))
        .await
        .err()
        .unwrap();
    assert!(error.to_string().contains("none.wasm"), "{error}");
    let error = watch::open(
        &engine(dir.path()),
        dir.path(),
        &env(GuestLimits::default()),
    )
    .await
    .err()
    .unwrap();
    assert!(error.to_string().contains("not a regular file"), "{error}");
}
