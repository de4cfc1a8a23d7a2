//! Calling into the bindings where they panic on what a producer wrote, without a word on stderr.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

static HOOK: Once = Once::new();

/// What `read` returns; none if it panics. Producers must not be able to fill the host's stderr,
/// so such a panic is not reported.
pub(super) fn read<T>(read: impl FnOnce() -> T) -> Option<T> {
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            if !QUIET.get() {
                before(info);
            }
        }));
    });
    QUIET.set(true);
    let result = catch_unwind(AssertUnwindSafe(read)).ok();
    QUIET.set(false);
    result
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_panic_is_no_result() {
        assert_eq!(super::read(|| 1), Some(1));
        assert_eq!(super::read(|| -> i32 { panic!("bad header") }), None);
    }
}
