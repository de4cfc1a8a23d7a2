//! The host where something is against it: slow flushes, a network, shared rows, bad records, a full inbox, pruning, a
//! role.

use std::time::Duration;

use super::{Comparison, Contender, HOST, Scenario, at_least, sized};
use crate::load::Load;
use crate::peer::Peer;
use crate::peer::beside::Beside;
use crate::peer::host::Setting;
use crate::site::{Seed, ServerKind, Site};

/// The round trip to a database in another availability zone.
const NETWORK: Duration = Duration::from_micros(700);

pub(super) fn scenarios(records: usize) -> Vec<Scenario> {
    vec![
        slow_flush(records),
        network(records),
        contended(records),
        poison(records),
        hostile(records),
        full_inbox(records),
        pruning(records),
        role(records),
        refused(records),
    ]
}

fn slow_flush(records: usize) -> Scenario {
    let load = Load::payments(sized(records));
    let site = Site {
        server: ServerKind::SlowFlush,
        ..Site::PLAIN
    };
    let native = Peer::NativeRecord {
        records: sized(records / 40),
    };
    Scenario::pair(
        (
            "slow-flush",
            "a millisecond more for each flush, beside native Rust, one transaction a record",
        ),
        Contender::rate("host", HOST, load).on(site),
        Contender::rate("native, a transaction a record", native, load).on(site),
        at_least(25.0, 35.0),
    )
}

fn network(records: usize) -> Scenario {
    let load = Load::payments(sized(records));
    let site = Site {
        round_trip: Some(NETWORK),
        ..Site::PLAIN
    };
    Scenario::pair(
        (
            "network",
            "0.7 ms of round trip to the database, beside none",
        ),
        Contender::rate("host, 0.7 ms away", HOST, load).on(site),
        Contender::rate("host, loopback", HOST, load),
        at_least(0.5, 0.6),
    )
}

fn contended(records: usize) -> Scenario {
    let load = Load::payments(sized(records)).partitions(8);
    let load = load.shared_accounts();
    let native = Peer::NativeRecord {
        records: sized(records / 4),
    };
    Scenario::pair(
        (
            "contended",
            "eight partitions on the same accounts, beside native Rust, one transaction a record",
        ),
        Contender::rate("host", HOST, load),
        Contender::rate("native, a transaction a record", native, load),
        at_least(2.0, 3.0),
    )
}

fn poison(records: usize) -> Scenario {
    let load = Load::payments(sized(records));
    Scenario::pair(
        ("poison", "one record in a hundred is rejected, beside none"),
        Contender::rate("host, 1% rejected", HOST, load.poison(1)),
        Contender::rate("host, none", HOST, load),
        at_least(0.7, 0.8),
    )
}

fn hostile(records: usize) -> Scenario {
    let load = Load::payments(sized(records));
    let beside = Peer::Host(Setting {
        hostile: true,
        ..Setting::DEFAULT
    });
    Scenario::pair(
        (
            "hostile",
            "one partition while another consumer's guest burns a core, beside the same alone",
        ),
        Contender::rate("host, beside a burning guest", beside, load),
        Contender::rate("host, alone", HOST, load),
        at_least(0.7, 0.8),
    )
}

fn full_inbox(records: usize) -> Scenario {
    let load = Load::payments(sized(records));
    let site = Site {
        seed: Seed::Live(records * 100),
        ..Site::PLAIN
    };
    Scenario::pair(
        (
            "full-inbox",
            "ten million events remembered (100 times --records), beside none",
        ),
        Contender::rate("host, full inbox", HOST, load).on(site),
        Contender::rate("host, empty inbox", HOST, load),
        at_least(0.8, 0.9),
    )
}

fn role(records: usize) -> Scenario {
    let load = Load::payments(sized(records));
    let role = Peer::Host(Setting {
        role: true,
        ..Setting::DEFAULT
    });
    Scenario::pair(
        (
            "role",
            "guests under a role of their own, beside the login's",
        ),
        Contender::rate("host, a role", role, load),
        Contender::rate("host, none", HOST, load),
        at_least(0.95, 0.98),
    )
}

fn refused(records: usize) -> Scenario {
    // About half a minute each.
    let load = Load::payments(sized(records * 12));
    let beside = |label, beside| {
        let setting = Setting {
            beside,
            ..Setting::DEFAULT
        };
        Contender::rate(label, Peer::Host(setting), load)
    };
    let contenders = vec![
        beside("host, alone", Beside::Nobody),
        beside("host, beside another group's", Beside::OtherGroup),
        beside("host, beside an older one", Beside::OlderHost),
        beside("host, beside a newer one", Beside::NewerHost),
    ];
    let comparisons = (1..contenders.len()).map(|of| Comparison {
        of,
        to: Some(0),
        goal: at_least(0.95, 0.98),
    });
    Scenario {
        name: "refused",
        about: "a host that is refused, started over and over, beside the right one",
        comparisons: comparisons.collect(),
        contenders,
    }
}

fn pruning(records: usize) -> Scenario {
    // Long enough for most of it to lie after the first second, when pruning begins.
    let load = Load::payments(sized(records * 2));
    let site = Site {
        seed: Seed::Expired(records * 10),
        ..Site::PLAIN
    };
    let pruning = |interval| {
        Peer::Host(Setting {
            prune_interval: interval,
            ..Setting::DEFAULT
        })
    };
    Scenario::pair(
        (
            "pruning",
            "a million expired events being pruned (10 times --records), beside the same left alone",
        ),
        Contender::rate("host, pruning", pruning("1s"), load).on(site),
        Contender::rate("host, not pruning", pruning("1h"), load).on(site),
        at_least(0.95, 0.98),
    )
}
