//! Compiled modules on disk, by the digest of the module and by what Wasmtime says its output depends on.
//!
//! A compiled module is machine code: only what this host wrote itself is ever loaded. So the directory is
//! refused unless it is the host's own and nobody else can write to it, and each entry has the sha256 of its
//! bytes beside it, so that a torn write is found before it is mapped.

use std::fs::{self, DirBuilder, File};
use std::hash::{Hash, Hasher};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sha2::{Digest, Sha256};
use wasmtime::Engine;
use wasmtime::component::Component;

use super::EngineError;

/// Entries kept; the ones used longest ago go first.
const MAX_ENTRIES: usize = 64;
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// The directory of compiled modules.
pub(super) struct Cache {
    dir: PathBuf,
    compatibility: String,
}

impl Cache {
    pub(super) fn open(dir: PathBuf, engine: &Engine) -> Result<Self, EngineError> {
        let refuse = |reason: String| EngineError::CacheDir {
            path: dir.clone(),
            reason,
        };
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&dir);
        made.map_err(|e| refuse(unusable(&e)))?;
        let found = fs::metadata(&dir).map_err(|e| refuse(unusable(&e)))?;
        check_owner(found.uid(), found.mode()).map_err(refuse)?;
        let mut hasher = Sha256Hasher(Sha256::new());
        engine.precompile_compatibility_hash().hash(&mut hasher);
        let compatibility = hex::encode(&hasher.0.finalize()[..16]);
        Ok(Self { dir, compatibility })
    }

    /// The compiled module, if it is here whole. A damaged entry is removed.
    pub(super) fn get(&self, engine: &Engine, digest: &[u8; 32]) -> Option<Component> {
        let path = self.path(digest);
        if !path.exists() {
            return None;
        }
        let loaded = read_checked(&path).and_then(|()| map(engine, &path));
        match loaded {
            Ok(component) => {
                touch(&path);
                Some(component)
            }
            Err(reason) => {
                tracing::warn!(path = %path.display(), reason, "a compiled module is damaged, compiling it anew");
                discard(&path);
                None
            }
        }
    }

    /// Keeps a compiled module. A failure costs the next start a compilation, nothing else.
    pub(super) fn put(&self, digest: &[u8; 32], component: &Component) {
        let path = self.path(digest);
        let kept = component
            .serialize()
            .map_err(|e| e.to_string())
            .and_then(|bytes| self.write(&path, &bytes).map_err(|e| e.to_string()));
        if let Err(reason) = kept {
            tracing::warn!(path = %path.display(), reason, "a compiled module cannot be kept, so it is compiled again at the next start; {REMEDY}");
        }
        self.prune();
    }

    fn path(&self, digest: &[u8; 32]) -> PathBuf {
        let name = format!("{}-{}.cwasm", hex::encode(digest), self.compatibility);
        self.dir.join(name)
    }

    /// The sum goes first: an entry without its sum would count as damaged.
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let sum = hex::encode(Sha256::digest(bytes));
        self.replace(&sum_path(path), sum.as_bytes())?;
        self.replace(path, bytes)
    }

    /// By renaming: a file that another process has mapped is never written to.
    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.dir)?;
        file.write_all(bytes)?;
        file.persist(path)?;
        Ok(())
    }

    fn prune(&self) {
        let mut entries = self.entries();
        entries.sort_by_key(|(used, _)| std::cmp::Reverse(*used));
        for (_, path) in entries.iter().skip(MAX_ENTRIES) {
            discard(path);
        }
    }

    fn entries(&self) -> Vec<(SystemTime, PathBuf)> {
        let Ok(dir) = fs::read_dir(&self.dir) else {
            return Vec::new();
        };
        dir.filter_map(|entry| {
            let entry = entry.ok()?;
            let path = entry.path();
            let used = entry.metadata().ok()?.modified().ok()?;
            (path.extension()? == "cwasm").then_some((used, path))
        })
        .collect()
    }
}

