//! Loading modules: refusals in plain words, and the cache of compiled ones.

#![expect(
    clippy::unwrap_used,
    reason = "a helper that fails is a test that fails"
)]

use std::fs;
use std::path::{Path, PathBuf};

use tidegate::engine::{Engine, EngineError, EngineOptions, LoadError};
use tidegate_tests::{digest, guest_bytes};

use crate::engine_fake::{Fake, engine};

async fn refusal(engine: &Engine<Fake>, wasm: Vec<u8>) -> LoadError {
    engine.load("h.wasm", wasm).await.unwrap_err()
}

#[tokio::test]
async fn what_is_no_handler_is_refused_in_plain_words() {
    let dir = tempfile::tempdir().unwrap();
    let engine = engine(dir.path());
    let whole = guest_bytes("credit-rust").await;
    let half = whole[..whole.len() / 2].to_vec();
    let cases: [(Vec<u8>, &str); 5] = [
        (Vec::new(), "empty"),
        (b"#!/bin/sh\n".to_vec(), "not WebAssembly"),
        (b"\0asm\x01\0\0\0".to_vec(), "wasm-tools component new"),
        (half, "cannot be compiled"),
        (b"\0asm\x0d\0\x01\0".to_vec(), "it exports nothing"),
    ];
    for (wasm, words) in cases {
        let text = refusal(&engine, wasm).await.to_string();
        assert!(
            text.starts_with("h.wasm: ") && text.contains(words),
            "{text}"
        );
    }
}

#[tokio::test]
async fn another_version_of_the_contract_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let engine = engine(dir.path());
    let mut wasm = guest_bytes("credit-rust").await;
    replace(
        &mut wasm,
        b"message-handler@0.1.0",
        b"message-handler@0.9.7",
    );
    let refused = refusal(&engine, wasm).await;
    assert!(matches!(refused, LoadError::WitVersion { .. }), "{refused}");
    let text = refused.to_string();
    assert!(text.contains("0.9.7") && text.contains("0.1.0"), "{text}");
}

#[tokio::test]
async fn an_import_that_is_not_given_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let engine = engine(dir.path());
    let mut wasm = guest_bytes("credit-rust").await;
    replace(
        &mut wasm,
        b"tidegate:handler/db@0.1.0",
        b"tidegate:handler/dc@0.1.0",
    );
    let text = refusal(&engine, wasm).await.to_string();
    assert!(text.contains("`tidegate:handler/dc@0.1.0`"), "{text}");
}

fn replace(wasm: &mut [u8], from: &[u8], to: &[u8]) {
    assert_eq!(from.len(), to.len());
    let at: Vec<usize> = (0..wasm.len() - from.len())
        .filter(|i| wasm[*i..].starts_with(from))
        .collect();
    assert!(!at.is_empty());
    for i in at {
        wasm[i..i + to.len()].copy_from_slice(to);
    }
}

#[tokio::test]
async fn a_compiled_module_is_kept_and_a_damaged_one_is_compiled_anew() {
    let dir = tempfile::tempdir().unwrap();
    let wasm = guest_bytes("credit-rust").await;
    let first = engine(dir.path()).load("h", wasm.clone()).await.unwrap();
    assert_eq!(hex::encode(first.digest()), digest(&wasm));
    let entry = only_entry(dir.path());
    let compiled = fs::read(&entry).unwrap();
    let damages: [&dyn Fn(); 4] = [
        &|| {},
        &|| fs::write(&entry, &compiled[..compiled.len() / 2]).unwrap(),
        &|| fs::write(&entry, b"").unwrap(),
        &|| fs::remove_file(entry.with_extension("sha256")).unwrap(),
    ];
    for damage in damages {
        // A mapped file must not be written to: the old one leaves first.
        fs::remove_file(&entry).unwrap();
        fs::write(&entry, &compiled).unwrap();
        damage();
        engine(dir.path()).load("h", wasm.clone()).await.unwrap();
        assert_eq!(
            fs::read(only_entry(dir.path())).unwrap().len(),
            compiled.len()
        );
    }
}

fn only_entry(dir: &Path) -> PathBuf {
    let entries = fs::read_dir(dir.join("modules")).unwrap();
    let paths: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).collect();
    let compiled = |p: &&PathBuf| p.extension().is_some_and(|e| e == "cwasm");
    assert_eq!(paths.iter().filter(compiled).count(), 1, "{paths:?}");
    paths.iter().find(compiled).unwrap().clone()
}

#[tokio::test]
async fn a_cache_that_others_may_write_to_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let made = Engine::<Fake>::new(EngineOptions {
        cache_dir: dir.path().to_owned(),
        max_instances: 2,
        max_memory: 64 << 20,
    });
    let refused = made.err().unwrap();
    assert!(matches!(refused, EngineError::CacheDir { .. }), "{refused}");
    assert!(refused.to_string().contains("chmod go-w"), "{refused}");
}
