//! When a host counts as alive: the one place that says so.

use std::time::Duration;

/// A host that has not been seen for so long counts as gone. One that was seen in the future, by more than clocks
/// differ, was seen by a clock that has been put right since: nobody knows when, so it counts as gone too, until it
/// is seen again.
pub const ALIVE: Duration = Duration::from_secs(10);

/// The condition, of the column with the last time seen and the parameter with [`within`].
macro_rules! alive {
    ($seen_at:literal, $within:literal) => {
        concat!(
            $seen_at,
            " BETWEEN now() - ",
            $within,
            "::bigint * interval '1 millisecond' AND now() + interval '5 seconds'"
        )
    };
}
pub(super) use alive;

/// [`ALIVE`] as the condition takes it.
pub(super) fn within() -> i64 {
    i64::try_from(ALIVE.as_millis()).unwrap_or(i64::MAX)
}
