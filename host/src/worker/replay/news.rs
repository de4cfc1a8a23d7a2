//! What ends letters' waits before their time, and what was said of them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tidegate_core::replay::Wait;
use tokio::sync::watch;

use crate::inbox::Turn;
use crate::worker::roster::Roster;
use crate::worker::shared::Shared;
use crate::worker::tenant::Modules;

/// Another module, or other tenants: what letters wait for may be there.
pub(super) struct News {
    modules: Modules,
    rosters: watch::Receiver<Option<Arc<Roster>>>,
    /// There was some that no letter has been woken for yet.
    unheard: bool,
}

impl News {
    pub(super) fn new(shared: &Shared) -> Self {
        Self {
            modules: shared.own.modules(),
            rosters: shared.rosters(),
            unheard: false,
        }
    }

    /// Waits for so long, or for news.
    pub(super) async fn wait(&mut self, time: Duration) {
        if time.is_zero() {
            return;
        }
        tokio::select! {
            biased;
            Ok(()) = self.modules.changed() => self.unheard = true,
            Ok(()) = self.rosters.changed() => self.unheard = true,
            () = tokio::time::sleep(time) => {}
        }
    }

    /// Whether there is any that no letter has been woken for.
    pub(super) fn is_there(&self) -> bool {
        let changed = [self.modules.has_changed(), self.rosters.has_changed()];
        self.unheard || changed.iter().any(|changed| matches!(changed, Ok(true)))
    }

    /// Letters have been woken for it.
    pub(super) fn heard(&mut self) {
        self.modules.mark_unchanged();
        self.rosters.mark_unchanged();
        self.unheard = false;
    }
}

/// So many waits are remembered.
const REMEMBERED: usize = 32;

/// What was said lately, so that a thousand letters that wait for one thing are one line.
#[derive(Default)]
pub(super) struct Told(VecDeque<(i64, String)>);

impl Told {
    pub(super) fn say(&mut self, consumer: &str, turn: &Turn, wait: &Wait) {
        let (replay, letter, words) = (turn.replay, turn.letter.as_str(), wait.words.as_str());
        let is_known = self
            .0
            .iter()
            .any(|(of, said)| *of == replay && said == words);
        if is_known || !wait.stopped {
            tracing::debug!(
                consumer,
                replay,
                letter,
                words,
                "a letter of a replay waits"
            );
            return;
        }
        tracing::warn!(
            consumer,
            replay,
            letter,
            words,
            "a letter of a replay waits by itself; others go on"
        );
        self.0.push_back((replay, words.to_owned()));
        if self.0.len() > REMEMBERED {
            self.0.pop_front();
        }
    }
}
