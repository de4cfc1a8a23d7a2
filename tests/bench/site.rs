//! The conditions of a measurement: which server, how far away, and what its inbox holds beforehand.

use std::time::Duration;

/// Where a contender works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Site {
    /// The database server.
    pub(crate) server: ServerKind,
    /// The round trip to it; none of our making on loopback.
    pub(crate) round_trip: Option<Duration>,
    /// What is in the inbox from the start; on the run's own server alone.
    pub(crate) seed: Seed,
}

impl Site {
    /// The run's own server, on loopback, with an empty inbox.
    pub(crate) const PLAIN: Self = Self {
        server: ServerKind::Main,
        round_trip: None,
        seed: Seed::Nothing,
    };
}

/// A kind of PostgreSQL server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ServerKind {
    /// The run's own.
    Main,
    /// One whose every flush of the write-ahead log takes a millisecond more.
    SlowFlush,
    /// One that keeps the time of each commit.
    CommitTimes,
}

/// Claims of other events of the same consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Seed {
    /// None.
    Nothing,
    /// So many that are remembered for days to come.
    Live(usize),
    /// So many that have been due for pruning for a day.
    Expired(usize),
}
