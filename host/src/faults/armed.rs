//! Points that can be armed: only in a build with the feature `failpoints`.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Point;

/// Whether any point is armed: the only cost of a point where none is.
static ARMED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// What the point being passed was told: the registry's callbacks take no arguments.
    static OFFSET: Cell<i64> = const { Cell::new(0) };
}

/// Has `action` called at every pass of `point`, on the thread that passes it, with the offset that it passes.
///
/// # Errors
/// The registry's own word, if it refuses.
pub fn arm(point: Point, action: impl Fn(i64) + Send + Sync + 'static) -> Result<(), String> {
    fail::cfg_callback(point.name(), move || action(OFFSET.get()))?;
    ARMED.store(true, Ordering::Release);
    Ok(())
}

/// Passes a point. `offset` is the record's; of a batch it is that of its last record, of a position N.
#[inline]
pub fn at(point: Point, offset: i64) {
    if ARMED.load(Ordering::Acquire) {
        OFFSET.set(offset);
        fail::fail_point!(point.name());
    }
}
