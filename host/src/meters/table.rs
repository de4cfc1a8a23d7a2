//! Every metric: its name, kind, labels and meaning. `# HELP` lines are made of this, and `docs/metrics.md` is
//! checked against it.

/// What a metric is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Only rises, from 0 at the start of the process.
    Counter,
    /// What is true at the time of the scrape.
    Gauge,
    /// Observations, counted by these upper bounds.
    Histogram(&'static [f64]),
}

impl Kind {
    /// Prometheus's word.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram(_) => "histogram",
        }
    }
}

/// One metric.
#[derive(Debug)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
    /// Its labels. Never a key, an offset or an event id.
    pub labels: &'static [&'static str],
    /// What it means.
    pub help: &'static str,
    /// When it is exposed; empty: as long as the host consumes.
    pub when: &'static str,
}

/// From half a millisecond to half a minute.
const SECONDS: Kind = Kind::Histogram(&[
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
]);
/// Guests compute for microseconds.
const SHORT: Kind = Kind::Histogram(&[
    0.00001, 0.0001, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 10.0,
]);
const RECORDS_OF_A_BATCH: Kind = Kind::Histogram(&[
    1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1000.0, 2500.0, 10000.0,
]);
const SHARES: Kind = Kind::Histogram(&[
    0.0001, 0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 2.0,
]);
/// From a page to the most that a 32-bit guest can address.
const BYTES: Kind = Kind::Histogram(&[
    65536.0,
    1048576.0,
    2097152.0,
    4194304.0,
    8388608.0,
    16777216.0,
    33554432.0,
    67108864.0,
    268435456.0,
    4294967296.0,
]);

macro_rules! metrics {
    ($($id:ident: $kind:expr, $name:literal, [$($label:literal),*], $help:literal, $when:literal;)*) => {
        $(
            #[doc = $help]
            pub static $id: Metric =
                Metric { name: $name, kind: $kind, labels: &[$($label),*], help: $help, when: $when };
        )*
        /// All of them, in the order of the documentation.
        pub static TABLE: &[&Metric] = &[$(&$id),*];
    };
}

