//! A hold: traffic to the server stopped at a pattern, until it is released.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

#[derive(Clone, Copy, PartialEq)]
enum Stage {
    Armed,
    Held,
    Released,
}

pub(super) struct HoldState(watch::Sender<Stage>);

impl Default for HoldState {
    fn default() -> Self {
        HoldState(watch::Sender::new(Stage::Armed))
    }
}

impl HoldState {
    pub(super) fn is_released(&self) -> bool {
        *self.0.borrow() == Stage::Released
    }

    /// Marks the hold as having caught something.
    pub(super) fn caught(&self) {
        self.0.send_if_modified(|stage| {
            let armed = *stage == Stage::Armed;
            if armed {
                *stage = Stage::Held;
            }
            armed
        });
    }

    pub(super) async fn released(&self) {
        let mut stage = self.0.subscribe();
        // An error cannot be: the sender is borrowed.
        let _released = stage.wait_for(|stage| *stage == Stage::Released).await;
    }
}

/// A hold that a test has asked for; dropping it releases.
pub struct Hold(Arc<HoldState>);

impl Hold {
    pub(super) fn new(state: Arc<HoldState>) -> Self {
        Hold(state)
    }

    /// Waits until the pattern has been seen and stopped; panics at the deadline.
    pub async fn held(&self, deadline: Duration) {
        let mut stage = self.0.0.subscribe();
        let seen = stage.wait_for(|stage| *stage != Stage::Armed);
        if tokio::time::timeout(deadline, seen).await.is_err() {
            panic!("gave up after {deadline:?}: the proxy never saw the pattern to hold at");
        }
    }

    /// Whether something is stopped right now.
    pub fn is_held(&self) -> bool {
        *self.0.0.borrow() == Stage::Held
    }

    /// Lets everything go on, for good.
    pub fn release(&self) {
        self.0.0.send_replace(Stage::Released);
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.release();
    }
}
