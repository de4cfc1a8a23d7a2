//! How far fetching has come, by librdkafka's statistics: past markers and aborted records, which no poll shows.

use std::collections::HashMap;

use serde::Deserialize;
use tidegate_core::record::TopicPartition;

/// How often librdkafka tells.
pub(super) const INTERVAL_MS: &str = "3000";

/// How far fetching a partition has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// Behind the last record that was passed on.
    pub after: i64,
    /// From there to before this offset there is no record to be passed on: only markers, and what was aborted.
    pub to: i64,
    /// Offsets behind the last stable one: what an open transaction holds back. None where no broker told yet.
    pub held_back: Option<i64>,
}

/// What librdkafka says of one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fetched {
    pub(super) source: TopicPartition,
    /// The next offset to ask for.
    pub(super) next: i64,
    /// Whether everything before that has been polled.
    pub(super) polled: bool,
    pub(super) held_back: Option<i64>,
}

#[derive(Deserialize)]
struct Statistics<'a> {
    #[serde(borrow)]
    topics: HashMap<&'a str, Topic<'a>>,
}

#[derive(Deserialize)]
struct Topic<'a> {
    #[serde(borrow)]
    partitions: HashMap<&'a str, Numbers>,
}

#[derive(Deserialize)]
struct Numbers {
    fetchq_cnt: i64,
    next_offset: i64,
    hi_offset: i64,
    ls_offset: i64,
}

/// What `json` says of partitions that are fetched; nothing where it says it otherwise than it used to.
pub(super) fn read(json: &[u8]) -> Vec<Fetched> {
    let Ok(statistics) = serde_json::from_slice::<Statistics<'_>>(json) else {
        return Vec::new();
    };
    let topics = statistics.topics.into_iter();
    let all = topics.flat_map(|(topic, of)| {
        let topic = std::sync::Arc::<str>::from(topic);
        let partitions = of.partitions.into_iter();
        partitions.filter_map(move |(number, numbers)| {
            let partition = number.parse::<i32>().ok().filter(|n| *n >= 0)?;
            let topic = std::sync::Arc::clone(&topic);
            Some(numbers.of(TopicPartition { topic, partition }))
        })
    });
    all.filter(|fetched| fetched.next >= 0).collect()
}

impl Numbers {
    fn of(self, source: TopicPartition) -> Fetched {
        // Negative ones are librdkafka's way to say that it does not know.
        let known = self.hi_offset >= 0 && self.ls_offset >= 0;
        Fetched {
            source,
            next: self.next_offset,
            polled: self.fetchq_cnt == 0,
            held_back: known.then(|| self.hi_offset.saturating_sub(self.ls_offset).max(0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_that_are_fetched_are_read_and_others_left_out() {
        let of = |next: i64, high: i64, stable: i64, queued: i64| {
            format!(
                r#"{{"partition":0,"fetchq_cnt":{queued},"next_offset":{next},"hi_offset":{high},"ls_offset":{stable}}}"#
            )
        };
        let (known, unknown) = (of(7, 9, 7, 0), of(3, -1001, -1001, 2));
        let json = format!(
            r#"{{"name":"x","topics":{{"t":{{"topic":"t","partitions":{{"0":{known},"1":{unknown},"2":{},"-1":{known}}}}}}}}}"#,
            of(-1001, 5, 5, 0)
        );
        let mut read = read(json.as_bytes());
        read.sort_by_key(|fetched| fetched.source.partition);
        let brief: Vec<_> = read
            .iter()
            .map(|f| (f.source.partition, f.next, f.polled, f.held_back))
            .collect();
        assert_eq!(brief, [(0, 7, true, Some(2)), (1, 3, false, None)]);
        assert!(super::read(b"{}").is_empty());
    }
}
