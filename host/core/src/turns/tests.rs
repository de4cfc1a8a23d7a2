use std::collections::{HashMap, HashSet};

use proptest::prelude::*;

use super::*;

fn party(consumer: u8, tenant: Option<u8>) -> Party {
    Party {
        consumer: format!("c{consumer}").into(),
        tenant: tenant.map(|tenant| format!("t{tenant}").into()),
    }
}

fn later(places: &mut Places, party: &Party) -> Ticket {
    match places.ask(party) {
        Asked::Later(ticket) => ticket,
        Asked::Now => panic!("a place was free"),
    }
}

#[test]
fn consumers_take_turns_then_tenants_and_each_partys_own_keep_their_order() {
    let mut places = Places::new(1);
    let holder = party(9, None);
    assert_eq!(places.ask(&holder), Asked::Now);
    let a: Vec<_> = (0..3)
        .map(|_| later(&mut places, &party(0, Some(0))))
        .collect();
    let b = later(&mut places, &party(0, Some(1)));
    let c = later(&mut places, &party(1, None));
    let mut holds = holder.consumer;
    let mut served = Vec::new();
    for consumer in [0, 1, 0, 0, 0] {
        served.extend(places.give_back(&holds));
        holds = party(consumer, None).consumer;
    }
    assert_eq!(served, [a[0], c, b, a[1], a[2]]);
    assert_eq!((places.waiting(), places.free()), (0, 0));
    assert_eq!(places.give_back(&holds), []);
    assert_eq!(places.free(), 1);
}

#[test]
fn who_withdraws_is_not_served_and_who_was_served_cannot_withdraw() {
    let mut places = Places::new(1);
    let (a, b) = (party(0, None), party(1, None));
    assert_eq!(places.ask(&a), Asked::Now);
    let (first, second) = (later(&mut places, &b), later(&mut places, &b));
    assert!(places.withdraw(first));
    assert!(!places.withdraw(first));
    assert_eq!(places.give_back(&a.consumer), [second]);
    assert!(!places.withdraw(second));
    assert_eq!(places.waiting(), 0);
    assert!(places.waiting.is_empty() && places.parties.is_empty());
}

#[test]
fn a_place_is_kept_for_each_consumer_that_holds_none_up_to_half_of_them() {
    let mut places = Places::keeping(4);
    let (x, y) = (party(0, None), party(1, None));
    assert_eq!(places.ask(&y), Asked::Now);
    assert_eq!(places.give_back(&y.consumer), []);
    for _ in 0..3 {
        assert_eq!(places.ask(&x), Asked::Now);
    }
    let waits = later(&mut places, &x);
    assert_eq!(places.ask(&y), Asked::Now, "kept for it");
    // Its second one is not kept, and the other's were first to ask.
    let second = later(&mut places, &y);
    assert_eq!(places.give_back(&x.consumer), [waits]);
    assert_eq!(places.give_back(&x.consumer), [second]);
    // Many that have ever asked keep half.
    let mut places = Places::keeping(4);
    for consumer in 0..9 {
        assert_eq!(places.ask(&party(consumer, None)), Asked::Now);
        places.give_back(&party(consumer, None).consumer);
    }
    assert_eq!(places.ask(&x), Asked::Now);
    assert_eq!(places.ask(&x), Asked::Now);
    later(&mut places, &x);
    // A lone consumer has them all.
    let mut places = Places::keeping(4);
    for _ in 0..4 {
        assert_eq!(places.ask(&x), Asked::Now);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Ask(u8, Option<u8>),
    GiveBack(usize),
    Withdraw(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0u8..4, prop::option::of(0u8..3)).prop_map(|(c, t)| Step::Ask(c, t)),
        4 => any::<usize>().prop_map(Step::GiveBack),
        1 => any::<usize>().prop_map(Step::Withdraw),
    ]
}

/// What the test knows of who holds and who waits.
#[derive(Default)]
struct Model {
    holding: Vec<Arc<str>>,
    waiting: Vec<(Ticket, Party)>,
}

impl Model {
    fn served(&mut self, tickets: Vec<Ticket>) {
        for ticket in tickets {
            let at = self.waiting.iter().position(|(known, _)| *known == ticket);
            let (_, party) = self.waiting.remove(at.unwrap());
            self.holding.push(party.consumer);
        }
    }
}

