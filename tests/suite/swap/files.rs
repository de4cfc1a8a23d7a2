//! What can become of a handler's file: the module that is loaded serves on, and a good one is loaded once.

use std::os::unix::fs::symlink;

use tidegate_tests::{digest, guest_bytes, millis};

use super::{Served, TAKEN, replace, with_section};
use crate::scene::{PATIENCE, Scene};

/// Truncated, deleted, touched: the old module serves. Put back whole: the new one, once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broken_or_missing_file_leaves_the_old_module_serving_and_its_next_change_is_tried() {
    let scene = Scene::new("swap-broken", 1, 1).await;
    let file = scene.env.guest_copy("rejects", "handler.wasm").await;
    let first = guest_bytes("rejects").await;
    let (second, third) = (
        with_section(&first, "second"),
        with_section(&first, "third"),
    );
    let consumer = scene.consumer("rejects").await.handler(file.as_path());
    let host = scene.run(consumer.batch("max_wait", "0ms")).await;
    let mut served = Served::new(&scene);
    assert_eq!(served.one().await, digest(&first));

    std::fs::write(&file, &first[..first.len() / 2]).unwrap();
    host.wait_log("the module that is loaded goes on", PATIENCE)
        .await;
    assert_eq!(served.one().await, digest(&first));

    replace(&file, &second);
    served.until(&second).await;

    std::fs::remove_file(&file).unwrap();
    host.wait_log("file is gone", PATIENCE).await;
    assert_eq!(served.one().await, digest(&second));

    // The same bytes again are no swap.
    replace(&file, &second);
    served.through(millis(1_500)).await;
    assert_eq!(host.log_count(TAKEN), 1);

    // A file that is only touched is none either.
    let touched = std::fs::File::options().append(true).open(&file).unwrap();
    touched.set_modified(std::time::SystemTime::now()).unwrap();
    drop(touched);
    served.through(millis(1_500)).await;
    assert_eq!(host.log_count(TAKEN), 1);

    replace(&file, &third);
    served.until(&third).await;
    assert_eq!(host.log_count(TAKEN), 2);
    let expected = [&first, &second, &third].map(|bytes| digest(bytes));
    assert_eq!(served.digests().await, expected.into());
    served.assert_all_done().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_symbolic_link_that_is_swapped_swaps_the_module() {
    let scene = Scene::new("swap-link", 1, 1).await;
    let first = guest_bytes("rejects").await;
    let second = with_section(&first, "second");
    let dir = scene.env.dir();
    std::fs::write(dir.join("v1.wasm"), &first).unwrap();
    std::fs::write(dir.join("v2.wasm"), &second).unwrap();
    let link = dir.join("handler.wasm");
    symlink("v1.wasm", &link).unwrap();
    let consumer = scene.consumer("rejects").await.handler(link.as_path());
    let host = scene.run(consumer.batch("max_wait", "0ms")).await;
    let mut served = Served::new(&scene);
    assert_eq!(served.one().await, digest(&first));

    symlink("v2.wasm", dir.join("next")).unwrap();
    std::fs::rename(dir.join("next"), &link).unwrap();
    served.until(&second).await;
    symlink("nowhere.wasm", dir.join("next")).unwrap();
    std::fs::rename(dir.join("next"), &link).unwrap();
    host.wait_log("file is gone", PATIENCE).await;
    assert_eq!(served.one().await, digest(&second));
    assert_eq!(host.log_count(TAKEN), 1);
    served.assert_all_done().await;
}

/// A module that is no handler is refused whatever it is, and named in the log once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_no_handler_is_refused_once_and_the_old_module_serves() {
    let scene = Scene::new("swap-alien", 1, 1).await;
    let file = scene.env.guest_copy("rejects", "handler.wasm").await;
    let first = guest_bytes("rejects").await;
    let consumer = scene.consumer("rejects").await.handler(file.as_path());
    let host = scene.run(consumer.batch("max_wait", "0ms")).await;
    let mut served = Served::new(&scene);
    served.one().await;
    replace(&file, b"\0asm\x01\0\0\0");
    host.wait_log("core WebAssembly module", PATIENCE).await;
    served.through(millis(1_000)).await;
    assert_eq!(host.log_count("core WebAssembly module"), 1);
    assert_eq!(served.digests().await, [digest(&first)].into());
    assert_eq!(host.log_count(TAKEN), 0);
    served.assert_all_done().await;
}
