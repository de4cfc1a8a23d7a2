//! Where the topics of a new consumer with `start = "latest"` end, written down before anything else: before a module is
//! compiled, and before the group is joined. What is produced after the host has once been ready is never skipped.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tidegate_core::record::TopicPartition;
use tidegate_core::resume::{Decision, Facts, LogCheck, Start, decide};
use tokio::sync::watch;

use crate::config::{ConsumerConfig, KafkaConfig};
use crate::inbox::Inbox;
use crate::kafka::{GroupOffset, LogRange, cluster_id, group_offsets, log_ranges};
use crate::worker::repeats::{Repeats, Say};

/// How often what could not be asked or written is tried again.
const AGAIN: Duration = Duration::from_millis(500);
/// How long a host waits for its first answers before it sees to its modules.
const FIRST: Duration = Duration::from_secs(5);

/// How far a consumer's registration is.
#[derive(Clone, Debug)]
pub struct Registration(watch::Receiver<Stage>);

#[derive(Clone, Debug)]
enum Stage {
    /// Not yet, and why as far as is known.
    Waits(Option<String>),
    Done,
}

/// What is to be registered, and where.
#[derive(Clone)]
struct Registrar {
    config: ConsumerConfig,
    kafka: Arc<KafkaConfig>,
    inbox: Inbox,
}

/// What was seen of a topic at first. It is kept while the rest cannot be had, so that waiting skips nothing. A host that
/// dies meanwhile forgets it: it has not been ready, so it has promised nothing.
enum Sight {
    /// There is no such topic: whatever comes is new.
    Absent,
    /// Its logs end there.
    Ends(HashMap<i32, i64>),
}

impl Registration {
    /// A registration, and the work of it: it ends once everything is written down. A consumer that begins at the
    /// earliest record skips nothing, so it needs none.
    pub fn of(
        config: &ConsumerConfig,
        kafka: &Arc<KafkaConfig>,
        inbox: &Inbox,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let first = match config.start {
            Start::Latest => Stage::Waits(None),
            Start::Earliest => Stage::Done,
        };
        let needed = matches!(first, Stage::Waits(_));
        let (stage, registration) = watch::channel(first);
        let registrar = Registrar {
            config: config.clone(),
            kafka: Arc::clone(kafka),
            inbox: inbox.clone(),
        };
        let work = async move {
            if needed {
                registrar.register_all(&stage).await;
            }
        };
        (Self(registration), work)
    }

    /// Waits until everything is written down. Nobody is left to do it where the host ends.
    pub async fn done(mut self) {
        let done = self.0.wait_for(|stage| matches!(stage, Stage::Done));
        if done.await.is_err() {
            std::future::pending().await
        }
    }

    /// Waits until everything is written down, but not for long.
    pub async fn done_soon(self) {
        let _later = tokio::time::timeout(FIRST, self.done()).await;
    }

    /// What it waits for: none once it is done.
    pub fn waits_for(&self) -> Option<String> {
        match &*self.0.borrow() {
            Stage::Waits(why) => Some(
                why.clone()
                    .unwrap_or_else(|| "it is being asked".to_owned()),
            ),
            Stage::Done => None,
        }
    }
}

impl Registrar {
    async fn register_all(&self, stage: &watch::Sender<Stage>) {
        let (mut seen, mut repeats) = (HashMap::new(), Repeats::default());
        loop {
            match self.try_all(&mut seen).await {
                Ok(()) => break,
                Err(reason) => {
                    self.say(&mut repeats, &reason);
                    stage.send_replace(Stage::Waits(Some(reason)));
                }
            }
            tokio::time::sleep(AGAIN).await;
        }
        stage.send_replace(Stage::Done);
    }

    fn say(&self, repeats: &mut Repeats, reason: &str) {
        let consumer = &self.config.name;
        let what = "where the topics end cannot be written down now; it is tried again, and the group is joined afterwards";
        match repeats.failed(Instant::now()) {
            Say::First => tracing::warn!(consumer, "{what}: {reason}"),
            Say::Again(times, since) => tracing::warn!(consumer, times, ?since, "{what}: {reason}"),
            Say::Nothing => {}
        }
    }

    /// All topics; the first failure is told once each was tried.
    async fn try_all(&self, seen: &mut HashMap<String, Sight>) -> Result<(), String> {
        let mut result = Ok(());
        for topic in &self.config.topics {
            let tried = self.try_topic(topic, seen).await;
            result = result.and(tried);
        }
        result
    }

    async fn try_topic(
        &self,
        topic: &str,
        seen: &mut HashMap<String, Sight>,
    ) -> Result<(), String> {
        // The end comes first: whatever else takes its time.
        if !seen.contains_key(topic) {
            let ranges = log_ranges(&self.kafka, topic).await.map_err(words)?;
            seen.insert(topic.to_owned(), sight(ranges));
        }
        let name = &self.config.name;
        let known = self.inbox.registered(name, topic).await.map_err(words)?;
        if !known.is_empty() {
            return Ok(());
        }
        let cluster = cluster_id(&self.kafka).await.map_err(words)?;
        let starts = match &seen[topic] {
            // Known from now on: its partitions begin where they begin.
            Sight::Absent => vec![(0, 0, None)],
            Sight::Ends(ends) => self.starts(topic, ends, &cluster).await?,
        };
        let written = self
            .inbox
            .register((name, topic), &self.config.group, &cluster, &starts);
        written.await.map_err(words)?;
        tracing::info!(consumer = %name, topic, partitions = starts.len(), "it is written down where the topic ends; what comes behind that is handled");
        Ok(())
    }

    /// N and C of each partition: the group's offset, or the end at first sight.
    async fn starts(
        &self,
        topic: &str,
        ends: &HashMap<i32, i64>,
        cluster: &str,
    ) -> Result<Vec<(i32, i64, Option<i64>)>, String> {
        let topic: Arc<str> = topic.into();
        let partition = |partition: &i32| TopicPartition {
            topic: Arc::clone(&topic),
            partition: *partition,
        };
        let partitions = ends.keys().map(partition).collect();
        let known = group_offsets(&self.kafka, &self.config.group, partitions).await;
        let mut starts = Vec::new();
        for at in known.map_err(words)? {
            let (partition, end) = (at.partition.partition, ends[&at.partition.partition]);
            match decide(&self.facts(&at, end, cluster)) {
                Decision::Start(resume) => {
                    starts.push((partition, resume.at, resume.acknowledged));
                }
                // That partition's owner will hear of it; the others need not wait.
                Decision::Stop(_) => {}
                Decision::AskAgain | Decision::CheckRecord(_) => {
                    return Err(format!("the answers on {} do not agree", at.partition));
                }
            }
        }
        starts.sort_unstable();
        Ok(starts)
    }

    fn facts(&self, at: &GroupOffset, end: i64, cluster: &str) -> Facts {
        Facts {
            row: None,
            committed: at.committed,
            low: at.low,
            high: match at.committed {
                Some(_) => at.high,
                None => end.max(at.low),
            },
            asked_twice: true,
            group: self.config.group.clone(),
            cluster_id: cluster.to_owned(),
            start: self.config.start,
            known_topic: false,
            last: LogCheck::NotAsked,
        }
    }
}

fn sight(ranges: Option<Vec<LogRange>>) -> Sight {
    match ranges {
        None => Sight::Absent,
        Some(ranges) => {
            let ends = ranges.into_iter().map(|r| (r.partition.partition, r.high));
            Sight::Ends(ends.collect())
        }
    }
}

fn words(error: impl std::fmt::Display) -> String {
    error.to_string()
}
