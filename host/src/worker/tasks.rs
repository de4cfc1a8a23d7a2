//! The partition tasks of one consumer: started, ended by a deadline, and missed when they end by themselves.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use tidegate_core::record::TopicPartition;
use tokio::sync::watch;
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tokio::time::timeout_at;

use crate::worker::owner::Hold;

/// What a task gets beyond its deadline before it is aborted.
const GRACE: Duration = Duration::from_millis(500);
/// How long a task gets whose partition is somebody else's already.
const LOST: Duration = Duration::from_secs(1);

/// A consumer's partition tasks.
#[derive(Default)]
pub struct Tasks {
    held: HashMap<TopicPartition, Task>,
    running: JoinSet<()>,
    /// A task ended by itself while others were being ended.
    fallen: Option<String>,
}

/// A task whose hold is gone takes its partition for lost, so the hold stays until the task has ended.
struct Task {
    hold: watch::Sender<Hold>,
    abort: AbortHandle,
}

impl Tasks {
    /// Starts the task of `source`, which runs for as long as the hold it is given lasts.
    pub fn start<R>(&mut self, source: TopicPartition, run: impl FnOnce(watch::Receiver<Hold>) -> R)
    where
        R: Future<Output = ()> + Send + 'static,
    {
        let (hold, held) = watch::channel(Hold::Held);
        let abort = self.running.spawn(run(held));
        self.held.insert(source, Task { hold, abort });
    }

    /// The partitions whose tasks run.
    pub fn sources(&self) -> Vec<TopicPartition> {
        self.held.keys().cloned().collect()
    }

    /// Waits until a task ends that nobody ended, and says how.
    pub async fn fallen(&mut self) -> String {
        if let Some(fallen) = self.fallen.take() {
            return fallen;
        }
        match self.running.join_next_with_id().await {
            Some(ended) => words(&ended),
            None => std::future::pending().await,
        }
    }

    /// Ends the tasks of `partitions` and waits for them, to the deadline and a little more; what does not
    /// end by then is aborted, which rolls its transaction back.
    pub async fn end(&mut self, partitions: &[TopicPartition], how: Hold) {
        let tasks = partitions.iter().filter_map(|p| self.held.remove(p));
        let mut ending: HashMap<Id, Task> = tasks.map(|task| (task.abort.id(), task)).collect();
        for task in ending.values() {
            task.hold.send_replace(how);
        }
        let until = match how {
            Hold::Draining(deadline) => deadline + GRACE,
            Hold::Held | Hold::Lost => Instant::now() + LOST,
        };
        if !self.wait(&mut ending, Some(until)).await {
            tracing::warn!(
                partitions = ending.len(),
                "not ended by the deadline; their batches are rolled back"
            );
            ending.values().for_each(|task| task.abort.abort());
            self.wait(&mut ending, None).await;
        }
    }

    /// Waits for all of `ending`; false if `until` came first.
    async fn wait(&mut self, ending: &mut HashMap<Id, Task>, until: Option<Instant>) -> bool {
        while !ending.is_empty() {
            let next = self.running.join_next_with_id();
            let ended = match until {
                Some(until) => timeout_at(until.into(), next).await,
                None => Ok(next.await),
            };
            match ended {
                Ok(Some(ended)) if ending.remove(&id(&ended)).is_some() => {}
                Ok(Some(other)) => self.fallen = Some(words(&other)),
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
        true
    }
}

type Ended = Result<(Id, ()), JoinError>;

fn id(ended: &Ended) -> Id {
    match ended {
        Ok((id, ())) => *id,
        Err(error) => error.id(),
    }
}

fn words(ended: &Ended) -> String {
    match ended {
        Ok(_) => "the task of a partition ended by itself".to_owned(),
        Err(error) => format!("the task of a partition failed: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn source(partition: i32) -> TopicPartition {
        let topic = Arc::from("t");
        TopicPartition { topic, partition }
    }

    async fn until_ended(mut hold: watch::Receiver<Hold>) {
        hold.wait_for(|hold| *hold != Hold::Held).await.ok();
    }

    #[tokio::test]
    async fn a_task_that_panics_is_missed() {
        let mut tasks = Tasks::default();
        tasks.start(source(0), until_ended);
        tasks.start(source(1), |_| async { panic!("by itself") });
        assert!(tasks.fallen().await.contains("panic"));
    }

    #[tokio::test]
    async fn a_task_that_ends_by_itself_while_others_are_ended_is_missed_too() {
        let mut tasks = Tasks::default();
        tasks.start(source(0), |hold| async move {
            until_ended(hold).await;
            tokio::task::yield_now().await;
        });
        tasks.start(source(1), |_| async {});
        let deadline = Instant::now() + Duration::from_secs(60);
        tasks.end(&[source(0)], Hold::Draining(deadline)).await;
        assert!(tasks.fallen().await.contains("ended by itself"));
        assert_eq!(tasks.sources(), [source(1)]);
    }

    #[tokio::test]
    async fn a_task_that_does_not_end_is_aborted() {
        let mut tasks = Tasks::default();
        tasks.start(source(0), |_| std::future::pending());
        tasks
            .end(&[source(0)], Hold::Draining(Instant::now()))
            .await;
        assert!(tasks.sources().is_empty() && tasks.running.is_empty());
    }
}
