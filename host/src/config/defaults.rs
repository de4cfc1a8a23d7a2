//! Every default of the configuration and every bound, with its motive.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::Duration;

const fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// The file that is read when none is named.
pub const CONFIG_FILE: &str = "tidegate.toml";

/// Where an event id is looked for: a header leaves the value to the producer's own schema.
pub const ID: &str = "header:event-id";

/// What is put after the first topic's name to name the dead letter topic.
pub const DEAD_LETTER_SUFFIX: &str = ".dlt";

/// How long a closed dead letter is kept: a month for whoever looks into what was replayed.
pub const KEEP_CLOSED: Duration = seconds(30 * 86_400);

/// Rounds of replay before a letter is parked: what has failed so often fails for a reason of its own.
pub const MAX_REPLAYS: usize = 5;

/// The most that `max_replays` may be.
pub const REPLAYS_BOUND: usize = 1_000;

/// Long enough for one batch to end, short enough for a container's usual 30 s to be kept.
pub const SHUTDOWN_TIMEOUT: Duration = seconds(25);

/// Where metrics and health are served: to this machine alone, they ask for no password.
pub const HTTP: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 9464));

/// Connections for batches. PostgreSQL's own limit is 100 by default, shared with everyone else.
pub const MAX_CONNECTIONS: usize = 16;

/// A server that does not answer by then is treated as unreachable and tried again.
pub const CONNECT_TIMEOUT: Duration = seconds(5);

/// A statement of a handler that runs for longer holds its batch's locks for too long.
pub const STATEMENT_TIMEOUT: Duration = seconds(30);

/// Waiting longer for a lock points at a deadlock outside the database.
pub const LOCK_TIMEOUT: Duration = seconds(10);

/// Longer than any guest computes between two statements, short enough for a partition to change hands.
pub const IDLE_IN_TRANSACTION_TIMEOUT: Duration = seconds(60);

/// Often enough that a round of pruning stays small.
pub const PRUNE_INTERVAL: Duration = seconds(60);

/// How long an event id is remembered: the retention of a Kafka topic by default.
pub const TTL: Duration = seconds(7 * 86_400);

/// The shortest memory: below it clocks and delivery delays decide.
pub const MIN_TTL: Duration = seconds(1);

/// The longest memory: a year.
pub const MAX_TTL: Duration = seconds(365 * 86_400);

/// The bound of all TTLs: a century, which PostgreSQL's timestamps carry easily.
pub const TTL_BOUND: Duration = seconds(100 * 365 * 86_400);

/// How long an expired claim is kept: an hour for whoever looks into a duplicate.
pub const GRACE: Duration = seconds(3_600);

/// Records of one partition's queue: many batches, since a pause discards what librdkafka had fetched ahead.
pub const QUEUE_RECORDS: usize = 10_000;

/// Bytes of one partition's queue.
pub const QUEUE_BYTES: usize = 8 << 20;

/// How long a revoked partition's batch may take, well inside Kafka's rebalance timeout.
pub const DRAIN_TIMEOUT: Duration = seconds(10);

/// The longest of a duration that somebody waits for.
pub const WAIT_BOUND: Duration = seconds(86_400);

/// The longest linger of a batch: beyond it a record's delay looks like a fault.
pub const MAX_WAIT_BOUND: Duration = seconds(60);

/// The most records of a batch: its ids travel in one statement.
pub const BATCH_RECORDS_BOUND: usize = 10_000;

/// The most bytes of a batch or queue.
pub const BYTES_BOUND: usize = 1 << 30;

/// The least memory that a guest's runtime starts in.
pub const MEMORY_LEAST: usize = 1 << 20;

/// The most memory a 32-bit guest can address.
pub const MEMORY_MOST: usize = 4 << 30;

/// The most table elements of a guest: eight tables of 20,000, as the pool of instances holds them.
pub const TABLE_ELEMENTS_MOST: usize = 160_000;

/// The most core instances of a guest, as the pool of instances holds them.
pub const INSTANCES_MOST: usize = 64;

/// The most random bytes of a record; one call may ask for them all.
pub const RANDOM_BOUND: usize = 16 << 20;

/// The shortest time limit of a guest: the engine's clock does not tick finer.
pub const TIME_LEAST: Duration = Duration::from_millis(10);

/// The longest time limit of a guest.
pub const TIME_MOST: Duration = seconds(3_600);

/// The most records that the brake looks at.
pub const BRAKE_WINDOW_BOUND: usize = 100_000;

/// The longest consumer name, in bytes: it is part of every key of the inbox.
pub const CONSUMER_NAME_BYTES: usize = 128;

/// The longest topic name that Kafka takes.
pub const TOPIC_NAME_BYTES: usize = 249;

/// The longest group name, in bytes.
pub const GROUP_NAME_BYTES: usize = 255;

/// Where guests' statements look for names without a schema.
pub const SEARCH_PATH: &str = "public";

/// The most bytes of a role's name: PostgreSQL cuts longer ones.
pub const ROLE_NAME_BYTES: usize = 63;

/// Where there are tenants: the longest wait between two tries, and how long a record is tried.
pub const TENANTS_RETRY_MAX: Duration = Duration::from_secs(5);
/// See [`TENANTS_RETRY_MAX`].
pub const TENANTS_RETRY_ELAPSED: Duration = Duration::from_secs(10);

/// The most tenants that one file may define for a consumer.
pub const TENANTS_BOUND: usize = 10_000;
