//! Files that are no handlers: refused in plain words, before a record is read.

use std::path::Path;

use tidegate_tests::{guest_bytes, secs};

use crate::scene::{Scene, pay};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_no_handler_is_refused_in_plain_words() {
    let scene = Scene::new("files", 1, 1).await;
    scene.produce(vec![pay(1, "e1", "")]).await;
    let whole = guest_bytes("rejects").await;
    let core_module = b"\0asm\x01\0\0\0".to_vec();
    let empty_component = b"\0asm\x0d\0\x01\0".to_vec();
    let cases: [(&str, Vec<u8>, &str); 6] = [
        ("empty.wasm", Vec::new(), "empty"),
        ("text.wasm", b"(component)".to_vec(), "not WebAssembly"),
        ("core.wasm", core_module, "core WebAssembly module"),
        ("cut.wasm", whole[..whole.len() / 2].to_vec(), "cut.wasm"),
        ("bare.wasm", empty_component, "does not export"),
        ("damaged.wasm", damaged(whole), "damaged.wasm"),
    ];
    for (name, bytes, words) in cases {
        let file = scene.env.dir().join(name);
        std::fs::write(&file, bytes).unwrap();
        refused(&scene, &file, words).await;
    }
    refused(
        &scene,
        &scene.env.dir().join("nowhere.wasm"),
        "nowhere.wasm",
    )
    .await;
    let sql = "SELECT count(*) FROM pg_class WHERE oid = to_regclass('tidegate.progress')";
    let known = scene.env.db.query_one_i64(sql).await;
    if known > 0 {
        let sql = "SELECT count(*) FROM tidegate.processed_events";
        assert_eq!(scene.env.db.query_one_i64(sql).await, 0);
    }
}

/// `check` and `run` say the same: which file, and what is wrong with it.
async fn refused(scene: &Scene, file: &Path, words: &str) {
    let consumer = scene.consumer("rejects").await.handler(file);
    let config = scene.env.config().consumer(consumer);
    let said = scene.env.cli(&["check"], &config).await;
    let name = file.file_name().unwrap().to_str().unwrap();
    assert_ne!(said.code, 0, "{said:?}");
    let text = format!("{}{}", said.stdout, said.stderr);
    assert!(text.contains(words) && text.contains(name), "{said:?}");

    let host = scene.env.host(config).start().await;
    let code = host.wait_exit(secs(30)).await;
    let log = host.log();
    assert!(matches!(code, 1 | 2), "{code}: {log}");
    assert!(log.contains(words) && log.contains(name), "{log}");
    assert!(!log.contains("panicked"), "{log}");
}

/// One byte in the middle of the code, changed.
fn damaged(mut bytes: Vec<u8>) -> Vec<u8> {
    let middle = bytes.len() / 3;
    for byte in &mut bytes[middle..middle + 64] {
        *byte = 0xff;
    }
    bytes
}
