//! What `consumer list` shows.

use serde::Serialize;

use super::super::render::{Row, opt};

/// A consumer's state and its hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConsumerView {
    /// The consumer's name.
    pub name: String,
    /// `running`, `paused` or `braked`.
    pub state: String,
    /// Why it may not run.
    pub reason: Option<String>,
    /// The digests of the modules that a brake holds back, the latest first; hosts that run another go on.
    pub braked_modules: Vec<String>,
    /// Since when, in UTC; none if it was never held back.
    pub since: Option<String>,
    /// Brakes so far.
    pub episode: i32,
    /// Machine and process of each host that was seen in the last 10 s.
    pub hosts: Vec<String>,
}

impl Row for ConsumerView {
    const COLUMNS: &'static [&'static str] = &[
        "name",
        "state",
        "hosts",
        "since",
        "brakes",
        "braked module",
        "reason",
    ];

    fn cells(&self) -> Vec<String> {
        vec![
            self.name.clone(),
            self.state.clone(),
            self.hosts.len().to_string(),
            opt(self.since.as_ref()),
            self.episode.to_string(),
            opt(self.braked_modules.first().map(|module| &module[..12])),
            opt(self.reason.as_ref()),
        ]
    }
}
