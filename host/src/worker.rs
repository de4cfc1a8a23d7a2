//! The workers: they drive the core over Kafka, the inbox and the engine.
//!
//! A [`supervisor`] per consumer answers the group's events with one [`partition`] task per partition it is
//! given; its [`owner`] walks it through the core's states. It takes its position ([`assignment`]), then turns
//! records into batches ([`pending`]), tries each in one transaction ([`attempt`], [`guests`]), asks the core
//! for a verdict when one fails ([`react`]), and has Kafka's offset follow ([`offsets`]). [`relay`] publishes
//! dead letters, [`prune`] removes expired claims.

pub mod assignment;
pub mod attempt;
pub mod guests;
pub mod offsets;
pub mod owner;
pub mod partition;
pub mod pending;
pub mod prune;
pub mod react;
pub mod relay;
pub mod repeats;
pub mod shared;
pub mod supervisor;
pub mod tasks;
