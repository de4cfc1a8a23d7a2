//! A released handler contract never changes: handlers are built against it.

use std::path::Path;

use tidegate_tests::digest;

/// Every released version, with the sha256 of its file. A change belongs into a new version's directory.
const RELEASED: [(&str, &str); 1] = [(
    "handler@0.1.0",
    "4b15d66a80a0ad9c77623a56a5147a1dda84a119fa9f3edc15b6ca58375a4df6",
)];

#[test]
fn released_contracts_are_frozen() {
    for (version, frozen) in RELEASED {
        let file = wit().join(version).join("handler.wit");
        let found = digest(&std::fs::read(&file).unwrap());
        assert_eq!(found, frozen, "{} was changed", file.display());
    }
}

#[test]
fn every_contract_is_known_here() {
    let names = std::fs::read_dir(wit()).unwrap();
    let mut names: Vec<_> = names.map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, RELEASED.map(|(version, _)| version));
}

fn wit() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit")
}
