//! What keeps a consumer's partitions from going on, as health, the metrics and the log tell it.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use tidegate_core::readiness::{Problem, Standing};
use tidegate_core::record::TopicPartition;
use tokio_util::sync::CancellationToken;

use crate::meters::Place;
use crate::worker::shared::Shared;

/// How often the log's watch looks.
const TICK: Duration = Duration::from_secs(2);

/// Something that is wrong, with words that name it.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Of what kind it is.
    pub problem: Problem,
    /// The consumer, the partition and what is known.
    pub words: String,
}

/// What is wrong with each of a consumer's partitions, by topic and number.
pub fn of_partitions(shared: &Shared) -> BTreeMap<(std::sync::Arc<str>, i32), Finding> {
    let stopped: HashSet<_> = shared.stopped_partitions().into_iter().collect();
    let places = shared.meters.places().into_iter();
    let found = places.filter_map(|(source, place)| {
        let finding = of_partition(shared, &source, &place, stopped.contains(&source))?;
        Some(((source.topic, source.partition), finding))
    });
    found.collect()
}

fn of_partition(
    shared: &Shared,
    source: &TopicPartition,
    place: &Place,
    stopped: bool,
) -> Option<Finding> {
    let standing = Standing {
        placed: place.is_placed(),
        stopped,
        still: place.still(),
    };
    let problem = standing.problem(shared.patience)?;
    let name = &shared.name;
    let words = match problem {
        Problem::NoPosition => {
            let why = shared.waits_for(source);
            let why = why.map(|why| format!(": {why}")).unwrap_or_default();
            format!("consumer {name:?}: {source} has not got its position yet{why}")
        }
        Problem::NoProgress => format!(
            "consumer {name:?}: {source} has records, and no batch of it has been committed for {} s",
            place.still().unwrap_or_default().as_secs()
        ),
        _ => format!("consumer {name:?}: {source} is stopped; the log says why"),
    };
    Some(Finding { problem, words })
}

/// Partitions that the group has given us and that nobody has taken up yet.
pub fn not_taken_up(shared: &Shared) -> Option<Finding> {
    // In this order: one that is taken up meanwhile is not missed.
    let assigned = shared.kafka.assigned();
    let missing = assigned.checked_sub(shared.meters.places().len())?;
    (missing > 0).then(|| Finding {
        problem: Problem::NoPosition,
        words: format!(
            "consumer {:?}: {missing} partitions have not got their positions yet",
            shared.name
        ),
    })
}

/// Logs once, until `stop`, what stands still without having failed: nothing else says so.
pub async fn watch(shared: std::sync::Arc<Shared>, stop: CancellationToken) {
    let mut said = HashSet::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(TICK) => {}
        }
        let hanging = hanging(&shared);
        for (source, words) in &hanging {
            if said.insert(source.clone()) {
                tracing::warn!(
                    "{words}; the database or Kafka may hang, or attempts break again and again"
                );
            }
        }
        let consumer = &shared.name;
        said.retain(|source| {
            let still = hanging.contains_key(source);
            if !still {
                tracing::info!(%consumer, partition = %source.1, topic = %source.0, "the partition goes on, or is no longer here");
            }
            still
        });
    }
}

fn hanging(shared: &Shared) -> BTreeMap<(std::sync::Arc<str>, i32), String> {
    let old: HashSet<_> = shared
        .meters
        .places()
        .into_iter()
        .filter(|(_, place)| place.age() > shared.patience)
        .map(|(source, _)| (source.topic, source.partition))
        .collect();
    let found = of_partitions(shared).into_iter();
    let long = found.filter(|(source, finding)| match finding.problem {
        Problem::NoProgress => true,
        Problem::NoPosition => old.contains(source),
        _ => false,
    });
    long.map(|(source, finding)| (source, finding.words))
        .collect()
}