proptest! {
    /// Whatever is asked, given back and withdrawn: no more hold than there are places, no place is free that somebody
    /// waiting may take, and nothing is remembered of who is gone.
    #[test]
    fn places_are_neither_lost_nor_doubled(
        size in 1usize..5, keeps in any::<bool>(), steps in prop::collection::vec(step(), 0..200),
    ) {
        let mut places = if keeps { Places::keeping(size) } else { Places::new(size) };
        let mut model = Model::default();
        for step in steps {
            match step {
                Step::Ask(consumer, tenant) => {
                    let party = party(consumer, tenant);
                    match places.ask(&party) {
                        Asked::Now => model.holding.push(party.consumer),
                        Asked::Later(ticket) => model.waiting.push((ticket, party)),
                    }
                }
                Step::GiveBack(at) if !model.holding.is_empty() => {
                    let consumer = model.holding.swap_remove(at % model.holding.len());
                    let served = places.give_back(&consumer);
                    model.served(served);
                }
                Step::Withdraw(at) if !model.waiting.is_empty() => {
                    let (ticket, _) = model.waiting.swap_remove(at % model.waiting.len());
                    prop_assert!(places.withdraw(ticket));
                }
                Step::GiveBack(_) | Step::Withdraw(_) => {}
            }
            prop_assert_eq!(places.free(), size - model.holding.len());
            prop_assert_eq!(places.waiting(), model.waiting.len());
            if !keeps {
                prop_assert!(model.waiting.is_empty() || places.free() == 0);
            }
        }
        while let Some(consumer) = model.holding.pop() {
            let served = places.give_back(&consumer);
            model.served(served);
        }
        prop_assert!(model.waiting.is_empty(), "everybody is served in the end");
        prop_assert!(places.waiting.is_empty() && places.parties.is_empty());
    }

    /// Everybody asks anew as soon as they were served: within a round of consumers each that waits is served once, and
    /// within so many rounds each of its tenants.
    #[test]
    fn nobody_waits_longer_than_a_round(
        parties in prop::collection::vec((0u8..5, prop::option::of(0u8..4)), 1..40), size in 1usize..4,
    ) {
        prop_assume!(parties.len() > size);
        let mut places = Places::new(size);
        let mut known: HashMap<Ticket, Party> = HashMap::new();
        let mut holding = Vec::new();
        for _ in 0..size {
            let holder = party(9, None);
            prop_assert_eq!(places.ask(&holder), Asked::Now);
            holding.push(holder);
        }
        for (consumer, tenant) in &parties {
            let party = party(*consumer, *tenant);
            known.insert(later(&mut places, &party), party);
        }
        let consumers: HashSet<_> = known.values().map(|p| p.consumer.clone()).collect();
        let tenants: HashMap<_, HashSet<_>> = known.values().fold(HashMap::new(), |mut all, p| {
            all.entry(p.consumer.clone()).or_insert_with(HashSet::new).insert(p.tenant.clone());
            all
        });
        // The first holders leave; from then on everybody asks again.
        let mut order: Vec<Party> = Vec::new();
        for turn in 0..parties.len() * 20 {
            let gone = holding.remove(0);
            let again = turn >= size;
            let served = places.give_back(&gone.consumer);
            if again {
                known.insert(later(&mut places, &gone), gone);
            }
            for ticket in served {
                let party = known.remove(&ticket).unwrap();
                order.push(party.clone());
                holding.push(party);
            }
        }
        // The last `size` turns of a consumer may be held at the same time: it is not waiting with those.
        let round = consumers.len() + size;
        for window in order.windows(round) {
            let seen: HashSet<_> = window.iter().map(|p| &p.consumer).collect();
            prop_assert_eq!(seen.len(), consumers.len());
        }
        for (consumer, tenants) in tenants {
            let own: Vec<_> = order.iter().filter(|p| p.consumer == consumer).collect();
            for window in own.windows(tenants.len() + size) {
                let seen: HashSet<_> = window.iter().map(|p| &p.tenant).collect();
                prop_assert_eq!(seen.len(), tenants.len());
            }
        }
    }
}
