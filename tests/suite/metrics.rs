//! Metrics: the counters are the ledger's to the last one, and every metric is documented.

mod exact;
mod fleet;
mod lag;
mod state;
mod table;
