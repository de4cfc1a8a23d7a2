//! What a handler does with a record, and the same for a native consumer.

use super::ACCOUNTS;
use super::payments::Payment;

/// The kinds of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Work {
    /// Adds the amount to an account's balance: one staged update.
    Credit,
    /// Keeps an order's latest version: one staged insert-or-update.
    Upsert,
    /// Reads the balance, waits for it, and stages the new one.
    ReadThenWrite,
}

/// Half-full pages leave room for a new version of every row beside the old one, so updates stay on their page.
const ACCOUNTS_TABLE: &str =
    "CREATE TABLE accounts (id bigint PRIMARY KEY, balance bigint NOT NULL) WITH (fillfactor = 50)";

const ORDERS_TABLE: &str = "CREATE TABLE orders (order_id text PRIMARY KEY, status text NOT NULL, \
    version bigint NOT NULL) WITH (fillfactor = 50)";

impl Work {
    /// The handler's package.
    pub(crate) fn guest(self) -> &'static str {
        match self {
            Work::Credit => "credit-rust",
            Work::Upsert => "orders-rust",
            Work::ReadThenWrite => "reads-then-writes",
        }
    }

    /// The handler's table, with its rows.
    pub(crate) fn tables(self) -> String {
        match self {
            Work::Credit | Work::ReadThenWrite => format!(
                "{ACCOUNTS_TABLE}; INSERT INTO accounts SELECT id, 0 FROM generate_series(1, {ACCOUNTS}) id"
            ),
            Work::Upsert => format!(
                "{ORDERS_TABLE}; INSERT INTO orders SELECT id, 'new', 0 FROM generate_series(1, {ACCOUNTS}) id"
            ),
        }
    }

    /// A query of the sum of what was written.
    pub(crate) fn sum(self) -> &'static str {
        match self {
            Work::Credit | Work::ReadThenWrite => "SELECT sum(balance)::bigint FROM accounts",
            Work::Upsert => "SELECT sum(version)::bigint FROM orders",
        }
    }

    /// About `bytes` of JSON, of which the handler wants a few fields.
    pub(crate) fn value(self, payment: Payment, id: &str, bytes: usize) -> String {
        let Payment { account, amount } = payment;
        let head = match self {
            Work::Credit | Work::ReadThenWrite => format!(
                r#"{{"payment_id":"{id}","amount_minor":{amount},"account_id":{account},"currency":"EUR","booked_at":"2025-05-14T09:26:53.589Z","reference":""#
            ),
            Work::Upsert => format!(
                r#"{{"event_id":"{id}","order_id":"{account}","status":"shipped","version":{amount},"changed_at":"2025-05-14T09:26:53.589Z","note":""#
            ),
        };
        let filler = "invoice 2025/0042 ".repeat(bytes.saturating_sub(head.len()) / 18 + 1);
        format!(r#"{head}{}"}}"#, filler.trim_end())
    }
}
