//! WASI: what toolchains import is there and does nothing; what nobody imports is refused by name.

use std::collections::BTreeSet;
use std::path::Path;

use tidegate::engine::LoadError;
use tidegate_core::limits::GuestLimits;
use tidegate_core::outcome::GuestEnd;
use tidegate_tests::guest_bytes;

use crate::engine_fake::{Bench, engine, payment};
use crate::engine_wat::Wat;

/// What each toolchain's handlers import from WASI 0.2: its name, the version, and packages with their interfaces.
const TOOLCHAINS: &str = include_str!("engine_wasi/toolchains.txt");

/// `language version package/interface …` of each line that is no comment.
fn toolchains() -> Vec<(&'static str, BTreeSet<String>)> {
    let lines = TOOLCHAINS
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    let read = |line: &'static str| {
        let (language, rest) = line.split_once(' ').unwrap();
        let (version, names) = rest.trim_start().split_once(' ').unwrap();
        let import = |name: &str| format!("wasi:{name}@{version}");
        (language, names.split_whitespace().map(import).collect())
    };
    lines.map(read).collect()
}

fn imports(names: &BTreeSet<String>) -> String {
    names
        .iter()
        .map(|name| format!("(import \"{name}\" (instance)) "))
        .collect()
}

#[tokio::test]
async fn what_each_toolchain_imports_is_linked() {
    let dir = tempfile::tempdir().unwrap();
    let engine = engine(dir.path());
    let mut languages = BTreeSet::new();
    for (language, names) in toolchains() {
        let imports = imports(&names);
        let wat = Wat {
            imports: &imports,
            ..Wat::default()
        };
        if let Err(error) = engine.load(language, wat.build()).await {
            panic!("{error}");
        }
        languages.insert(language);
    }
    let all = ["c", "go", "javascript", "python", "rust", "typescript"];
    assert!(languages.into_iter().eq(all));
}

/// The list holds what the compiler really makes a handler import, whatever it does.
#[tokio::test]
async fn every_rust_guest_imports_what_the_list_says() {
    let listed: BTreeSet<_> = toolchains()
        .into_iter()
        .filter(|(language, _)| *language == "rust")
        .flat_map(|(_, names)| names)
        .filter_map(|name| name.split_once('@').map(|(path, _)| path.to_owned()))
        .collect();
    let mut found = BTreeSet::new();
    let guests = Path::new(env!("CARGO_MANIFEST_DIR")).join("guests");
    for entry in std::fs::read_dir(guests).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.path().join("src").exists() && name != "common" {
            found.extend(wasi_imports(&guest_bytes(&name).await));
        }
    }
    assert!(found.is_subset(&listed), "{:?}", found.difference(&listed));
    assert!(found.len() > 20, "{found:?}");
}

/// Interfaces such as `wasi:io/error` that a component names.
fn wasi_imports(wasm: &[u8]) -> BTreeSet<String> {
    let text = String::from_utf8_lossy(wasm);
    let names = text.split("wasi:").skip(1).filter_map(|rest| {
        let (path, version) = rest.split_once('@')?;
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-/".contains(c);
        let is_one = path.chars().all(plain) && version.starts_with("0.2.");
        is_one.then(|| format!("wasi:{path}"))
    });
    names.collect()
}

#[tokio::test]
async fn what_no_toolchain_imports_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let engine = engine(dir.path());
    for name in [
        "wasi:http/types@0.2.6",
        "wasi:http/outgoing-handler@0.2.6",
        "wasi:keyvalue/store@0.2.0",
        "wasi:cli/run@0.2.6",
        "wasi:cli/environment@0.3.0",
        "wasi:clocks/timezone@0.2.6",
        "wasi:sockets/types@0.2.6",
        "wasi:filesystem/mounts@0.2.6",
        "wasi:nn/graph@0.2.0",
        "other:package/interface@1.0.0",
    ] {
        let imports = format!("(import \"{name}\" (instance))");
        let wat = Wat {
            imports: &imports,
            ..Wat::default()
        };
        let refused = engine.load("h.wasm", wat.build()).await.unwrap_err();
        assert!(
            matches!(refused, LoadError::UnknownImports { .. }),
            "{refused}"
        );
        let text = refused.to_string();
        assert!(
            text.starts_with("h.wasm: imports what a handler is not given"),
            "{text}"
        );
        assert!(text.contains(name), "{text}");
    }
}

#[tokio::test]
async fn everything_that_is_linked_is_inert() {
    let bench = Bench::new("reaches-out", GuestLimits::default()).await;
    let (end, calls) = bench.call(&payment("")).await;
    let GuestEnd::Reject { code, message } = end else {
        panic!("{end:?}");
    };
    assert_eq!((code.as_str(), calls), ("probed", Vec::new()));
    let expected = "environment: 0
arguments: 0
stdin: 0
file-open: denied
file-relative: denied
file-create: denied
read-dir: denied
read-dir-here: denied
make-dir: denied
metadata: denied
remove: denied
connect: denied
connect-soon: denied
listen: denied
udp: denied
listen-6: denied
look-up: denied
look-up-far: denied
clocks: 0";
    assert_eq!(message, expected);
    assert!(!Path::new("/tmp/reached").exists() && !Path::new("/tmp/reached-dir").exists());
}

#[tokio::test]
async fn exit_ends_the_guest_and_not_the_host() {
    let bench = Bench::new("reaches-out", GuestLimits::default()).await;
    let (end, _) = bench.call(&payment("exit")).await;
    let GuestEnd::Trap { message } = end else {
        panic!("{end:?}");
    };
    assert!(message.contains("exit"), "{message}");
}
