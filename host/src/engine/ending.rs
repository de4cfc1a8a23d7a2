//! How a guest that did not return has ended: a limit, the host's own stop, or a trap put into words.

use tidegate_core::limits::Limit;
use tidegate_core::outcome::GuestEnd;
use wasmtime::{Trap, WasmBacktrace};

use super::state::State;

/// The most bytes of a trap's cause and frames.
const MAX_CAUSE: usize = 2 << 10;
const MAX_FRAMES: usize = 12;
const COUNTED: [(&str, Limit); 4] = [
    ("fuel allocated for hostcalls", Limit::ParameterBytes),
    ("resource limit exceeded: instance", Limit::Instances),
    ("resource limit exceeded: table", Limit::Tables),
    ("resource limit exceeded: memory", Limit::Memory),
];

/// The host ends the guest, and says as what.
#[derive(Debug, thiserror::Error)]
#[error("the host ended the guest: {0:?}")]
pub(super) struct Stop(pub(super) GuestEnd);

/// What `error` means for the record.
pub(super) fn of<D>(error: &wasmtime::Error, state: &State<D>) -> GuestEnd {
    if let Some(Stop(end)) = error.downcast_ref() {
        return end.clone();
    }
    if let Some(limit) = state.space.denied().or_else(|| counted(error)) {
        return GuestEnd::Limit(limit);
    }
    GuestEnd::Trap {
        message: words(error, &state.output.stderr_tail()),
    }
}

/// The limits that Wasmtime keeps by itself. Its errors for them have no type of their own, so the words decide; no
/// guest has a part in these, and the version is pinned.
fn counted(error: &wasmtime::Error) -> Option<Limit> {
    if error.is::<Trap>() {
        return None;
    }
    let words = error.root_cause().to_string();
    COUNTED
        .into_iter()
        .find_map(|(known, limit)| words.contains(known).then_some(limit))
}

fn words(error: &wasmtime::Error, stderr: &str) -> String {
    let mut text = error.root_cause().to_string();
    if let Some(trace) = error.downcast_ref::<WasmBacktrace>() {
        let frames = trace.to_string();
        for frame in frames.lines().skip(1).take(MAX_FRAMES) {
            text.push_str("\n  ");
            text.push_str(frame.trim());
        }
    }
    cut(&mut text, MAX_CAUSE);
    if !stderr.is_empty() {
        text.push_str("\nstderr: ");
        text.push_str(stderr);
    }
    let whole = text.len();
    storable(text, whole)
}

/// Cuts `text` to `max` bytes at a character's border.
fn cut(text: &mut String, max: usize) {
    if text.len() > max {
        text.truncate(text.floor_char_boundary(max));
        text.push('…');
    }
}

/// A guest's own words, fit to be stored: bounded, and without NUL, which PostgreSQL's text cannot hold.
pub(super) fn storable(mut text: String, max: usize) -> String {
    cut(&mut text, max);
    if text.contains('\0') {
        return text.replace('\0', "\u{fffd}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_bounded_and_storable() {
        assert_eq!(storable("a\0b".into(), 10), "a\u{fffd}b");
        assert_eq!(storable("äöü".into(), 3), "ä…");
        assert_eq!(storable("fine".into(), 4), "fine");
    }
}