metrics! {
    RECORDS: Kind::Counter, "tidegate_records_total", ["consumer", "topic", "outcome"],
        "Records committed, by outcome (done, skipped, rejected); duplicates are counted apart", "";
    DUPLICATES: Kind::Counter, "tidegate_duplicates_total", ["consumer", "topic", "kind"],
        "Duplicates committed without an effect, by kind (redelivered, republished, replayed)", "";
    DUPLICATE_AGE: SHARES, "tidegate_duplicate_age_ratio", ["consumer"],
        "Age of the claim that a duplicate met, as a share of its TTL", "";
    TAKEN_OVER: Kind::Counter, "tidegate_taken_over_total", ["consumer", "topic"],
        "Expired claims taken over: their events were handled again", "";
    DEAD_LETTERS: Kind::Counter, "tidegate_dead_letters_total", ["consumer", "topic", "kind", "code"],
        "Dead letters written, by kind and code; beyond 64 codes of handlers a consumer the code is other",
        "once a letter has been written";
    TENANT_RECORDS: Kind::Counter, "tidegate_tenant_records_total", ["consumer", "tenant", "outcome"],
        "Records committed, by tenant and outcome (done, skipped, rejected, duplicate); beyond 200 tenants a consumer the tenant is other",
        "once a tenant's record has been committed";
    TENANT_CPU: Kind::Counter, "tidegate_tenant_guest_cpu_microseconds_total", ["consumer", "tenant"],
        "CPU time of a tenant's guests, bounded in number as the records",
        "once a tenant's guest has ended";
    TENANTS: Kind::Gauge, "tidegate_tenants", ["consumer", "state"],
        "Tenants by state (running, disabled, braked, unavailable)",
        "for a consumer with tenants";
    REPLAYS: Kind::Counter, "tidegate_replays_total", ["consumer", "result"],
        "Dead letters replayed, by result", "once one has been replayed";
    RETRIES: Kind::Counter, "tidegate_retries_total", ["consumer", "verdict"],
        "Attempts that broke and were rolled back, by the verdict on them", "";
    LIMITS: Kind::Counter, "tidegate_guest_limits_total", ["consumer", "limit"],
        "Limits that guests ran into, by code, also where a retry got through; for log-lines-limit and log-bytes-limit the lines dropped",
        "";
    BATCH_RECORDS: RECORDS_OF_A_BATCH, "tidegate_batch_records", ["consumer"],
        "Records of a committed batch", "";
    BATCH_SECONDS: SECONDS, "tidegate_batch_duration_seconds", ["consumer"],
        "From asking for a connection to the answer to COMMIT, of a committed batch", "";
    PHASE_SECONDS: SECONDS, "tidegate_phase_seconds", ["consumer", "phase"],
        "Time of a committed batch in a phase: queue (its first record, from poll to begin), begin (connection, fence, claim), guest, statements (what was staged, and the host's own), commit",
        "";
    GUEST_CPU: SHORT, "tidegate_guest_cpu_seconds", ["consumer"],
        "CPU time of a guest instance in its life, which is a batch or a record", "";
    GUEST_MEMORY: BYTES, "tidegate_guest_memory_bytes", ["consumer"],
        "Linear memory of a guest instance at its end", "";
    PUBLISHED: Kind::Counter, "tidegate_dead_letters_published_total", ["consumer"],
        "Dead letters published to the dead letter topic and marked so", "";
    PUBLISH_FAILURES: Kind::Counter, "tidegate_dead_letter_publish_failures_total", ["consumer", "topic"],
        "Failures of the relay, which tries again: at a dead letter topic, or without a topic at the database; beyond 200 topics a consumer the topic is other",
        "";
    PRUNED: Kind::Counter, "tidegate_pruned_claims_total", [],
        "Expired claims removed by this host, of whatever consumer", "";
    POSITION_LAG: Kind::Gauge, "tidegate_position_lag_records", ["consumer", "topic", "partition"],
        "Records of an assigned partition from N, the next to handle, to the last stable offset",
        "while the partition is assigned here and its end is known";
    COMMITTED_LAG: Kind::Gauge, "tidegate_committed_lag_records", ["consumer", "topic", "partition"],
        "The same from C, the last offset that Kafka acknowledged",
        "while the partition is assigned here, and its end and C are known";
    HELD_BACK: Kind::Gauge, "tidegate_held_back_records", ["consumer", "topic", "partition"],
        "Offsets of an assigned partition from the last stable one to the log's end, which an open transaction holds back",
        "while the partition is assigned here and fetched";
    PARTITIONS: Kind::Gauge, "tidegate_assigned_partitions", ["consumer"],
        "Partitions assigned to this host", "";
    STOPPED: Kind::Gauge, "tidegate_stopped_partitions", ["consumer"],
        "Partitions that wait under a stop verdict, or for somebody to decide where to resume", "";
    STATE: Kind::Gauge, "tidegate_consumer_state", ["consumer", "state"],
        "1 for the state that the consumer is in on this host (running, paused, braked), else 0; a brake is of the module that tripped it", "";
    OPEN_LETTERS: Kind::Gauge, "tidegate_open_dead_letters", ["consumer"],
        "Open dead letters in the database: the same on every host, so take the maximum",
        "while the database answers";
    OLDEST_OPEN: Kind::Gauge, "tidegate_oldest_open_dead_letter_seconds", ["consumer"],
        "Age of the oldest open dead letter, 0 without one; the same on every host",
        "while the database answers";
    UNPUBLISHED: Kind::Gauge, "tidegate_unpublished_dead_letters", ["consumer"],
        "Dead letters that are not on the dead letter topic yet; the same on every host",
        "while the database answers, for a consumer with a dead letter topic";
    OLDEST_UNPUBLISHED: Kind::Gauge, "tidegate_oldest_unpublished_dead_letter_seconds", ["consumer"],
        "Age of the oldest of them, 0 without one; the same on every host",
        "while the database answers, for a consumer with a dead letter topic";
    OLDEST_EXPIRED: Kind::Gauge, "tidegate_oldest_expired_claim_seconds", [],
        "How long ago the oldest claim expired that no open letter keeps, 0 without one; the same on every host",
        "while the database answers";
    HELD: Kind::Gauge, "tidegate_held_claims", ["reason"],
        "Expired claims that pruning leaves, by reason (open-letter); the same on every host",
        "while the database answers";
    DATABASE_UP: Kind::Gauge, "tidegate_database_up", [],
        "1 if the database answered when it was last asked, which is every few seconds, else 0", "";
    POOL_IN_USE: Kind::Gauge, "tidegate_pool_connections_in_use", ["pool"],
        "Database connections in use, by pool (batches, service)", "";
    POOL_WAITING: Kind::Gauge, "tidegate_pool_waiting", ["pool"],
        "Who waits for a database connection, by pool", "";
    POOL_MAX: Kind::Gauge, "tidegate_pool_connections_max", ["pool"],
        "The most database connections, by pool", "";
    MODULE_INFO: Kind::Gauge, "tidegate_module_info", ["consumer", "digest", "name"],
        "1, for the handler module that runs", "";
    LOG_LINES_LOST: Kind::Counter, "tidegate_log_lines_lost_total", [],
        "Lines of the log that were dropped: nobody read stderr, or it could not be written", "";
    READY: Kind::Gauge, "tidegate_ready", [],
        "1 if /readyz answers that this host is ready, else 0", "";
    PROBLEMS: Kind::Gauge, "tidegate_readiness_problems", ["problem"],
        "Problems that keep this host from being ready, by kind: the table of kinds", "";
    BUILD_INFO: Kind::Gauge, "tidegate_build_info", ["version"],
        "1, for the version that runs", "";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_conventions() {
        for metric in TABLE {
            let name = metric.name;
            assert!(name.starts_with("tidegate_"), "{name}");
            assert_eq!(
                name.ends_with("_total"),
                metric.kind == Kind::Counter,
                "{name}"
            );
            assert!(!metric.help.ends_with('.'), "{name}");
            let private = ["key", "offset", "event_id", "group"];
            assert!(metric.labels.iter().all(|l| !private.contains(l)), "{name}");
            let lag = name.ends_with("_lag_records") || name == "tidegate_held_back_records";
            assert_eq!(metric.labels.contains(&"partition"), lag, "{name}");
            let same = TABLE.iter().filter(|other| other.name == name);
            assert_eq!(same.count(), 1, "{name}");
        }
    }
}
