//! What the server shows: the registry from the first moment on, the consumers once they are there.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use tidegate_core::readiness::Problem;

use super::{gauges, health};
use crate::inbox::Inbox;
use crate::meters::{Registry, Snapshot, names};
use crate::telemetry;
use crate::worker::readiness::Finding;
use crate::worker::shared::Shared;
use crate::worker::survey::Survey;

/// A host that consumes.
pub struct Live {
    /// Its consumers.
    pub consumers: Vec<Arc<Shared>>,
    /// Its database.
    pub inbox: Inbox,
    /// What that says of itself, of the consumers in their order.
    pub survey: Arc<Survey>,
}

/// What is shown.
pub struct View {
    registry: Registry,
    host: OnceLock<Live>,
    started: AtomicBool,
}

impl View {
    /// Shows `registry`, and a host that is starting.
    pub fn new(registry: Registry) -> Self {
        Self {
            registry,
            host: OnceLock::new(),
            started: AtomicBool::new(false),
        }
    }

    /// From now on the host consumes.
    pub fn consumes(&self, host: Live) {
        // There is one host a process.
        self.host.set(host).ok();
    }

    /// The metrics, as Prometheus reads them.
    pub(super) fn render(&self) -> String {
        let snapshot = Snapshot::default();
        let problems = self.not_ready();
        let ready = f64::from(u8::from(problems.is_empty()));
        snapshot.set(&names::READY, &[], ready);
        for kind in Problem::ALL {
            let count = problems.iter().filter(|p| p.problem == *kind).count();
            snapshot.set(&names::PROBLEMS, &[kind.name()], count as f64);
        }
        let lost = self.registry.counter(&names::LOG_LINES_LOST, &[]);
        lost.absolute(telemetry::lost_lines());
        snapshot.set(&names::BUILD_INFO, &[env!("CARGO_PKG_VERSION")], 1.0);
        if let Some(host) = self.host.get() {
            gauges::collect(host, &snapshot);
        }
        self.registry.render() + &snapshot.render()
    }

    /// Why the process is beyond help.
    pub(super) fn not_alive(&self) -> Vec<Finding> {
        self.host.get().map(health::not_alive).unwrap_or_default()
    }

    /// Why the host does not do all of its work.
    pub(super) fn not_ready(&self) -> Vec<Finding> {
        let Some(host) = self.host.get() else {
            return vec![health::starting()];
        };
        let problems = health::not_ready(host);
        if problems.is_empty() {
            self.started.store(true, Relaxed);
        }
        problems
    }

    /// Why the host has never been ready.
    pub(super) fn not_started(&self) -> Vec<Finding> {
        match self.started.load(Relaxed) {
            true => Vec::new(),
            false => self.not_ready(),
        }
    }
}
