//! Where assigned partitions end, asked for now and then: lag costs the record path nothing, and a log that was cut
//! below its position shows.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::worker::shared::Shared;

/// How often the ends are asked for.
const TICK: Duration = Duration::from_secs(3);
/// The shortest time between two questions, however many partitions are being assigned.
const REST: Duration = Duration::from_millis(500);

/// Keeps the ends of a consumer's partitions known until `stop`.
pub async fn watch_ends(shared: Arc<Shared>, stop: CancellationToken) {
    tokio::select! {
        () = stop.cancelled() => {}
        () = watch(&shared) => {}
    }
}

async fn watch(shared: &Shared) {
    loop {
        ask(shared).await;
        tokio::time::sleep(REST).await;
        tokio::select! {
            () = shared.meters.place_added() => {}
            () = tokio::time::sleep(TICK) => {}
        }
    }
}

/// An end that cannot be had stays as it was: a broker that is away adds nothing to its log either.
async fn ask(shared: &Shared) {
    let places = shared.meters.places();
    let reach = shared.kafka.reach();
    for (source, place) in &places {
        if let Some(reach) = reach.get(source) {
            place.reaches(reach.after, reach.to);
            place.holds_back(reach.held_back);
        }
    }
    let nexts: Vec<_> = places.iter().map(|(_, place)| place.next()).collect();
    let asked = places.iter().map(|(source, _)| source.clone()).collect();
    match shared.kafka.ends(asked).await {
        Ok(ends) => {
            for (source, end) in ends {
                let of = places.iter().zip(&nexts).find(|((s, _), _)| *s == source);
                if let Some(((_, place), next)) = of {
                    place.ends(end, *next);
                }
            }
        }
        Err(error) => {
            tracing::debug!(consumer = %shared.name, %error, "the ends of the partitions are not known now");
        }
    }
}
