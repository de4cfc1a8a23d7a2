//! What the README says of this suite and of the configuration is true.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

#[test]
fn the_whole_configuration_file_is_shown() {
    let reference = read("host/src/config/reference.toml");
    assert!(read("README.md").contains(reference.trim_end()));
}

#[test]
fn each_guarantee_names_tests_that_exist() {
    let readme = read("README.md");
    let rows = readme.lines().filter(|line| line.starts_with("> |"));
    let names: Vec<_> = rows
        .filter_map(|row| row.rsplit('|').nth(1))
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect();
    assert!(names.len() > 12, "{names:?}");
    for name in names {
        let (module, test) = name.rsplit_once("::").unwrap();
        let file = format!("tests/suite/{}.rs", module.replace("::", "/"));
        let source = read(&file);
        let start = format!("async fn {}", test.trim_end_matches('…'));
        assert!(source.contains(&start), "{name} is not in {file}");
    }
}
