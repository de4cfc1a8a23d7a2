//! Where `offsets set` puts a position: what was asked for, against one partition's log and row.

use clap::Args;
use tidegate_core::moment;

use super::super::CliError;
use crate::inbox::ProgressRow;
use crate::kafka::GroupOffset;

/// Where to.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(super) struct Target {
    /// The next offset to handle, from the log's first to the one after its last
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(0..), allow_negative_numbers = true)]
    to_offset: Option<i64>,
    /// The first record at that moment or later: RFC 3339, or milliseconds since 1970. Where there is none, the log's end
    #[arg(long, value_name = "TIME", value_parser = moment::parse, allow_negative_numbers = true)]
    to_timestamp: Option<i64>,
    /// So many offsets on from the position, past what cannot be handled or read
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(i64).range(1..), allow_negative_numbers = true)]
    skip: Option<i64>,
    /// The log's first record
    #[arg(long)]
    earliest: bool,
    /// Behind the log's last record
    #[arg(long)]
    latest: bool,
}

/// A position found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The offset.
    pub(super) next: i64,
    /// What the operator should know of it.
    pub(super) note: Option<String>,
}

impl Target {
    /// The moment asked for, in milliseconds since 1970.
    pub(super) fn moment(&self) -> Option<i64> {
        self.to_timestamp
    }

    /// Whether it is counted from the position.
    pub(super) fn is_relative(&self) -> bool {
        self.skip.is_some()
    }

    /// The offset meant in a log, whose offset at the moment asked for is `at`. Refuses one that the log does not hold:
    /// a host would stop there.
    pub(super) fn find(
        &self,
        log: &GroupOffset,
        row: Option<&ProgressRow>,
        at: Option<i64>,
    ) -> Result<Found, CliError> {
        let mut note = None;
        let next = if let Some(offset) = self.to_offset {
            offset
        } else if let Some(ms) = self.to_timestamp {
            let nothing = || format!("no record at {} or later: the log's end", moment::text(ms));
            note = at.is_none().then(nothing);
            at.unwrap_or(log.high)
        } else if let Some(count) = self.skip {
            let row = row.ok_or_else(|| no_position(log))?;
            row.next_offset.saturating_add(count)
        } else if self.latest {
            log.high
        } else {
            log.low
        };
        inside(next, log)?;
        Ok(Found { next, note })
    }
}

fn no_position(log: &GroupOffset) -> CliError {
    CliError::Failed(format!(
        "{} has no position yet to skip from: nothing was changed; give an offset with `--to-offset`",
        log.partition
    ))
}

fn inside(next: i64, log: &GroupOffset) -> Result<(), CliError> {
    let (low, high) = (log.low, log.high);
    if (low..=high).contains(&next) {
        return Ok(());
    }
    Err(CliError::Failed(format!(
        "offset {next} is not in the log of {}, which holds {low} to {high}: nothing was changed; give an offset from {low} to {high}, `--earliest` or `--latest`",
        log.partition
    )))
}

#[cfg(test)]
mod tests {
    use tidegate_core::progress::{Counts, ProgressKey};
    use tidegate_core::record::TopicPartition;

    use super::*;

    const NOTHING: Target = Target {
        to_offset: None,
        to_timestamp: None,
        skip: None,
        earliest: false,
        latest: false,
    };

    fn source() -> TopicPartition {
        TopicPartition {
            topic: "payments".into(),
            partition: 0,
        }
    }

    /// A log of 10 to 20.
    fn log() -> GroupOffset {
        GroupOffset {
            partition: source(),
            committed: Some(99),
            low: 10,
            high: 20,
        }
    }

    fn row(next_offset: i64) -> ProgressRow {
        ProgressRow {
            key: ProgressKey {
                consumer: "c".into(),
                source: source(),
            },
            group: "g".into(),
            cluster_id: "k".into(),
            log_epoch: 0,
            owner: None,
            owner_host: None,
            failing: None,
            stopped_for: None,
            next_offset,
            committed: None,
            last_offset: None,
            updated_at: String::new(),
            counts: Counts::default(),
        }
    }

    fn next(target: &Target, row: Option<&ProgressRow>, at: Option<i64>) -> Result<i64, String> {
        let found = target.find(&log(), row, at);
        found.map(|f| f.next).map_err(|error| error.to_string())
    }

    fn to(offset: i64) -> Target {
        Target {
            to_offset: Some(offset),
            ..NOTHING
        }
    }

    #[test]
    fn the_whole_log_and_its_end_can_be_set_and_nothing_else() {
        for offset in [10, 15, 20] {
            assert_eq!(next(&to(offset), None, None), Ok(offset));
        }
        for offset in [0, 9, 21] {
            let refused = next(&to(offset), None, None);
            assert!(
                refused.is_err_and(|text| text.contains("10 to 20")),
                "{offset}"
            );
        }
    }

    #[test]
    fn earliest_and_latest_are_the_logs_ends() {
        let latest = Target {
            latest: true,
            ..NOTHING
        };
        let earliest = Target {
            earliest: true,
            ..NOTHING
        };
        assert_eq!(next(&earliest, None, None), Ok(10));
        assert_eq!(next(&latest, None, None), Ok(20));
    }

    #[test]
    fn a_moment_behind_the_last_record_is_the_end_and_said_to_be() {
        let target = Target {
            to_timestamp: Some(1_000),
            ..NOTHING
        };
        let found = target.find(&log(), None, Some(13)).ok();
        assert_eq!(found.as_ref().map(|f| f.next), Some(13));
        assert_eq!(found.and_then(|f| f.note), None);
        let end = target.find(&log(), None, None).ok();
        assert_eq!(end.as_ref().map(|f| f.next), Some(20));
        let note = end.and_then(|f| f.note);
        assert!(note.is_some_and(|note| note.contains("1970-01-01T00:00:01Z")));
    }

    #[test]
    fn a_skip_is_counted_from_the_position() {
        let skip = |count| Target {
            skip: Some(count),
            ..NOTHING
        };
        assert_eq!(next(&skip(3), Some(&row(12)), None), Ok(15));
        assert_eq!(next(&skip(8), Some(&row(12)), None), Ok(20));
        assert!(next(&skip(9), Some(&row(12)), None).is_err());
        assert!(next(&skip(i64::MAX), Some(&row(12)), None).is_err());
        assert!(next(&skip(1), None, None).is_err_and(|text| text.contains("no position")));
    }
}
