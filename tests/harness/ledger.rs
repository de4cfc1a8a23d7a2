//! The seed workload: payments into accounts, and the books that must balance.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use crate::db::Db;
use crate::journal::{JOURNAL, difference, pairs};
use crate::kafka::Rec;
use crate::wait::wait_eq;

/// One payment, known by its event id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payment {
    /// The event id.
    pub event_id: String,
    /// The account, from 1.
    pub account_id: i64,
    /// The amount in minor units.
    pub amount_minor: i64,
}

impl Payment {
    /// The record: key = account id, header `event-id`, JSON value.
    pub fn rec(&self) -> Rec {
        let value = serde_json::json!({
            "amount_minor": self.amount_minor,
            "account_id": self.account_id,
        });
        Rec::new(value.to_string())
            .key(self.account_id.to_string())
            .event_id(&self.event_id)
    }
}

/// `n` payments spread over accounts 1 to `accounts`, the same ones every time.
pub fn payments(n: usize, accounts: i64) -> Vec<Payment> {
    let mut random = fastrand::Rng::with_seed(7);
    let mut one = |i: usize| Payment {
        event_id: format!("payment-{i:06}"),
        account_id: random.i64(1..=accounts),
        amount_minor: random.i64(1..=100_000),
    };
    (0..n).map(&mut one).collect()
}

/// What every account holds once each event id among the payments has had its effect once.
pub fn expected(payments: &[Payment], accounts: i64) -> BTreeMap<i64, i64> {
    let unique: BTreeMap<&str, &Payment> =
        payments.iter().map(|p| (p.event_id.as_str(), p)).collect();
    let mut books: BTreeMap<i64, i64> = (1..=accounts).map(|id| (id, 0)).collect();
    for payment in unique.values() {
        *books.entry(payment.account_id).or_default() += payment.amount_minor;
    }
    books
}

/// The table `accounts(id bigint primary key, balance bigint not null)` of one test's database.
pub struct Ledger<'a> {
    db: &'a Db,
    accounts: i64,
}

impl<'a> Ledger<'a> {
    /// The same table, with the journal that [`check`](Self::check) reads.
    pub async fn journaled(db: &'a Db, accounts: i64) -> Ledger<'a> {
        let ledger = Ledger::create(db, accounts).await;
        db.exec(JOURNAL).await;
        ledger
    }

    /// Compares the journal and the balances with the payments that were sent, the dead letters in the host's own
    /// table left out.
    ///
    /// # Errors
    /// The first difference, in words.
    pub async fn check(&self, sent: &[Payment]) -> Result<(), String> {
        let letters = "SELECT event_id FROM tidegate.dead_letters WHERE event_id IS NOT NULL";
        let letters = self.db.query_text(letters).await;
        let letters = letters.into_iter().filter_map(|mut row| row.remove(0));
        let letters: HashSet<String> = letters.collect();
        let journal = "SELECT account_id, amount FROM journal ORDER BY n";
        let journal = pairs(&self.db.query_text(journal).await);
        if let Some(what) = difference(sent, &letters, &journal) {
            return Err(what);
        }
        let mut sums = self.balances().await;
        for (account, amount) in journal {
            *sums.entry(account).or_default() -= amount;
        }
        match sums.iter().find(|(_, rest)| **rest != 0) {
            Some((account, rest)) => Err(format!(
                "account {account} holds {rest} more than its journal says"
            )),
            None => Ok(()),
        }
    }

    /// Makes the table with accounts 1 to `accounts`, all at zero.
    pub async fn create(db: &'a Db, accounts: i64) -> Ledger<'a> {
        db.exec(&format!(
            "CREATE TABLE accounts (id bigint PRIMARY KEY, balance bigint NOT NULL DEFAULT 0);
             INSERT INTO accounts (id) SELECT generate_series(1, {accounts})"
        ))
        .await;
        Ledger { db, accounts }
    }

    /// The tables of a database that has them.
    pub fn of(db: &'a Db, accounts: i64) -> Ledger<'a> {
        Ledger { db, accounts }
    }

    /// Every account's balance.
    pub async fn balances(&self) -> BTreeMap<i64, i64> {
        let rows = self.db.query_text("SELECT id, balance FROM accounts").await;
        pairs(&rows).into_iter().collect()
    }

    /// The sum of all balances.
    pub async fn sum(&self) -> i64 {
        self.balances().await.values().sum()
    }

    /// Waits until the sum of all balances is this.
    pub async fn wait_sum(&self, expected: i64, deadline: Duration) {
        wait_eq(deadline, "the sum of balances", expected, async || {
            self.sum().await
        })
        .await;
    }

    /// Waits until every balance is what these payments make it.
    pub async fn wait_exact(&self, payments: &[Payment], deadline: Duration) {
        let sum = expected(payments, self.accounts).values().sum();
        self.wait_sum(sum, deadline).await;
        self.assert_exact(payments).await;
    }

    /// Panics unless every balance is what these payments make it, each event once.
    pub async fn assert_exact(&self, payments: &[Payment]) {
        let (wanted, found) = (expected(payments, self.accounts), self.balances().await);
        let wrong: Vec<_> = wanted
            .iter()
            .filter(|(id, balance)| found.get(id) != Some(balance))
            .map(|(id, balance)| format!("{id}: wanted {balance}, found {:?}", found.get(id)))
            .collect();
        assert!(wrong.is_empty(), "balances are wrong: {}", wrong.join("; "));
    }
}
