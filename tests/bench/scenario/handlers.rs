//! Other kinds of handlers and other sizes of values: reported, with nothing to reach.

use super::{Contender, HOST, Scenario, sized};
use crate::load::Load;
use crate::load::work::Work;
use crate::peer::Peer;

/// Upserts, and a read that is awaited before the write.
pub(super) fn scenarios(records: usize) -> Vec<Scenario> {
    let upserts = Load::payments(sized(records)).work(Work::Upsert);
    let reads = Load::payments(sized(records / 3)).work(Work::ReadThenWrite);
    vec![
        beside_native(
            "upserts",
            "one partition, an insert-or-update a record, beside the same batches in native Rust",
            upserts,
        ),
        beside_native(
            "query-and-write",
            "one partition, an awaited read and a write a record, beside the same batches in native Rust",
            reads,
        ),
    ]
}

fn beside_native(name: &'static str, about: &'static str, load: Load) -> Scenario {
    Scenario::pair(
        (name, about),
        Contender::rate("host", HOST, load),
        Contender::rate("native, the same batches", Peer::NativeBatch, load),
        None,
    )
}
