//! The check of the books: it finds what is lost, doubled, out of order or not to be there, and says what.

use std::collections::HashSet;

use tidegate_tests::{Payment, difference};

/// Payments of two accounts in turn: 10, 11, 12 and so on.
fn sent(n: i64) -> Vec<Payment> {
    let payment = |i| Payment {
        event_id: format!("e{i}"),
        account_id: i % 2,
        amount_minor: 10 + i,
    };
    (0..n).map(payment).collect()
}

fn journal(sent: &[Payment]) -> Vec<(i64, i64)> {
    let pair = |p: &Payment| (p.account_id, p.amount_minor);
    sent.iter().map(pair).collect()
}

fn none() -> HashSet<String> {
    HashSet::new()
}

/// Accounts credited, and what with.
type Journal = Vec<(i64, i64)>;

#[test]
fn once_each_in_the_order_of_their_account_is_exact() {
    let sent = sent(6);
    let mut journal = journal(&sent);
    assert_eq!(difference(&sent, &none(), &journal), None);
    // Accounts do not wait for one another.
    journal.swap(0, 1);
    assert_eq!(difference(&sent, &none(), &journal), None);
    let twice = [sent.clone(), sent].concat();
    assert_eq!(
        difference(&twice, &none(), &journal),
        None,
        "one event once"
    );
}

#[test]
fn what_is_lost_doubled_or_out_of_order_is_named() {
    let sent = sent(6);
    let exact = journal(&sent);
    let wrong = |change: &dyn Fn(&mut Journal)| {
        let mut journal = exact.clone();
        change(&mut journal);
        difference(&sent, &none(), &journal).unwrap()
    };
    assert_eq!(
        wrong(&|j| {
            j.remove(2);
        }),
        "account 0, credit 2 (3 wanted, 2 found): wanted 12 of e2, found 14, as of e4"
    );
    assert_eq!(
        wrong(&|j| j.push((1, 13))),
        "account 1, credit 4 (3 wanted, 4 found): wanted nothing more, found 13, as of e3"
    );
    assert_eq!(
        wrong(&|j| j.swap(0, 2)),
        "account 0, credit 1 (3 wanted, 3 found): wanted 10 of e0, found 12, as of e2"
    );
    assert!(wrong(&|j| j.push((7, 1))).starts_with("account 7, credit 1 (0 wanted, 1 found)"));
}

#[test]
fn a_dead_letter_has_no_effect() {
    let sent = sent(6);
    let letters = HashSet::from(["e3".to_owned()]);
    let mut journal = journal(&sent);
    let difference_now = difference(&sent, &letters, &journal).unwrap();
    assert!(
        difference_now.contains("found 13, as of e3"),
        "{difference_now}"
    );
    journal.remove(3);
    assert_eq!(difference(&sent, &letters, &journal), None);
}
