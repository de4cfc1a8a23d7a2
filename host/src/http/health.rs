//! What keeps a host from being alive or ready, in words that name it.

use std::time::Duration;

use tidegate_core::readiness::Problem;

use super::view::Live;
use crate::worker::readiness::{Finding, not_taken_up, of_partitions};
use crate::worker::shared::Shared;

/// A poll thread that has not turned for so long will not turn again.
const SILENCE: Duration = Duration::from_secs(30);

/// Poll threads that stand still. That this is answered shows that the runtime does not.
pub(super) fn not_alive(host: &Live) -> Vec<Finding> {
    let consumers = host.consumers.iter();
    consumers.filter_map(|shared| silent(shared)).collect()
}

fn silent(shared: &Shared) -> Option<Finding> {
    let silence = shared.kafka.silence();
    (silence > SILENCE).then(|| Finding {
        problem: Problem::PollSilent,
        words: format!(
            "consumer {:?}: its poll thread has stood still for {} s",
            shared.name,
            silence.as_secs()
        ),
    })
}

/// A host that does not consume yet.
pub(super) fn starting() -> Finding {
    Finding {
        problem: Problem::Starting,
        words: "the schema or the handlers' modules are not there yet".to_owned(),
    }
}

/// Whatever keeps some record from being handled.
pub(super) fn not_ready(host: &Live) -> Vec<Finding> {
    let mut findings = not_alive(host);
    findings.extend(host.survey.problem().map(|words| Finding {
        problem: Problem::Database,
        words,
    }));
    for shared in &host.consumers {
        findings.extend(outside(shared));
        findings.extend(not_taken_up(shared));
        findings.extend(of_partitions(shared).into_values());
    }
    findings
}

/// What keeps a consumer out of its group.
fn outside(shared: &Shared) -> impl Iterator<Item = Finding> {
    let (name, group) = (&shared.name, &shared.config.group);
    let found = |problem, words| Finding { problem, words };
    let waits = shared.registration.waits_for();
    let out = !shared.kafka.has_joined() && !shared.kafka.is_without_topics();
    let absent = (waits.is_none() && out).then(|| {
        let words = format!("consumer {name:?}: it is no member of group {group:?} now");
        found(Problem::NotInGroup, words)
    });
    let waits = waits.map(|why| {
        let words =
            format!("consumer {name:?}: it is not written down yet where its topics end: {why}");
        found(Problem::NotRegistered, words)
    });
    let refused = shared.kafka.refused().map(|why| {
        let words = format!("consumer {name:?}: Kafka does not let it in: {why}");
        found(Problem::NotLetIn, words)
    });
    waits.into_iter().chain(absent).chain(refused)
}
