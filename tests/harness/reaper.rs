//! The reaper: a tiny shell in a process group of its own that outlives the test process by a moment.
//!
//! Its standard input is a pipe that only the test process holds. However that process ends, SIGKILL included, the
//! pipe closes, and the reaper ends every process registered with it and removes every directory.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

/// `+ SIGNAL PID` registers a process, `- PID` forgets it, `d DIR` registers a directory.
const SCRIPT: &str = r#"
trap '' HUP INT TERM QUIT
procs=" " dirs=""
while read -r verb first second; do
  case "$verb" in
    +) procs="$procs$first:$second " ;;
    -) next=" "; for p in $procs; do [ "${p#*:}" = "$first" ] || next="$next$p "; done; procs="$next" ;;
    d) dirs="$dirs $first" ;;
  esac
done
for p in $procs; do kill -CONT "${p#*:}" 2>/dev/null; kill -"${p%%:*}" "${p#*:}" 2>/dev/null; done
tries=0
while [ $tries -lt 40 ]; do
  alive=""
  for p in $procs; do kill -0 "${p#*:}" 2>/dev/null && alive=1; done
  [ -n "$alive" ] || break
  tries=$((tries + 1)); sleep 0.05
done
for p in $procs; do kill -KILL "${p#*:}" 2>/dev/null; done
rm -rf $dirs
"#;

static REAPER: OnceLock<Mutex<Child>> = OnceLock::new();

fn start() -> Mutex<Child> {
    let child = Command::new("sh")
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn();
    Mutex::new(child.unwrap_or_else(|e| panic!("cannot start the reaper shell: {e}")))
}

fn tell(line: &str) {
    let reaper = REAPER.get_or_init(start);
    let mut reaper = reaper.lock().unwrap_or_else(PoisonError::into_inner);
    let told = reaper.stdin.as_mut().map(|pipe| writeln!(pipe, "{line}"));
    assert!(matches!(told, Some(Ok(()))), "the reaper shell is gone");
}

/// Has `pid` ended by `signal` when the test process is gone (by SIGKILL 2 s later).
pub(crate) fn kill_at_end(pid: u32, signal: &str) {
    tell(&format!("+ {signal} {pid}"));
}

/// The process has been reaped: its number may belong to another one soon.
pub(crate) fn forget(pid: u32) {
    tell(&format!("- {pid}"));
}

/// Has `dir` removed when the test process is gone. The path has no white space (see `paths`).
pub(crate) fn remove_at_end(dir: &Path) {
    tell(&format!("d {}", dir.display()));
}
