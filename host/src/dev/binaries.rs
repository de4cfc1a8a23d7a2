//! Finds PostgreSQL's programs, and the user to run them as.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use nix::unistd::{Uid, User};

use super::DevError;

/// Names the directory of initdb and postgres.
pub(super) const VARIABLE: &str = "TIDEGATE_PG_BIN";

/// Where distributions put them: a directory of versions, and what follows the version.
const PLACES: [(&str, &str, &str); 2] = [
    ("/usr/lib/postgresql", "", "bin"),
    ("/usr", "pgsql-", "bin"),
];

/// The directory that holds initdb and postgres.
pub(super) fn find(var: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, DevError> {
    if let Some(given) = var(VARIABLE) {
        let given = PathBuf::from(given);
        return match holds_server(&given) {
            true => Ok(given),
            false => Err(DevError::Directory {
                path: given,
                reason: format!(
                    "{VARIABLE} names this directory, and it holds no initdb and postgres"
                ),
            }),
        };
    }
    let path = var("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(installed())
        .find(|directory| holds_server(directory))
        .ok_or(DevError::NoPostgres)
}

fn holds_server(directory: &Path) -> bool {
    ["initdb", "postgres"]
        .iter()
        .all(|program| directory.join(program).is_file())
}

/// The distributions' directories, newest version first.
fn installed() -> Vec<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = Vec::new();
    for (parent, prefix, below) in PLACES {
        let Ok(entries) = std::fs::read_dir(parent) else {
            continue;
        };
        found.extend(entries.flatten().filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let version = name.strip_prefix(prefix)?.parse().ok()?;
            Some((version, entry.path().join(below)))
        }));
    }
    found.sort();
    found
        .into_iter()
        .rev()
        .map(|(_, directory)| directory)
        .collect()
}

/// Whom to run PostgreSQL as: ourselves, or somebody harmless if we are root.
pub(super) fn user() -> Result<Option<User>, DevError> {
    if !Uid::effective().is_root() {
        return Ok(None);
    }
    let known = ["postgres", "nobody"]
        .iter()
        .find_map(|name| User::from_name(name).ok().flatten());
    known.map(Some).ok_or(DevError::NoUser)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_directory_without_a_server_is_refused() {
        let empty = tempfile::tempdir().unwrap();
        let error = find(|name| (name == VARIABLE).then(|| empty.path().into())).unwrap_err();
        assert!(error.to_string().contains(VARIABLE), "{error}");
    }

    #[test]
    fn the_path_is_searched_first() {
        let dir = tempfile::tempdir().unwrap();
        for program in ["initdb", "postgres"] {
            std::fs::write(dir.path().join(program), "").unwrap();
        }
        let found = find(|name| (name == "PATH").then(|| dir.path().into())).unwrap();
        assert_eq!(found, dir.path());
    }
}
