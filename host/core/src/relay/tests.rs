//! What one destination does is nothing to another.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn topics(starts: &[Start]) -> Vec<&str> {
    starts.iter().map(|start| start.topic.as_str()).collect()
}

#[test]
fn a_topic_that_refuses_is_asked_with_one_letter_at_growing_intervals_and_others_go_on() {
    let mut all = Destinations::default();
    let mut now = Duration::ZERO;
    let mut asked = Vec::new();
    for _ in 0..300 {
        for start in all.begin(["bad", "good"].into_iter(), now) {
            let ended = match start.topic.as_str() {
                "bad" => Ended::Refused(Mends::Somebody),
                _ => Ended::Took { more: true },
            };
            if start.topic == "bad" {
                asked.push((now.as_secs(), start.most));
            } else {
                assert_eq!(start.most, RUN);
            }
            all.ended(&start.topic, ended, now, 1.0);
        }
        assert_eq!(all.0["good"].due, now, "never held back");
        now += SECOND;
    }
    assert_eq!(asked[0], (0, RUN));
    let times: Vec<_> = asked.iter().map(|(at, _)| *at).collect();
    assert_eq!(times, [0, 2, 6, 14, 30, 62, 122, 182, 242]);
    assert!(asked[1..].iter().all(|(_, most)| *most == 1));
}

#[test]
fn what_time_mends_is_asked_sooner_and_a_topic_that_takes_one_is_as_any_other() {
    let mut all = Destinations::default();
    for _ in 0..20 {
        all.begin(["t"].into_iter(), Duration::MAX);
        all.ended("t", Ended::Refused(Mends::Time), Duration::ZERO, 1.0);
    }
    assert_eq!(all.0["t"].due, Duration::from_secs(15));
    assert!(all.begin(["t"].into_iter(), SECOND).is_empty());
    let start = all.begin(["t"].into_iter(), Duration::from_secs(15));
    assert_eq!(start[0].most, 1);
    all.ended("t", Ended::Took { more: false }, SECOND * 15, 1.0);
    assert!(all.begin(["t"].into_iter(), SECOND * 15).is_empty());
    all.ring();
    assert_eq!(all.begin(["t"].into_iter(), SECOND * 15)[0].most, RUN);
    // A letter that comes while it runs is not left for later.
    all.ring();
    all.ended("t", Ended::Took { more: false }, SECOND * 15, 1.0);
    assert_eq!(all.begin(["t"].into_iter(), SECOND * 15).len(), 1);
}

#[test]
fn topics_that_no_letter_waits_for_are_forgotten() {
    let mut all = Destinations::default();
    all.begin(["a", "b"].into_iter(), SECOND);
    all.round_over();
    all.ended("a", Ended::Refused(Mends::Somebody), SECOND, 0.0);
    all.round_over();
    let known: Vec<_> = all.0.keys().collect();
    assert_eq!(known, ["b"], "it runs still");
}

proptest! {
    /// Whatever the others do, each topic that takes letters has its run within so many rounds.
    #[test]
    fn no_topic_waits_for_another(
        refusing in proptest::collection::btree_set(0_usize..40, 0..30),
        slow in 1_u32..20,
        random in 0.0..1.0_f64,
    ) {
        let names: Vec<String> = (0..40).map(|n| format!("t{n:02}")).collect();
        let mut all = Destinations::default();
        let mut now = Duration::ZERO;
        // Topics that refuse answer late.
        let mut under_way: BTreeMap<String, u32> = BTreeMap::new();
        let mut ran: BTreeMap<String, u32> = BTreeMap::new();
        for _ in 0..200 {
            let over: Vec<String> = under_way.iter().filter(|(_, left)| **left == 0).map(|(t, _)| t.clone()).collect();
            for topic in over {
                under_way.remove(&topic);
                all.ended(&topic, Ended::Refused(Mends::Somebody), now, random);
            }
            under_way.values_mut().for_each(|left| *left -= 1);
            let starts = all.begin(names.iter().map(String::as_str), now);
            let distinct: BTreeSet<_> = topics(&starts).into_iter().collect();
            prop_assert_eq!(distinct.len(), starts.len());
            for start in starts {
                prop_assert!(!under_way.contains_key(&start.topic), "one run a topic");
                let number: usize = start.topic[1..].parse().unwrap();
                if refusing.contains(&number) {
                    under_way.insert(start.topic, slow);
                } else {
                    *ran.entry(start.topic.clone()).or_default() += 1;
                    all.ended(&start.topic, Ended::Took { more: true }, now, random);
                }
            }
            prop_assert!(under_way.len() <= TAKING + REFUSING);
            now += SECOND;
        }
        for (number, name) in names.iter().enumerate().filter(|(n, _)| !refusing.contains(n)) {
            let runs = ran.get(name).copied().unwrap_or_default();
            // Until they are known to refuse, others may take the room once each.
            prop_assert!(runs >= 5, "{} ran {} times", number, runs);
        }
    }

    #[test]
    fn a_destination_is_left_alone_within_bounds(refusals in 1_u32..200, random: f64, time: bool) {
        let mends = if time { Mends::Time } else { Mends::Somebody };
        let mut all = Destinations::default();
        for _ in 0..refusals {
            all.begin(["t"].into_iter(), Duration::MAX);
            all.ended("t", Ended::Refused(mends), SECOND, random);
        }
        let rest = all.0["t"].due - SECOND;
        let most = if time { BRIEF.max } else { SLOW.max };
        prop_assert!(rest >= SECOND && rest <= most, "{:?}", rest);
    }
}
