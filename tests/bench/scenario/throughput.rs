//! How fast the host is beside PostgreSQL alone and beside native consumers.

use super::{Contender, HOST, Scenario, at_least, sized};
use crate::load::Load;
use crate::peer::Peer;

/// One partition, eight partitions, one transaction a record, the same batching.
pub(super) fn scenarios(records: usize) -> Vec<Scenario> {
    let one = Load::payments(sized(records));
    let eight = Load::payments(sized(records * 8 / 5)).partitions(8);
    let pgbench = |connections, records| Peer::Pgbench {
        connections,
        records: sized(records),
    };
    vec![
        Scenario::pair(
            (
                "one-partition",
                "one partition beside PostgreSQL alone, one connection",
            ),
            Contender::rate("host", HOST, one),
            Contender::rate("pgbench, 1 connection", pgbench(1, records * 8 / 5), one),
            at_least(0.75, 0.9),
        ),
        Scenario::pair(
            (
                "eight-partitions",
                "eight partitions beside PostgreSQL alone, eight connections",
            ),
            Contender::rate("host", HOST, eight),
            Contender::rate("pgbench, 8 connections", pgbench(8, records * 5 / 2), eight),
            at_least(0.7, 0.85),
        ),
        Scenario::pair(
            (
                "per-record",
                "one partition beside native Rust, one transaction a record",
            ),
            Contender::rate("host", HOST, one),
            Contender::rate(
                "native, a transaction a record",
                Peer::NativeRecord {
                    records: sized(records / 10),
                },
                one,
            ),
            at_least(6.0, 8.0),
        ),
        Scenario::pair(
            (
                "native-batch",
                "one partition beside native Rust, the same batches, no WebAssembly",
            ),
            Contender::rate("host", HOST, one),
            Contender::rate("native, the same batches", Peer::NativeBatch, one),
            at_least(0.9, 1.1),
        ),
    ]
}
