//! The workers: they drive the core over Kafka, the inbox and the engine.
//!
//! A [`supervisor`] per consumer answers the group's events with one task per partition it is given ([`tasks`]);
//! its [`owner`] walks it through the core's states. It takes its [`position`] ([`assignment`]), then turns
//! records into batches ([`partition`], [`pending`]), tries each in one transaction ([`attempt`], `claims`,
//! [`guests`], `finish`; no more of them at the same time than get on together, [`lanes`]), asks the core for a verdict when one fails ([`react`]), and has Kafka's offset follow
//! ([`offsets`]). [`relay`] publishes dead letters, [`replay`] handles them again on request, [`prune`] removes expired
//! claims and letters that are over; [`lag`] and [`survey`] ask for what only Kafka and the database know of the metrics.

pub mod alone;
pub mod assignment;
pub mod attempt;
pub mod burden;
pub mod cast;
mod claims;
pub mod conduct;
pub mod control;
mod finish;
pub mod guests;
mod intake;
pub mod lag;
pub mod lanes;
pub mod offsets;
pub mod owner;
pub mod partition;
pub mod pending;
pub mod position;
pub mod prune;
pub mod react;
pub mod relay;
pub mod repeats;
pub mod replay;
pub mod roster;
pub mod shared;
pub mod supervisor;
pub mod survey;
pub mod tasks;
pub mod tenant;
pub mod tenants;
