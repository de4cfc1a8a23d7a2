//! What a proxy's connections share: the mode, the rule, the signal to end, the counters.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::hold::HoldState;
use super::pattern::{Matcher, Pattern};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Mode {
    Pass,
    Delay(Duration),
    Refuse,
    Blackhole,
    Silent(Way),
    /// Bytes a second.
    Slow(u32),
}

/// A direction of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// What the client sends.
    ToServer,
    /// What the server answers.
    ToClient,
}

/// Pieces of data to be cut off, and their connections with them.
pub(super) struct Cut {
    pub(super) way: Way,
    /// How much of a piece goes on.
    pub(super) bytes: usize,
    pub(super) left: usize,
}

pub(super) enum Rule {
    Hold {
        pattern: Pattern,
        hold: Arc<HoldState>,
    },
    CutReply {
        pattern: Pattern,
        left: usize,
    },
}

/// What becomes of a piece of data on its way to the server.
pub(super) enum Fate {
    Forward,
    Hold(Arc<HoldState>),
    CutReply,
}

#[derive(Default)]
pub(super) struct Counter(AtomicUsize);

impl Counter {
    pub(super) fn add(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn take(&self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }

    pub(super) fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    fn zero(&self) {
        self.0.store(0, Ordering::SeqCst);
    }
}

pub(super) struct State {
    mode: watch::Sender<Mode>,
    /// Changes when every connection has to end.
    ends: watch::Sender<u64>,
    rule: Mutex<Option<Rule>>,
    cut: Mutex<Option<Cut>>,
    pub(super) accepted: Counter,
    pub(super) open: Counter,
    pub(super) cuts: Counter,
    pub(super) seen: Counter,
}

impl Default for State {
    fn default() -> Self {
        State {
            mode: watch::Sender::new(Mode::Pass),
            ends: watch::Sender::new(0),
            rule: Mutex::default(),
            cut: Mutex::default(),
            accepted: Counter::default(),
            open: Counter::default(),
            cuts: Counter::default(),
            seen: Counter::default(),
        }
    }
}

impl State {
    pub(super) fn set_mode(&self, mode: Mode) {
        self.mode.send_replace(mode);
    }

    pub(super) fn set_rule(&self, rule: Option<Rule>) {
        *self.rule.lock().unwrap_or_else(PoisonError::into_inner) = rule;
    }

    pub(super) fn set_cut(&self, cut: Option<Cut>) {
        *self.cut.lock().unwrap_or_else(PoisonError::into_inner) = cut;
    }

    /// How much of a piece of so many bytes may go this way, if it is to be cut off.
    pub(super) fn cut_off(&self, way: Way, len: usize) -> Option<usize> {
        let mut cut = self.cut.lock().unwrap_or_else(PoisonError::into_inner);
        let cut = cut
            .as_mut()
            .filter(|cut| cut.left > 0 && cut.way == way && cut.bytes < len)?;
        cut.left -= 1;
        self.cuts.add();
        Some(cut.bytes)
    }

    pub(super) fn cut(&self) {
        self.ends.send_modify(|n| *n += 1);
    }

    /// Resolves at the first `cut` after this call.
    pub(super) fn ended(&self) -> impl Future<Output = ()> + use<> {
        let mut ends = self.ends.subscribe();
        async move {
            // An error means that the proxy is gone: an end as well.
            let _gone = ends.changed().await;
        }
    }

    pub(super) fn refuses(&self) -> bool {
        *self.mode.borrow() == Mode::Refuse
    }

    /// Waits as the mode asks before a piece of so many bytes may go on this way.
    pub(super) async fn gate(&self, way: Way, len: usize) {
        let mut mode = self.mode.subscribe();
        let open = mode.wait_for(|mode| *mode != Mode::Blackhole && *mode != Mode::Silent(way));
        let mode = open.await.map_or(Mode::Pass, |mode| *mode);
        match mode {
            Mode::Delay(by) => tokio::time::sleep(by).await,
            Mode::Slow(rate) => {
                let bytes = u32::try_from(len).unwrap_or(u32::MAX);
                tokio::time::sleep(Duration::from_secs(1) * bytes / rate.max(1)).await;
            }
            Mode::Pass | Mode::Refuse | Mode::Blackhole | Mode::Silent(_) => {}
        }
    }

    /// Looks at a piece of data on its way to the server.
    pub(super) fn judge(&self, matcher: &mut Matcher, data: &[u8]) -> Fate {
        let mut rule = self.rule.lock().unwrap_or_else(PoisonError::into_inner);
        let pattern = match rule.as_ref() {
            Some(Rule::Hold { pattern, hold }) if !hold.is_released() => Some(pattern),
            Some(Rule::CutReply { pattern, left }) if *left > 0 => Some(pattern),
            _ => None,
        };
        if !matcher.feed(data, pattern) {
            return Fate::Forward;
        }
        self.seen.add();
        match rule.as_mut() {
            Some(Rule::Hold { hold, .. }) => Fate::Hold(hold.clone()),
            Some(Rule::CutReply { left, .. }) => {
                *left -= 1;
                Fate::CutReply
            }
            None => Fate::Forward,
        }
    }

    pub(super) fn reset(&self) {
        self.set_rule(None);
        self.set_cut(None);
        self.set_mode(Mode::Pass);
        self.cut();
        for counter in [&self.accepted, &self.cuts, &self.seen] {
            counter.zero();
        }
    }
}
