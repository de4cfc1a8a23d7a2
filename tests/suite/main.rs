//! The suite: every promise as a named test, one module per concern, on real servers.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a helper of a test fails by panicking, as a test does"
)]

mod brake;
mod cli;
mod cli_check;
mod compaction;
mod contention;
mod contract;
mod crash;
mod crash_loop;
mod delivery;
mod dev;
mod dlt_cli;
mod dlt_keep;
mod dlt_publish;
mod endurance;
mod engine_calls;
mod engine_fake;
mod engine_limits;
mod engine_load;
mod engine_watch;
mod faults;
mod faulty;
mod fence;
mod fuzz_corpus;
mod harness;
mod health;
mod ids;
mod inbox_claims;
mod inbox_endurance;
mod inbox_escape;
mod inbox_fence;
mod inbox_flights;
mod inbox_letters;
mod inbox_positions;
mod inbox_stage;
mod inbox_support;
mod inbox_values;
mod kill_points;
mod languages;
mod latest;
mod ledger;
mod letters;
mod links_kafka;
mod links_postgres;
mod links_secrets;
mod links_static;
mod links_whole;
mod log_gone;
mod log_shapes;
mod metrics;
mod offsets_cli;
mod offsets_live;
mod offsets_order;
mod offsets_set;
mod offsets_skip;
mod poison;
mod pool;
mod private;
mod proxy_modes;
mod prune;
mod reader;
mod readme;
mod rebalance;
mod registration;
mod replay;
mod resume;
mod rows;
mod same_log;
mod sandbox;
mod scene;
mod shutdown;
mod soak;
mod statements;
mod stop_points;
mod stops;
mod swap;
mod text;
mod ttl;
mod values;
mod wall;
mod warnings;
