//! Taking a position: a look, the owner's token, then Kafka's offset and the core's decision.
//!
//! What can be refused without the token is refused before it is taken, and takes nothing: another group, another
//! cluster, another log, a position out of range, tenants that cannot be read. The schema and the modules are looked at
//! before a host joins its group at all. What shows only once the token is held, since Kafka or the row have changed
//! meanwhile, hands it back as it was.

use std::sync::Arc;
use std::time::Duration;

use tidegate_core::failure::Failure;
use tidegate_core::progress::{LastRecord, Progress};
use tidegate_core::record::TopicPartition;
use tidegate_core::resume::{Decision, Facts, LogCheck, Resume, decide};
use tidegate_core::sqlstate::SqlClass;
use uuid::Uuid;

use crate::faults::{self, Point};
use crate::inbox::Token;
use crate::kafka::{Found, read_record};
use crate::worker::look::{Looked, look};
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
pub(super) fn refused(failure: Failure) -> NotPlaced {
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
    let looked = look(shared, kafka, source, &cluster_id).await?;
    let (key, owner) = (shared.key(source), (token, shared.host.id));
    let (seen, rule) = (&looked.seen, shared.id_rule());
    let taken = shared.inbox.take_token(&key, owner, seen, &rule).await;
    let Some(taken) = taken.map_err(refused)? else {
        return Err(NotPlaced::NotNow(
            "its row was changed while it was looked at".to_owned(),
        ));
    };
    faults::at(Point::TokenTaken, taken.row.next_offset);
    let names = (source, token, cluster_id);
    match settle(shared, kafka, names, (&taken, looked)).await {
        Ok(placed) => {
            tell_rule(shared, taken.id_rule.as_deref(), &rule);
            Ok(placed)
        }
        Err(not_placed) => {
            hand_back(shared, source, token, &taken).await;
            Err(not_placed)
        }
    }
}

/// Decides with the token in hand: no old owner's commit can move K or the row any more.
async fn settle(
    shared: &Shared,
    kafka: &crate::config::KafkaConfig,
    (source, token, cluster_id): (&TopicPartition, Uuid, Arc<str>),
    (taken, looked): (&Token, Looked),
) -> Result<Placed, NotPlaced> {
    let row = &taken.row;
    let mut facts = facts(shared, source, &cluster_id, Some(row.clone())).await?;
    facts.last = looked.of(row.last.as_ref());
    let resume = loop {
        match decide(&facts) {
            Decision::CheckRecord(last) => facts.last = check(shared, kafka, source, &last).await?,
            Decision::AskAgain => ask_again(shared, source, &mut facts).await?,
            Decision::Stop(reason) => return Err(NotPlaced::Stopped(reason.to_string())),
            Decision::Start(resume) => break resume,
        }
    };
    let position = Position {
        token,
        cluster_id,
        log_epoch: row.log_epoch,
        next: resume.at,
        committed: resume.acknowledged,
        // A position that is written down anew begins anew.
        failing: row.failing,
        ends: row.ends,
    };
    let mut placed = place(shared, source, resume, position).await?;
    placed.at_end = placed.position.next >= facts.high;
    Ok(placed)
}

/// The rule takes effect here. Said once, whatever the number of partitions.
fn tell_rule(shared: &Shared, before: Option<&str>, now: &str) {
    if let Some(before) = before.filter(|before| *before != now)
        && shared.is_first_to_tell_rule()
    {
        tracing::warn!(consumer = %shared.name, "event ids are read by another rule than before: `{before}` then, `{now}` from here on; ids of before and after do not match, so an event that was handled before and comes again is handled again");
    }
}

/// Whoever had the token has it again, and nobody has died. Where this fails the next owner takes it.
async fn hand_back(shared: &Shared, source: &TopicPartition, token: Uuid, taken: &Token) {
    let key = shared.key(source);
    if let Err(error) = shared.inbox.hand_back(&key, token, taken).await {
        tracing::debug!(partition = %source, %error, "the token could not be handed back; the next owner takes it");
    }
}

/// A position beyond the log's end may be a stale answer.
pub(super) async fn ask_again(
    shared: &Shared,
    source: &TopicPartition,
    facts: &mut Facts,
) -> Result<(), Unready> {
    (facts.low, facts.high) = shared.kafka.watermarks(source).await?;
    facts.asked_twice = true;
    Ok(())
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

pub(super) async fn facts(
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
pub(super) async fn register(
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
pub(super) async fn check(
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