/// What to do about a directory that cannot be written to.
const REMEDY: &str =
    "name a directory that this user can write to, with room in it, as [host] module_cache";

fn unusable(error: &io::Error) -> String {
    format!("{error}; {REMEDY}")
}

fn check_owner(uid: u32, mode: u32) -> Result<(), String> {
    let me = nix::unistd::geteuid().as_raw();
    if uid != me {
        return Err(format!(
            "it belongs to user {uid} and this process is user {me}; compiled modules are machine code, so name a \
             directory of this user's own ([host] module_cache)"
        ));
    }
    if mode & WRITABLE_BY_OTHERS != 0 {
        return Err(format!(
            "others can write to it (mode {:o}); compiled modules are machine code, so `chmod go-w` it or name \
             another directory ([host] module_cache)",
            mode & 0o7777
        ));
    }
    Ok(())
}

fn sum_path(path: &Path) -> PathBuf {
    path.with_extension("sha256")
}

fn read_checked(path: &Path) -> Result<(), String> {
    let wanted = fs::read_to_string(sum_path(path)).map_err(|e| format!("its checksum: {e}"))?;
    let mut file = File::open(path).map_err(|e| e.to_string())?;
    let mut found = Sha256::new();
    io::copy(&mut file, &mut found).map_err(|e| e.to_string())?;
    if hex::encode(found.finalize()) == wanted {
        Ok(())
    } else {
        Err("its checksum differs".into())
    }
}

#[expect(
    unsafe_code,
    reason = "mapping machine code is unsafe in Wasmtime; this is the one place"
)]
fn map(engine: &Engine, path: &Path) -> Result<Component, String> {
    // SAFETY: `path` was written by `Cache::write` of this host, from `Component::serialize`. `Cache::open` has
    // made sure that the directory is this user's own and that nobody else can write to it; entries are replaced
    // by renaming, so a mapped file never changes; `read_checked` has compared the bytes with their sum. Wasmtime
    // itself checks version and configuration, which are in the name as well.
    let mapped = unsafe { Component::deserialize_file(engine, path) };
    mapped.map_err(|e| format!("{e:#}"))
}

/// Marks an entry as used, for pruning; a failure only makes it look older than it is.
fn touch(path: &Path) {
    let touched = File::options()
        .append(true)
        .open(path)
        .and_then(|f| f.set_modified(SystemTime::now()));
    if let Err(error) = touched {
        tracing::debug!(path = %path.display(), %error, "cannot mark a compiled module as used");
    }
}

fn discard(path: &Path) {
    for path in [path.to_path_buf(), sum_path(path)] {
        if let Err(error) = fs::remove_file(&path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(path = %path.display(), %error, "cannot remove a compiled module");
        }
    }
}

/// Hashes like the standard hasher but to a value that stays the same across compilers.
struct Sha256Hasher(Sha256);

impl Hasher for Sha256Hasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        let sum = self.0.clone().finalize();
        sum.iter().take(8).fold(0, |n, b| n << 8 | u64::from(*b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_directory_that_others_can_write_to_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let engine = Engine::default();
        let open = || Cache::open(dir.path().join("modules"), &engine);
        open().unwrap();
        let made = fs::metadata(dir.path().join("modules")).unwrap();
        assert_eq!(made.mode() & 0o777, 0o700);
        fs::set_permissions(dir.path().join("modules"), PermissionsExt::from_mode(0o770)).unwrap();
        let text = open().err().unwrap().to_string();
        assert!(text.contains("chmod go-w"), "{text}");
        assert!(check_owner(u32::MAX, 0o700).is_err());
    }

    #[test]
    fn a_directory_that_cannot_be_made_names_the_option() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let refused = Cache::open(file.path().join("modules"), &Engine::default());
        let text = refused.err().unwrap().to_string();
        assert!(text.contains("[host] module_cache"), "{text}");
    }
}
