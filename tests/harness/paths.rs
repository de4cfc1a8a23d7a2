//! Where things are: the source tree, cargo's target directory, the run's own directory.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::reaper;

/// The root of the source tree.
pub(crate) fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package)
}

/// Cargo's target directory, as the environment says or below the root.
pub(crate) fn target() -> PathBuf {
    let dir = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    root().join(dir)
}

/// This run's directory, removed when the process is gone.
pub(crate) fn run_dir() -> &'static Path {
    static DIR: OnceLock<PathBuf> = OnceLock::new();
    DIR.get_or_init(|| {
        let dir = std::env::temp_dir().join(format!("tidegate-tests-{:08x}", fastrand::u32(..)));
        make_dir(&dir);
        reaper::remove_at_end(&dir);
        dir
    })
}

/// Makes a directory and its parents.
pub(crate) fn make_dir(dir: &Path) {
    if let Err(e) = std::fs::create_dir_all(dir) {
        panic!("cannot make {}: {e}", dir.display());
    }
}

/// Writes a file whole.
pub(crate) fn write(file: &Path, text: &str) {
    if let Err(e) = std::fs::write(file, text) {
        panic!("cannot write {}: {e}", file.display());
    }
}

/// Reads a file that may not be there yet, or hold bytes that are no text.
pub(crate) fn read(file: &Path) -> String {
    std::fs::read(file).map_or_else(
        |_| String::new(),
        |bytes| String::from_utf8_lossy(&bytes).into_owned(),
    )
}

/// The last lines of a file, for a message about a failure.
pub(crate) fn tail(file: &Path, lines: usize) -> String {
    let text = read(file);
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}
