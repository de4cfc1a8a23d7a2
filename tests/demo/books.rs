//! The books after the run: what was expected, what the database says, line by line.

use std::collections::BTreeMap;
use std::fmt;

use tidegate_tests::Db;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::workload::Expected;

/// The sections of the table.
pub(crate) struct Books {
    sections: Vec<(&'static str, Vec<Line>)>,
}

struct Line {
    what: String,
    expected: Amount,
    actual: Amount,
}

#[derive(PartialEq)]
enum Amount {
    Count(i64),
    Cents(i64),
}

impl Books {
    /// Reads the database and sets it against what was expected.
    pub(crate) async fn compare(
        expected: &Expected,
        balances: &BTreeMap<i64, i64>,
        db: &Db,
    ) -> Self {
        let sections = vec![
            ("Accounts", accounts(expected, balances)),
            ("Records", records(expected, db).await),
            ("Dead letters by code", letters(expected, db).await),
            ("Duplicates by kind", duplicates(expected, db).await),
        ];
        Self { sections }
    }

    /// Whether every line agrees.
    pub(crate) fn agree(&self) -> bool {
        let mut lines = self.sections.iter().flat_map(|(_, lines)| lines);
        lines.all(Line::agrees)
    }
}

/// Records committed so far; none while the host has not made its tables.
pub(crate) async fn handled(client: &Client) -> Result<i64, tokio_postgres::Error> {
    let sum = "SELECT coalesce(sum(done + skipped + rejected + redelivered + republished), 0)::bigint \
               FROM tidegate.progress";
    match client.query_one(sum, &[]).await {
        Ok(row) => row.try_get(0),
        Err(error) => match error.code() {
            Some(&(SqlState::UNDEFINED_TABLE | SqlState::INVALID_SCHEMA_NAME)) => Ok(0),
            _ => Err(error),
        },
    }
}

fn accounts(expected: &Expected, balances: &BTreeMap<i64, i64>) -> Vec<Line> {
    let total = |of: &BTreeMap<i64, i64>| Amount::Cents(of.values().sum());
    let ids = expected.balances.keys().chain(balances.keys());
    let ids: std::collections::BTreeSet<_> = ids.collect();
    let differ = ids
        .into_iter()
        .filter(|id| expected.balances.get(id) != balances.get(id));
    let differ = i64::try_from(differ.count()).expect("a count of accounts fits");
    vec![
        Line {
            what: "sum of balances".into(),
            expected: total(&expected.balances),
            actual: total(balances),
        },
        count("accounts that differ", 0, differ),
    ]
}

async fn records(expected: &Expected, db: &Db) -> Vec<Line> {
    let rejected = expected.letters.values().sum();
    vec![
        count("done", expected.done(), counter(db, "done").await),
        count("skipped", 0, counter(db, "skipped").await),
        count("rejected", rejected, counter(db, "rejected").await),
    ]
}

async fn letters(expected: &Expected, db: &Db) -> Vec<Line> {
    let rows = db
        .query_text("SELECT code, count(*) FROM tidegate.dead_letters GROUP BY code ORDER BY code")
        .await;
    let mut codes: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    for (code, number) in &expected.letters {
        codes.entry((*code).to_owned()).or_default().0 = *number;
    }
    for row in rows {
        let mut columns = row.into_iter().map(Option::unwrap_or_default);
        let code = columns.next().unwrap_or_default();
        let number = columns.next().and_then(|n| n.parse().ok());
        codes.entry(code).or_default().1 = number.unwrap_or_default();
    }
    let lines = codes
        .into_iter()
        .map(|(code, (expected, actual))| count(code, expected, actual));
    lines.collect()
}

/// The counters are committed in the batches' own transactions, so they are exact over kills. A position
/// committed with its effects is never delivered again.
async fn duplicates(expected: &Expected, db: &Db) -> Vec<Line> {
    vec![
        count(
            "republished",
            expected.republished,
            counter(db, "republished").await,
        ),
        count("redelivered", 0, counter(db, "redelivered").await),
    ]
}

async fn counter(db: &Db, name: &str) -> i64 {
    db.query_one_i64(&format!(
        "SELECT coalesce(sum({name}), 0)::bigint FROM tidegate.progress"
    ))
    .await
}

fn count(what: impl Into<String>, expected: i64, actual: i64) -> Line {
    Line {
        what: what.into(),
        expected: Amount::Count(expected),
        actual: Amount::Count(actual),
    }
}

impl Line {
    fn agrees(&self) -> bool {
        self.expected == self.actual
    }
}

impl fmt::Display for Books {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (title, lines) in &self.sections {
            writeln!(f, "{title:<26}{:>14}{:>14}", "expected", "actual")?;
            for line in lines {
                write!(f, "{line}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.agrees() { "ok" } else { "DIFFERS" };
        let (expected, actual) = (self.expected.to_string(), self.actual.to_string());
        writeln!(f, "  {:<24}{expected:>14}{actual:>14}  {word}", self.what)
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Amount::Count(n) => write!(f, "{n}"),
            Amount::Cents(n) => write!(f, "{}.{:02}", n / 100, (n % 100).abs()),
        }
    }
}
