//! The workers: they drive the core over Kafka, the inbox and the engine.
//!
//! A [`supervisor`] per consumer answers the group's events with one task per partition it is given ([`tasks`]);
//! its [`owner`] walks it through the core's states. It takes its [`position`] ([`assignment`]; of a new consumer that begins at its topics' ends, before anything else: [`registration`]), then turns
//! records into batches ([`partition`], [`pending`]), tries each in one transaction ([`attempt`], `claims`,
//! [`guests`], `finish`; no more of them at the same time than get on together, [`lanes`]), asks the core for a verdict when one fails ([`react`], `witness`), and has Kafka's offset follow
//! ([`offsets`]). [`relay`] publishes dead letters, [`replay`] handles them again on request, [`prune`] removes expired
//! claims and letters that are over; [`lag`] and [`survey`] ask for what only Kafka and the database know of the metrics;
//! [`readiness`] tells what keeps partitions from going on, [`stops`] writes down which of them are stopped.

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
mod look;
pub mod offsets;
pub mod owner;
pub mod partition;
pub mod pending;
pub mod position;
pub mod prune;
pub mod react;
pub mod readiness;
pub mod registration;
pub mod relay;
pub mod repeats;
pub mod replay;
pub mod roster;
pub mod shared;
mod standing;
pub mod stops;
pub mod supervisor;
pub mod survey;
pub mod tasks;
pub mod tenant;
pub mod tenants;
mod witness;
