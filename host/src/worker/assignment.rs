//! Taking a position: the owner's token first, then Kafka's offset, then the core's decision.

use std::sync::Arc;
use std::time::Duration;

use tidegate_core::failure::Failure;
use tidegate_core::progress::{LastRecord, Progress};
use tidegate_core::record::TopicPartition;
use tidegate_core::resume::{Decision, Facts, LogCheck, Resume, decide};
use tidegate_core::sqlstate::SqlClass;
use uuid::Uuid;

use crate::faults::{self, Point};
use crate::kafka::{Found, read_record};
use crate::worker::pending::Pending;
use crate::worker::position::{Placed, Position};
use crate::worker::shared::Shared;

/// How long one look into the log may take.
const LOOK: Duration = Duration::from_secs(30);

/// Why no position was taken.
#[derive(Debug, thiserror::Error)]
pub enum NotPlaced {
    /// It cannot be had now; waiting helps.
    #[error("{0}")]
    NotNow(String),
    /// Somebody must decide first.
    #[error("{0}")]
    Stopped(String),
}

impl<E: std::error::Error> From<E> for Unready {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// What the server refuses for its schema, the rights or its login waits for an operator.
fn refused(failure: Failure) -> NotPlaced {
    match failure.class() {
        Some(SqlClass::Stop | SqlClass::Damage) => NotPlaced::Stopped(failure.to_string()),
        _ => NotPlaced::NotNow(failure.to_string()),
    }
}

/// Something that Kafka or PostgreSQL could not tell now.
pub struct Unready(String);

impl From<Unready> for NotPlaced {
    fn from(unready: Unready) -> Self {
        Self::NotNow(unready.0)
    }
}

/// Makes `token` the owner's of `source` and finds where to resume.
pub async fn take(
    shared: &Shared,
    kafka: &crate::config::KafkaConfig,
    source: &TopicPartition,
    token: Uuid,
) -> Result<Placed, NotPlaced> {
    let cluster_id: Arc<str> = shared
        .kafka
        .cluster_id()
        .await
        .map_err(Unready::from)?
        .into();
    register(shared, source, &cluster_id).await?;
    let row = shared
        .inbox
        .take_token(&shared.key(source), (token, shared.host.id))
        .await
        .map_err(refused)?;
    faults::at(
        Point::TokenTaken,
        row.as_ref().map_or(0, |row| row.next_offset),
    );
    let mut facts = facts(shared, source, &cluster_id, row).await?;
    loop {
        match decide(&facts) {
            Decision::CheckRecord(last) => facts.last = check(shared, kafka, source, &last).await?,
            Decision::AskAgain => {
                (facts.low, facts.high) = shared
                    .kafka
                    .watermarks(source)
                    .await
                    .map_err(Unready::from)?;
                facts.asked_twice = true;
            }
            Decision::Stop(reason) => return Err(NotPlaced::Stopped(reason.to_string())),
            Decision::Start(resume) => {
                let log_epoch = facts.row.as_ref().map_or(0, |row| row.log_epoch);
                let position = Position {
                    token,
                    cluster_id,
                    log_epoch,
                    next: resume.at,
                    committed: resume.acknowledged,
                    // A position that is written down anew begins anew.
                    failing: facts.row.as_ref().and_then(|row| row.failing),
                    ends: facts.row.as_ref().map(|row| row.ends).unwrap_or_default(),
                };
                let mut placed = place(shared, source, resume, position).await?;
                placed.at_end = placed.position.next >= facts.high;
                return Ok(placed);
            }
        }
    }
}

async fn place(
    shared: &Shared,
    source: &TopicPartition,
    resume: Resume,
    position: Position,
) -> Result<Placed, NotPlaced> {
    if let Some((next, c)) = resume.place {
        let placed = shared
            .inbox
            .place(&shared.key(source), position.token, next, c)
            .await
            .map_err(refused)?;
        if !placed {
            return Err(NotPlaced::NotNow(
                "another owner took the position meanwhile".to_owned(),
            ));
        }
    }
    faults::at(Point::Placed, resume.at);
    for notice in resume.notice.iter().chain(&resume.log_notice) {
        if notice.is_warning() {
            tracing::warn!(consumer = %shared.name, partition = %source, "{notice}");
        } else {
            tracing::info!(consumer = %shared.name, partition = %source, "{notice}");
        }
    }
    tracing::info!(consumer = %shared.name, partition = %source, at = resume.at, committed = position.committed, "position taken");
    Ok(Placed {
        source: source.clone(),
        position,
        at_end: false,
    })
}

async fn facts(
    shared: &Shared,
    source: &TopicPartition,
    cluster_id: &str,
    row: Option<Progress>,
) -> Result<Facts, Unready> {
    let committed = shared.kafka.committed(source).await?;
    let (low, high) = shared.kafka.watermarks(source).await?;
    Ok(Facts {
        row,
        committed,
        low,
        high,
        group: shared.config.group.clone(),
        cluster_id: cluster_id.to_owned(),
        start: shared.config.start,
        known_topic: true,
        last: LogCheck::NotAsked,
        asked_twice: false,
    })
}

/// Writes a row for every partition that has none, so that `start` counts once, at the first registration:
/// a partition that appears later starts at its beginning.
async fn register(
    shared: &Shared,
    source: &TopicPartition,
    cluster_id: &str,
) -> Result<(), NotPlaced> {
    // Of a topic's owners, all of which start at once, one asks and writes for all.
    let _one_at_a_time = shared.registering.lock().await;
    let rows = shared
        .inbox
        .registered(&shared.name, &source.topic)
        .await
        .map_err(refused)?;
    if rows.contains(&source.partition) {
        return Ok(());
    }
    let (mut starts, mut notices) = (Vec::new(), Vec::new());
    let partitions = shared
        .kafka
        .partitions(&source.topic)
        .await
        .map_err(Unready::from)?;
    for partition in partitions.into_iter().filter(|p| !rows.contains(p)) {
        let tp = TopicPartition {
            topic: source.topic.clone(),
            partition,
        };
        let mut facts = facts(shared, &tp, cluster_id, None).await?;
        facts.known_topic = !rows.is_empty();
        let resume = match first_place(shared, &tp, &mut facts).await {
            // That partition's owner will hear of it; the others need not wait.
            Err(NotPlaced::Stopped(_)) if tp != *source => continue,
            placed => placed?,
        };
        let (next, committed) = resume.place.unwrap_or((resume.at, facts.committed));
        starts.push((partition, next, committed));
        notices.extend(resume.notice.map(|notice| (tp, notice)));
    }
    let (name, group) = (&shared.name, &shared.config.group);
    let registered = shared
        .inbox
        .register((name, &source.topic), group, cluster_id, &starts)
        .await;
    registered.map_err(refused)?;
    for (partition, notice) in notices {
        tracing::info!(consumer = %shared.name, %partition, "{notice}");
    }
    Ok(())
}

/// Where a partition that has no row starts. A position beyond the log's end, which may be a stale answer, is asked for
/// twice.
async fn first_place(
    shared: &Shared,
    tp: &TopicPartition,
    facts: &mut Facts,
) -> Result<Resume, NotPlaced> {
    loop {
        match decide(facts) {
            Decision::Start(resume) => return Ok(resume),
            Decision::Stop(reason) => return Err(NotPlaced::Stopped(format!("{tp}: {reason}"))),
            Decision::AskAgain => {
                let range = shared.kafka.watermarks(tp).await;
                (facts.low, facts.high) = range.map_err(Unready::from)?;
                facts.asked_twice = true;
            }
            Decision::CheckRecord(_) => {
                return Err(NotPlaced::NotNow(format!("{tp} has no row to check")));
            }
        }
    }
}

/// Is it the same log? Reads the record that was handled last.
async fn check(
    shared: &Shared,
    kafka: &crate::config::KafkaConfig,
    source: &TopicPartition,
    last: &LastRecord,
) -> Result<LogCheck, Unready> {
    // Each look is a client of its own: a host with many partitions must not open that many at once.
    let _few_at_a_time = shared.looking.acquire().await;
    let found = match read_record(kafka, source, last.offset, LOOK).await? {
        Found::Gone => None,
        Found::Record(record) => Some(Pending::new(*record, &shared.config).last_record()),
    };
    Ok(LogCheck::compare(last, found.as_ref()))
}
