use proptest::prelude::*;

use super::*;

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap();
    [&[tag][..], &length.to_be_bytes(), body].concat()
}

fn ready() -> Vec<u8> {
    message(b'Z', b"T")
}

fn done(rows: u64) -> Vec<u8> {
    let tag = format!("UPDATE {rows}\0");
    [message(b'2', b""), message(b'C', tag.as_bytes())].concat()
}

fn refusal(severity: &str) -> Vec<u8> {
    message(b'E', format!("V{severity}\0C23505\0Mno\0\0").as_bytes())
}

fn refused(fatal: bool) -> Answer {
    Answer::Refused(Refused {
        fatal,
        sqlstate: "23505".into(),
        message: "no".into(),
        constraint: None,
        named: Box::default(),
    })
}

#[test]
fn each_gets_what_it_asked_for() {
    let mut inbound = Inbound::default();
    inbound.asked(Asked::Driver);
    inbound.asked(Asked::Staged(2));
    inbound.asked(Asked::Driver);
    let notice = message(b'N', b"SNOTICE\0\0");
    let first = [message(b'1', b""), ready()].concat();
    let last = [message(b'D', b"row"), message(b'C', b"SELECT 1\0"), ready()].concat();
    let row = message(b'D', &[0; 3000]);
    let flight = [done(3), notice.clone(), row, done(0), ready()].concat();
    inbound
        .feed(&[&first[..], &flight, &last].concat())
        .unwrap();
    assert_eq!(inbound.driver, [&first[..], &notice, &last].concat());
    assert_eq!(inbound.answers, [Answer::Rows(3), Answer::Rows(0)]);
    assert!(inbound.asked.is_empty());
}

#[test]
fn what_follows_a_refused_statement_is_skipped_to_the_sync() {
    let mut inbound = Inbound::default();
    inbound.asked(Asked::Staged(4));
    inbound.asked(Asked::Staged(1));
    let first = [done(1), refusal("ERROR"), ready()].concat();
    inbound
        .feed(&[&first[..], &done(9), &ready()].concat())
        .unwrap();
    let skipped = [Answer::Skipped, Answer::Skipped];
    let mut expected = vec![Answer::Rows(1), refused(false)];
    expected.extend(skipped);
    expected.push(Answer::Rows(9));
    assert_eq!(inbound.answers, expected);
}

#[test]
fn the_servers_end_is_told_to_whoever_waits() {
    let mut inbound = Inbound::default();
    inbound.feed(&refusal("FATAL")).unwrap();
    assert!(!inbound.driver.is_empty() && inbound.answers.is_empty());
    inbound.asked(Asked::Staged(1));
    inbound.feed(&[done(1), refusal("FATAL")].concat()).unwrap();
    assert_eq!(inbound.answers, [Answer::Rows(1), refused(true)]);
}

#[test]
fn nonsense_is_an_error() {
    for nonsense in [
        message(b'G', b""),
        [done(1), done(1)].concat(),
        vec![b'C', 0, 0, 0, 3],
    ] {
        let mut inbound = Inbound::default();
        inbound.asked(Asked::Staged(1));
        assert!(inbound.feed(&nonsense).is_err(), "{nonsense:?}");
    }
}

#[test]
fn what_the_server_says_was_done_is_told() {
    let mut inbound = Inbound::default();
    let said = |text: &str| message(b'C', format!("{text}\0").as_bytes());
    let words = ["INSERT 0 7", "MERGE 2", "SELECT 3", "SET", "SELECTED", ""];
    let flight: Vec<u8> = words.iter().flat_map(|word| said(word)).collect();
    inbound.asked(Asked::Staged(words.len()));
    inbound.feed(&[&flight[..], &ready()].concat()).unwrap();
    let command = |word: &str| Answer::Command(word.into());
    let rows = [7, 2, 3].map(Answer::Rows);
    let others = ["SET", "SELECTED", ""].map(command);
    assert_eq!(inbound.answers, [&rows[..], &others].concat());
    inbound.asked(Asked::Driver);
    let answer = [said("ROLLBACK"), ready()].concat();
    for byte in &answer {
        inbound.feed(&[*byte]).unwrap();
    }
    assert_eq!(inbound.driver, answer);
    assert_eq!(inbound.commanded, Some(command("ROLLBACK")));
}

#[test]
fn a_copy_ends_the_connection_whoever_asked() {
    for (tag, who) in [
        (b'G', Asked::Driver),
        (b'H', Asked::Staged(1)),
        (b'W', Asked::Driver),
    ] {
        let mut inbound = Inbound::default();
        inbound.asked(who);
        assert!(inbound.feed(&message(tag, &[0; 3])).is_err());
        assert!(inbound.copies);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Driver(Vec<u8>),
    Flight(Vec<bool>),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40).prop_map(Step::Driver),
        prop::collection::vec(prop::bool::weighted(0.9), 1..6).prop_map(Step::Flight),
    ]
}

/// What the server sends for a step, what the driver is to see of it, and the answers.
fn answered(step: &Step) -> (Vec<u8>, Vec<u8>, Vec<Answer>) {
    match step {
        Step::Driver(body) => {
            let bytes = [message(b'D', body), ready()].concat();
            (bytes.clone(), bytes, Vec::new())
        }
        Step::Flight(goods) => {
            let good = goods.iter().take_while(|good| **good).count();
            let mut bytes: Vec<u8> = (0..good).flat_map(|_| done(1)).collect();
            let mut answers = vec![Answer::Rows(1); good];
            if good < goods.len() {
                bytes.extend(refusal("ERROR"));
                answers.push(refused(false));
            }
            answers.resize(goods.len(), Answer::Skipped);
            bytes.extend(ready());
            (bytes, Vec::new(), answers)
        }
    }
}

proptest! {
    #[test]
    fn every_byte_and_answer_arrives_however_it_is_cut(
        steps in prop::collection::vec(step(), 0..12), cut in 1usize..50,
    ) {
        let (mut inbound, mut bytes) = (Inbound::default(), Vec::new());
        let (mut driver, mut answers) = (Vec::new(), Vec::new());
        for step in &steps {
            inbound.asked(match step {
                Step::Driver(_) => Asked::Driver,
                Step::Flight(goods) => Asked::Staged(goods.len()),
            });
            let (sent, seen, answered) = answered(step);
            bytes.extend(sent);
            driver.extend(seen);
            answers.extend(answered);
        }
        for piece in bytes.chunks(cut) {
            inbound.feed(piece).unwrap();
        }
        prop_assert_eq!(&inbound.driver[..], &driver[..]);
        prop_assert_eq!(inbound.answers.iter().cloned().collect::<Vec<_>>(), answers);
        prop_assert!(inbound.asked.is_empty());
    }
}
