//! What is built for the tests: the host's binary and the guests, each once a run, by cargo itself.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use sha2::{Digest, Sha256};

use crate::paths;

type Built = OnceLock<Result<PathBuf, String>>;

/// The host's binary: `TIDEGATE_BIN`, or built now, so that no test meets a stale one.
pub async fn tidegate_bin() -> PathBuf {
    static BIN: Built = OnceLock::new();
    once(&BIN, build_host).await
}

/// A built guest component by its package's name, from `guest-examples/` or `tests/guests/`.
pub async fn guest(name: &str) -> PathBuf {
    static EXAMPLES: Built = OnceLock::new();
    static GUESTS: Built = OnceLock::new();
    let (built, place) = if paths::root().join("tests/guests").join(name).exists() {
        (&GUESTS, "tests/guests")
    } else {
        (&EXAMPLES, "guest-examples")
    };
    let out = once(built, move || build_guests(place)).await;
    let file = out.join(format!("{}.wasm", name.replace('-', "_")));
    assert!(
        file.exists(),
        "no guest {name}: {} is not there",
        file.display()
    );
    file
}

/// A built guest's bytes.
pub async fn guest_bytes(name: &str) -> Vec<u8> {
    let file = guest(name).await;
    std::fs::read(&file).unwrap_or_else(|e| panic!("cannot read {}: {e}", file.display()))
}

/// A module's digest: the sha256 of its bytes, in lower-case hex.
pub fn digest(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

async fn once(
    built: &'static Built,
    build: impl FnOnce() -> Result<PathBuf, String> + Send + 'static,
) -> PathBuf {
    let result = tokio::task::spawn_blocking(move || built.get_or_init(build)).await;
    match result {
        Ok(Ok(path)) => path.clone(),
        Ok(Err(e)) => panic!("{e}"),
        Err(e) => panic!("a build of the tests failed: {e}"),
    }
}

fn build_host() -> Result<PathBuf, String> {
    if let Some(bin) = std::env::var_os("TIDEGATE_BIN") {
        return Ok(PathBuf::from(bin));
    }
    let mut build = cargo(paths::root());
    // `--workspace`, as everywhere: another selection would unify other features and compile Wasmtime again.
    build.args(["build", "--workspace", "--bin", "tidegate"]);
    build.args(["--message-format", "json-render-diagnostics"]);
    let messages = run(build, "the host's binary")?;
    let executable = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter_map(|message| Some(message.get("executable")?.as_str()?.to_owned()))
        .next_back()
        .ok_or("cargo built the host and named no executable")?;
    // A copy: a build beside this run must not swap the binary under it.
    let copy = paths::run_dir().join("tidegate");
    std::fs::copy(&executable, &copy).map_err(|e| format!("cannot copy {executable}: {e}"))?;
    Ok(copy)
}

fn build_guests(place: &str) -> Result<PathBuf, String> {
    let workspace = paths::root().join(place);
    let mut build = cargo(&workspace);
    build.args([
        "build",
        "--release",
        "--target",
        "wasm32-wasip2",
        "--target-dir",
        "target",
    ]);
    run(build, &format!("the guests of {place}"))?;
    Ok(workspace.join("target/wasm32-wasip2/release"))
}

fn cargo(dir: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(dir);
    command
}

fn run(mut command: Command, what: &str) -> Result<String, String> {
    let output = command
        .output()
        .map_err(|e| format!("cannot run cargo for {what}: {e}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!(
        "building {what} failed:\n{}",
        String::from_utf8_lossy(&output.stderr)
    ))
}
