//! What happened to every account, in order, and how it differs from what was to happen.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::ledger::Payment;

/// Writes down every change of an account, in the order in which it happens.
pub(crate) const JOURNAL: &str = "
CREATE TABLE journal (n bigserial PRIMARY KEY, account_id bigint NOT NULL, amount bigint NOT NULL);
CREATE FUNCTION journal() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO journal (account_id, amount) VALUES (NEW.id, NEW.balance - OLD.balance);
    RETURN NULL;
END $$;
CREATE TRIGGER journal AFTER UPDATE ON accounts FOR EACH ROW EXECUTE FUNCTION journal();";

/// The first difference between the payments that were sent and what a journal says was credited, account and amount
/// in order: an account's credits are those of its events, each once, without the dead letters, in the order sent.
pub fn difference(
    sent: &[Payment],
    letters: &HashSet<String>,
    journal: &[(i64, i64)],
) -> Option<String> {
    let (mut wanted, mut seen) = (BTreeMap::<i64, Vec<&Payment>>::new(), HashSet::new());
    for payment in sent {
        if seen.insert(&payment.event_id) && !letters.contains(&payment.event_id) {
            wanted.entry(payment.account_id).or_default().push(payment);
        }
    }
    let mut found = BTreeMap::<i64, Vec<i64>>::new();
    for (account, amount) in journal {
        found.entry(*account).or_default().push(*amount);
    }
    let accounts: BTreeSet<i64> = wanted.keys().chain(found.keys()).copied().collect();
    accounts.into_iter().find_map(|account| {
        let wanted = wanted.get(&account).map_or(&[][..], Vec::as_slice);
        let found = found.get(&account).map_or(&[][..], Vec::as_slice);
        first_wrong(sent, wanted, found).map(|what| format!("account {account}, {what}"))
    })
}

fn first_wrong(sent: &[Payment], wanted: &[&Payment], found: &[i64]) -> Option<String> {
    let at = (0..wanted.len().max(found.len()))
        .find(|i| wanted.get(*i).map(|p| &p.amount_minor) != found.get(*i))?;
    let ask = wanted.get(at).map_or("nothing more".to_owned(), |p| {
        format!("{} of {}", p.amount_minor, p.event_id)
    });
    let had = found.get(at).map_or("nothing more".to_owned(), |amount| {
        let whose = sent.iter().filter(|p| p.amount_minor == *amount);
        let whose: Vec<&str> = whose.map(|p| p.event_id.as_str()).collect();
        format!("{amount}, as of {}", whose.join(" or "))
    });
    let (all, credits) = (wanted.len(), found.len());
    Some(format!(
        "credit {} ({all} wanted, {credits} found): wanted {ask}, found {had}",
        at + 1
    ))
}

/// Rows of two integers.
pub(crate) fn pairs(rows: &[Vec<Option<String>>]) -> Vec<(i64, i64)> {
    let number = |cell: &Option<String>| cell.as_ref().and_then(|text| text.parse::<i64>().ok());
    let pairs = rows
        .iter()
        .filter_map(|row| Some((number(&row[0])?, number(&row[1])?)));
    pairs.collect()
}
