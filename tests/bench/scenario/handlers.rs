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
        value_sizes(records),
    ]
}

fn value_sizes(records: usize) -> Scenario {
    let contender = |label, records, bytes| {
        let load = Load::payments(sized(records)).value_bytes(bytes);
        Contender::rate(label, HOST, load)
    };
    Scenario::beside_the_first(
        (
            "value-sizes",
            "one partition, values of 2 kB and 50 kB, beside 200 bytes",
        ),
        vec![
            contender("host, 200 B values", records, 200),
            contender("host, 2 kB values", records, 2_000),
            contender("host, 50 kB values", records / 4, 50_000),
        ],
    )
}

fn beside_native(name: &'static str, about: &'static str, load: Load) -> Scenario {
    Scenario::pair(
        (name, about),
        Contender::rate("host", HOST, load),
        Contender::rate("native, the same batches", Peer::NativeBatch, load),
        None,
    )
}
