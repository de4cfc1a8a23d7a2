//! The gauges, read off the live host at each scrape.

use tidegate_core::control::State;

use super::view::Live;
use crate::inbox::LetterFigures;
use crate::meters::{Metric, Snapshot, names};
use crate::worker::shared::Shared;
use crate::worker::survey::Figures;

/// Puts what is true now into `snapshot`.
pub(super) fn collect(host: &Live, snapshot: &Snapshot) {
    let figures = host.survey.figures();
    snapshot.set(&names::DATABASE_UP, &[], flag(figures.is_some()));
    for shared in &host.consumers {
        consumer(shared, snapshot);
        partitions(shared, snapshot);
    }
    if let Some(figures) = figures {
        database(host, &figures, snapshot);
    }
    for pool in host.inbox.pool_figures() {
        let set = |metric, value| snapshot.set(metric, &[pool.name], float(value));
        set(&names::POOL_IN_USE, pool.in_use);
        set(&names::POOL_WAITING, pool.waiting);
        set(&names::POOL_MAX, pool.max);
    }
}

fn consumer(shared: &Shared, snapshot: &Snapshot) {
    let name = &*shared.name;
    let stopped = shared.stopped_partitions().len();
    snapshot.set(&names::STOPPED, &[name], float(stopped));
    let now = shared.state_here();
    for state in [State::Running, State::Paused, State::Braked] {
        snapshot.set(&names::STATE, &[name, state.as_str()], flag(state == now));
    }
    if let Some(roster) = shared.roster() {
        for state in ["running", "disabled", "braked", "unavailable"] {
            let entries = roster.entries();
            let count = entries.filter(|(_, entry)| entry.state() == state).count();
            snapshot.set(&names::TENANTS, &[name, state], float(count));
        }
    }
    let module = shared.own.module();
    let digest = hex::encode(module.digest());
    snapshot.set(&names::MODULE_INFO, &[name, &digest, module.name()], 1.0);
}

fn partitions(shared: &Shared, snapshot: &Snapshot) {
    let name = &*shared.name;
    let places = shared.meters.places();
    snapshot.set(&names::PARTITIONS, &[name], float(places.len()));
    for (source, place) in places {
        let partition = source.partition.to_string();
        let set = |metric: &'static Metric, lag: Option<i64>| {
            if let Some(lag) = lag {
                snapshot.set(metric, &[name, &source.topic, &partition], lag as f64);
            }
        };
        let (position, committed) = place.lag();
        set(&names::POSITION_LAG, position);
        set(&names::COMMITTED_LAG, committed);
        set(&names::HELD_BACK, place.held_back());
    }
}

fn database(host: &Live, figures: &Figures, snapshot: &Snapshot) {
    for (shared, letters) in host.consumers.iter().zip(&figures.letters) {
        dead_letters(shared, letters, snapshot);
    }
    let claims = figures.claims;
    snapshot.set(
        &names::OLDEST_EXPIRED,
        &[],
        claims.oldest_expired.as_secs_f64(),
    );
    snapshot.set(&names::HELD, &["open-letter"], claims.held as f64);
}

fn dead_letters(shared: &Shared, letters: &LetterFigures, snapshot: &Snapshot) {
    let set = |metric, value| snapshot.set(metric, &[&shared.name], value);
    set(&names::OPEN_LETTERS, letters.open as f64);
    set(&names::OLDEST_OPEN, letters.oldest_open.as_secs_f64());
    if shared.config.dead_letter_topic.is_some() {
        set(&names::UNPUBLISHED, letters.unpublished as f64);
        set(
            &names::OLDEST_UNPUBLISHED,
            letters.oldest_unpublished.as_secs_f64(),
        );
    }
}

fn flag(is: bool) -> f64 {
    f64::from(u8::from(is))
}

fn float(count: usize) -> f64 {
    count as f64
}
