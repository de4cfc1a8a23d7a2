//! The relay: publishes dead letters to their dead letter topics and marks them published.
//!
//! A letter is safe in PostgreSQL before it comes here, so a dead letter topic that is missing, full or refusing holds up
//! no record. Each topic has runs of its own, beside one another, so it holds up no other topic's letters either. A crash
//! between publishing and marking publishes a letter twice, under one id.

mod run;

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tidegate_core::backoff::RetryPolicy;
use tidegate_core::failure::Failure;
use tidegate_core::relay::{Destinations, Ended, Start};
use tokio::task::{Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::kafka::Publisher;
use crate::worker::repeats::{Repeats, Say};
use crate::worker::shared::Shared;
use run::{NotTaken, Run};

/// Tenants that one look takes in; the next look goes on behind them.
const PAGE: usize = 200;
/// How often the relay looks when nothing rings.
const TICK: Duration = Duration::from_secs(1);
/// How long it leaves off after failures to look, in a row.
const PAUSES: RetryPolicy = RetryPolicy {
    initial: Duration::from_secs(2),
    max: Duration::from_secs(15),
    max_elapsed: Duration::MAX,
    max_attempts: None,
};
/// How long runs may take at the end: what is published is still marked.
const END: Duration = Duration::from_secs(2);

/// Publishes the letters of the partitions that `shared` owns until `stop`: to `own`, or to their tenants' topics.
pub async fn relay(
    shared: Arc<Shared>,
    (publisher, own): (Publisher, String),
    stop: CancellationToken,
) {
    let publisher = Arc::new(publisher);
    let mut relay = Relay {
        shared,
        publisher: Arc::clone(&publisher),
        own,
        began: Instant::now(),
        destinations: Destinations::default(),
        from: String::new(),
        runs: JoinSet::new(),
        under_way: HashMap::new(),
        looks: Repeats::default(),
        refusals: HashMap::new(),
        stop: stop.clone(),
    };
    tokio::select! {
        () = stop.cancelled() => {}
        never = relay.run() => match never {},
    }
    relay.end().await;
    publisher.close(Duration::from_secs(5)).await;
}

struct Relay {
    shared: Arc<Shared>,
    publisher: Arc<Publisher>,
    /// The consumer's own dead letter topic.
    own: String,
    began: Instant,
    destinations: Destinations,
    /// Where the next look begins among the tenants.
    from: String,
    runs: JoinSet<Result<bool, NotTaken>>,
    /// Which topic each of them writes to.
    under_way: HashMap<Id, String>,
    looks: Repeats,
    /// Of each topic that refuses now, so that each is said by itself.
    refusals: HashMap<String, Repeats>,
    stop: CancellationToken,
}

impl Relay {
    async fn run(&mut self) -> Infallible {
        loop {
            let pause = self.look().await;
            self.wait(pause).await;
        }
    }

    /// Begins the runs that are due; how long until the next look.
    async fn look(&mut self) -> Duration {
        match self.topics().await {
            Ok(topics) => {
                self.looks.over();
                let names = topics.keys().map(String::as_str);
                for start in self.destinations.begin(names, self.began.elapsed()) {
                    self.begin(start, &topics);
                }
                TICK
            }
            Err(failure) => {
                self.say_away(&failure);
                let turn = u32::try_from(self.looks.count()).unwrap_or(u32::MAX);
                PAUSES.wait(turn, fastrand::f64())
            }
        }
    }

    /// The topics that letters wait for, and whose letters those are.
    async fn topics(&mut self) -> Result<BTreeMap<String, Vec<String>>, Failure> {
        let mut topics = BTreeMap::new();
        let roster = self.shared.roster();
        // Whose letters go where is not known before the tenants are.
        let is_known = roster.is_some() || self.shared.config.tenants.is_none();
        if self.shared.partitions() == 0 || !is_known {
            return Ok(topics);
        }
        let (inbox, consumer) = (&self.shared.inbox, &self.shared.name);
        let page = inbox
            .tenants_with_letters(consumer, &self.from, PAGE)
            .await?;
        let last = page.last().filter(|_| page.len() >= PAGE).cloned();
        if last.is_none() {
            let still = self.destinations.round_over();
            self.refusals.retain(|topic, _| still.contains(topic));
        }
        self.from = last.unwrap_or_default();
        for tenant in page {
            let own = roster.as_deref().and_then(|all| all.letters_to(&tenant));
            let topic = own.unwrap_or(&self.own).to_owned();
            topics.entry(topic).or_insert_with(Vec::new).push(tenant);
        }
        Ok(topics)
    }

    fn begin(&mut self, start: Start, topics: &BTreeMap<String, Vec<String>>) {
        let run = Run {
            shared: Arc::clone(&self.shared),
            publisher: Arc::clone(&self.publisher),
            tenants: topics.get(&start.topic).cloned().unwrap_or_default(),
            topic: start.topic.clone(),
            most: start.most,
            stop: self.stop.clone(),
        };
        let task = self.runs.spawn(run.run());
        self.under_way.insert(task.id(), start.topic);
    }

    /// Waits until there may be something to do.
    async fn wait(&mut self, pause: Duration) {
        tokio::select! {
            Some(ran) = self.runs.join_next_with_id() => self.ran(ran),
            () = self.shared.letters.notified() => self.destinations.ring(),
            () = tokio::time::sleep(pause) => {}
        }
    }

    fn ran(&mut self, ran: Result<(Id, Result<bool, NotTaken>), JoinError>) {
        let (id, ran) = ran.unwrap_or_else(|error| (error.id(), Err(NotTaken::late(&error))));
        let Some(topic) = self.under_way.remove(&id) else {
            return;
        };
        let ended = match ran {
            Ok(more) => {
                if let Some(times) = self.refusals.remove(&topic).and_then(|mut of| of.over()) {
                    tracing::info!(consumer = %self.shared.name, topic, times, "the dead letter topic takes letters again");
                }
                Ended::Took { more }
            }
            Err(NotTaken { mends, reason }) => {
                self.say_refused(&topic, &reason);
                Ended::Refused(mends)
            }
        };
        let now = self.began.elapsed();
        self.destinations.ended(&topic, ended, now, fastrand::f64());
    }

    /// What was published and not marked would be published again.
    async fn end(mut self) {
        let ends = async { while self.runs.join_next().await.is_some() {} };
        let _late = tokio::time::timeout(END, ends).await;
        self.runs.shutdown().await;
    }

    fn say_refused(&mut self, topic: &str, reason: &str) {
        self.shared.meters.publishing_failed(topic);
        let consumer = &self.shared.name;
        let repeats = self.refusals.entry(topic.to_owned()).or_default();
        match repeats.failed(Instant::now()) {
            Say::First => {
                tracing::warn!(%consumer, topic, reason, "dead letters cannot be published now; they are kept in PostgreSQL and tried again");
            }
            Say::Again(times, since) => {
                tracing::warn!(%consumer, topic, reason, times, ?since, "dead letters still cannot be published");
            }
            Say::Nothing => {}
        }
    }

    fn say_away(&mut self, failure: &Failure) {
        self.shared.meters.publishing_failed("");
        let consumer = &self.shared.name;
        match self.looks.failed(Instant::now()) {
            Say::First => {
                tracing::warn!(%consumer, %failure, "dead letters that are to be published cannot be read now");
            }
            Say::Again(times, since) => {
                tracing::warn!(%consumer, %failure, times, ?since, "dead letters that are to be published still cannot be read");
            }
            Say::Nothing => {}
        }
    }
}
