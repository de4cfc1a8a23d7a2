//! What a component exports and imports, checked before it is linked, so that a refusal can say why.

use wasmtime::Engine;
use wasmtime::component::Component;

use super::LoadError;
use super::config::{MEMORIES_PER_SLOT, TABLES_PER_SLOT};

const HANDLER: &str = "tidegate:handler/message-handler@0.1.0";
const SERVED: &str = "0.1.0";
const PACKAGE: &str = "tidegate:handler/";
const GIVEN: [&str; 4] = ["types", "db", "log", "settings"];
/// The interfaces of WASI that are linked, by package.
const WASI: [(&str, &[&str]); 6] = [
    ("cli", &WASI_CLI),
    ("clocks", &["monotonic-clock", "wall-clock"]),
    ("filesystem", &["preopens", "types"]),
    ("io", &["error", "poll", "streams"]),
    ("random", &["insecure", "insecure-seed", "random"]),
    ("sockets", &WASI_SOCKETS),
];
const WASI_CLI: [&str; 10] = [
    "environment",
    "exit",
    "stderr",
    "stdin",
    "stdout",
    "terminal-input",
    "terminal-output",
    "terminal-stderr",
    "terminal-stdin",
    "terminal-stdout",
];
const WASI_SOCKETS: [&str; 7] = [
    "instance-network",
    "ip-name-lookup",
    "network",
    "tcp",
    "tcp-create-socket",
    "udp",
    "udp-create-socket",
];

/// Tells the forms of WebAssembly apart by their first eight bytes.
pub(super) fn sniff(name: &str, wasm: &[u8]) -> Result<(), LoadError> {
    let name = name.to_owned();
    match wasm {
        [] => Err(LoadError::Empty { name }),
        [0, b'a', b's', b'm', 1, 0, 0, 0, ..] => Err(LoadError::CoreModule { name }),
        [0, b'a', b's', b'm', ..] => Ok(()),
        _ => Err(LoadError::NotWasm { name }),
    }
}

/// Checks exports, then imports.
pub(super) fn check(name: &str, engine: &Engine, component: &Component) -> Result<(), LoadError> {
    let ty = component.component_type();
    let exports: Vec<&str> = ty.exports(engine).map(|(export, _)| export).collect();
    let imports: Vec<&str> = ty.imports(engine).map(|(import, _)| import).collect();
    check_exports(name, &exports)?;
    check_imports(name, &imports)
}

fn check_exports(name: &str, exports: &[&str]) -> Result<(), LoadError> {
    if exports.contains(&HANDLER) {
        return Ok(());
    }
    let other = |export: &&&str| interface(export).0 == interface(HANDLER).0;
    if let Some(found) = exports.iter().find(other) {
        return Err(version(name, found));
    }
    Err(LoadError::MissingExport {
        name: name.into(),
        wanted: HANDLER,
        exports: listed(exports),
    })
}

fn check_imports(name: &str, imports: &[&str]) -> Result<(), LoadError> {
    let unknown: Vec<&str> = imports.iter().copied().filter(|i| !is_given(i)).collect();
    let ours = |import: &&&str| {
        let (path, _) = interface(import);
        path.strip_prefix(PACKAGE)
            .is_some_and(|i| GIVEN.contains(&i))
    };
    if let Some(found) = unknown.iter().find(ours) {
        return Err(version(name, found));
    }
    if unknown.is_empty() {
        return Ok(());
    }
    Err(LoadError::UnknownImports {
        name: name.into(),
        imports: unknown.iter().map(|i| format!("`{i}`")).collect(),
    })
}

fn is_given(import: &str) -> bool {
    let (path, version) = interface(import);
    if let Some(ours) = path.strip_prefix(PACKAGE) {
        return GIVEN.contains(&ours) && version == Some(SERVED);
    }
    let Some((package, interface)) = path.strip_prefix("wasi:").and_then(|p| p.split_once('/'))
    else {
        return false;
    };
    let linked = WASI
        .iter()
        .any(|(p, interfaces)| *p == package && interfaces.contains(&interface));
    linked && version.is_some_and(|v| v.starts_with("0.2."))
}

/// An interface's path and its version.
fn interface(name: &str) -> (&str, Option<&str>) {
    match name.split_once('@') {
        Some((path, version)) => (path, Some(version)),
        None => (name, None),
    }
}

fn version(name: &str, found: &str) -> LoadError {
    LoadError::WitVersion {
        name: name.into(),
        found: found.into(),
        served: SERVED,
    }
}

fn listed(names: &[&str]) -> String {
    if names.is_empty() {
        return "nothing".into();
    }
    let quoted: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
    quoted.join(", ")
}

/// Places in the pool that an instance takes.
pub(super) fn slots(component: &Component) -> u32 {
    component.resources_required().map_or(1, |needs| {
        let memories = needs.num_memories.div_ceil(MEMORIES_PER_SLOT);
        let tables = needs.num_tables.div_ceil(TABLES_PER_SLOT);
        memories.max(tables).max(1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_told_apart() {
        let component = b"\0asm\x0d\0\x01\0";
        assert_eq!(sniff("m", component), Ok(()));
        let core = sniff("m", b"\0asm\x01\0\0\0").unwrap_err();
        assert!(core.to_string().contains("wasm32-wasip2"), "{core}");
        let name = || "m".to_owned();
        assert_eq!(sniff("m", b""), Err(LoadError::Empty { name: name() }));
        assert_eq!(
            sniff("m", b"(component)"),
            Err(LoadError::NotWasm { name: name() })
        );
    }

    #[test]
    fn exports_name_what_is_missing_and_other_versions() {
        assert_eq!(check_exports("m", &["x", HANDLER]), Ok(()));
        let e = check_exports("m", &["wasi:cli/run@0.2.6"]).unwrap_err();
        assert!(e.to_string().contains("exports `wasi:cli/run@0.2.6`"));
        let e = check_exports("m", &["tidegate:handler/message-handler@0.9.0"]).unwrap_err();
        let text = e.to_string();
        assert!(
            text.contains("@0.9.0") && text.contains("version 0.1.0"),
            "{text}"
        );
        assert!(check_exports("m", &["tidegate:handler/message-handler"]).is_err());
    }

    #[test]
    fn every_import_that_is_not_given_is_named() {
        let fine = [
            "tidegate:handler/db@0.1.0",
            "wasi:io/streams@0.2.12",
            "wasi:cli/exit@0.2.0",
        ];
        assert_eq!(check_imports("m", &fine), Ok(()));
        let bad = [
            "wasi:http/types@0.2.3",
            "wasi:cli/exit@0.3.0",
            "env",
            "tidegate:handler/db@0.1.0",
        ];
        let text = check_imports("m", &bad).unwrap_err().to_string();
        for name in &bad[..3] {
            assert!(text.contains(name), "{text}");
        }
        let old = check_imports("m", &["tidegate:handler/db@0.0.1"]).unwrap_err();
        assert!(matches!(old, LoadError::WitVersion { .. }));
    }
}
