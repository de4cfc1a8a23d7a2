//! What keeps a host from being alive or ready, in words that name it.

use std::time::Duration;

use super::view::Live;
use crate::worker::shared::Shared;

/// A poll thread that has not turned for so long will not turn again.
const SILENCE: Duration = Duration::from_secs(30);
/// The most stopped partitions that are named.
const NAMED: usize = 20;

/// Poll threads that stand still. That this is answered shows that the runtime does not.
pub(super) fn not_alive(host: &Live) -> Vec<String> {
    let mut problems = Vec::new();
    for shared in &host.consumers {
        let silence = shared.kafka.silence();
        if silence > SILENCE {
            problems.push(format!(
                "consumer {:?}: its poll thread has stood still for {} s",
                shared.name,
                silence.as_secs()
            ));
        }
    }
    problems
}

/// Whatever keeps some record from being handled.
pub(super) fn not_ready(host: &Live) -> Vec<String> {
    let mut problems = not_alive(host);
    problems.extend(host.survey.problem());
    for shared in &host.consumers {
        if !shared.kafka.has_joined() {
            let (name, group) = (&shared.name, &shared.config.group);
            problems.push(format!(
                "consumer {name:?}: it is no member of group {group:?} now"
            ));
        }
        if let Some(why) = shared.kafka.refused() {
            let name = &shared.name;
            problems.push(format!(
                "consumer {name:?}: Kafka does not let it in: {why}"
            ));
        }
        problems.extend(stopped(shared));
    }
    problems
}

fn stopped(shared: &Shared) -> impl Iterator<Item = String> {
    let mut partitions: Vec<_> = shared.stopped_partitions();
    partitions.sort_by(|a, b| (&a.topic, a.partition).cmp(&(&b.topic, b.partition)));
    let name = shared.name.clone();
    let more = partitions.len().checked_sub(NAMED).filter(|more| *more > 0);
    let named = partitions.into_iter().take(NAMED);
    let words = named.map({
        let name = name.clone();
        move |tp| format!("consumer {name:?}: {tp} is stopped; the log says why")
    });
    words.chain(more.map(move |more| format!("consumer {name:?}: {more} more are stopped")))
}
