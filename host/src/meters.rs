//! What is measured. [`TABLE`] names every metric.
//!
//! Counters and histograms live as long as the process, in one [`Registry`]; a consumer's handles on them are made
//! once ([`Meters`]), so that a batch only adds. Gauges are made anew at each scrape, of what is true then
//! ([`Snapshot`]): what is gone, such as a partition that another host has now, leaves nothing behind.

mod codes;
mod consumer;
mod places;
mod registry;
mod snapshot;
mod table;
mod tally;

pub use consumer::Meters;
pub use places::{Place, Stay};
pub use registry::Registry;
pub use snapshot::Snapshot;
pub use table::{Kind, Metric, TABLE};
pub use tally::{Tally, TenantCounts, Times};

/// The metrics themselves, by name in code.
pub mod names {
    pub use super::table::*;
}
