//! Tidegate's pure decisions.
//!
//! Nothing here waits, reads a clock, or talks to Kafka, PostgreSQL or Wasmtime: state machines take
//! what happened (and the time, where it matters) and return what to do. The adapters of the `tidegate`
//! package carry it out.
#![warn(missing_docs, clippy::wildcard_enum_match_arm)]

pub mod backoff;
pub mod batch;
pub mod brake;
pub mod budget;
pub mod claim;
pub mod cloudevents;
pub mod commit;
pub mod control;
pub mod crash;
pub mod duty;
pub mod event_id;
pub mod failure;
mod headers;
mod json;
pub mod lanes;
pub mod letter;
pub mod limits;
pub mod moment;
mod nesting;
pub mod outcome;
pub mod partition;
mod place;
pub mod progress;
pub mod readiness;
pub mod record;
pub mod relay;
pub mod replay;
pub mod resume;
pub mod retention;
pub mod share;
pub mod split;
pub mod sql;
pub mod sqlstate;
pub mod tenant;
#[cfg(test)]
mod testing;
pub mod text;
pub mod ttl;
pub mod turns;
pub mod verdict;
pub mod witness;
