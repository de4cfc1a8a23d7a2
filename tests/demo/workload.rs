//! The payments of the demo, and what must become of them: computed here, from the generated data alone.

use std::collections::BTreeMap;

use tidegate_tests::Rec;

/// Accounts 1 to this exist.
pub(crate) const ACCOUNTS: i64 = 100;
/// Partitions of the topic.
pub(crate) const PARTITIONS: i32 = 4;

const SEED: u64 = 20_261_130;
const PAYMENTS: usize = 2000;
const REPUBLISHED: usize = PAYMENTS / 10;
const MALFORMED: usize = 20;
const UNKNOWN_ACCOUNTS: usize = 15;
const WITHOUT_ID: usize = 10;

/// Records in the order in which they are published, and the books they must lead to.
pub(crate) struct Workload {
    pub(crate) records: Vec<Rec>,
    pub(crate) expected: Expected,
}

/// What the books must say.
pub(crate) struct Expected {
    /// Records published.
    pub(crate) records: i64,
    /// Balance of each account, in cents.
    pub(crate) balances: BTreeMap<i64, i64>,
    /// Dead letters by code.
    pub(crate) letters: BTreeMap<&'static str, i64>,
    /// Records whose event another record carries too.
    pub(crate) republished: i64,
}

impl Workload {
    /// The same records every time.
    pub(crate) fn generate() -> Self {
        let mut rng = fastrand::Rng::with_seed(SEED);
        let mut balances: BTreeMap<_, _> = (1..=ACCOUNTS).map(|id| (id, 0)).collect();
        let mut records = Vec::new();
        for number in 0..PAYMENTS {
            let (account, amount) = (rng.i64(1..=ACCOUNTS), rng.i64(1..=100_000));
            *balances.entry(account).or_default() += amount;
            records.push(payment(account, amount).event_id(&format!("payment-{number}")));
        }
        let copies = rng.choose_multiple(records.clone(), REPUBLISHED);
        records.extend(copies.into_iter().map(|copy| elsewhere(copy, &mut rng)));
        records.extend(bad(&mut rng));
        rng.shuffle(&mut records);
        let expected = Expected::of(&records, balances);
        Self { records, expected }
    }
}

/// A payment; its key keeps an account's payments in one partition.
fn payment(account: i64, amount: i64) -> Rec {
    let value = format!(r#"{{"amount_minor": {amount}, "account_id": {account}}}"#);
    Rec::new(value).key(account.to_string())
}

/// Half of the republished records go to whatever partition, as after a change of the key.
fn elsewhere(copy: Rec, rng: &mut fastrand::Rng) -> Rec {
    if rng.bool() {
        copy.to(rng.i32(0..PARTITIONS))
    } else {
        copy
    }
}

/// Records that must end as dead letters.
fn bad(rng: &mut fastrand::Rng) -> Vec<Rec> {
    let mut account = move || rng.i64(1..=ACCOUNTS);
    let malformed = (0..MALFORMED).map(|n| {
        let id = format!("malformed-{n}");
        Rec::new(r#"{"amount_minor": 12"#).event_id(&id)
    });
    let unknown = (0..UNKNOWN_ACCOUNTS).map(|n| {
        let id = format!("unknown-{n}");
        payment(ACCOUNTS + 1, 100).event_id(&id)
    });
    let mut records: Vec<_> = malformed.chain(unknown).collect();
    records.extend((0..WITHOUT_ID).map(|_| payment(account(), 100)));
    records
}

impl Expected {
    fn of(records: &[Rec], balances: BTreeMap<i64, i64>) -> Self {
        Self {
            records: count(records.len()),
            balances,
            letters: BTreeMap::from([
                ("malformed", count(MALFORMED)),
                ("unexpected-row-count", count(UNKNOWN_ACCOUNTS)),
                ("bad-event-id", count(WITHOUT_ID)),
            ]),
            republished: count(REPUBLISHED),
        }
    }

    /// Payments that must be done.
    pub(crate) fn done(&self) -> i64 {
        self.records - self.republished - self.letters.values().sum::<i64>()
    }

    /// What was published, in words.
    pub(crate) fn summary(&self) -> String {
        format!(
            "Published {} records to {PARTITIONS} partitions: {} payments to {ACCOUNTS} accounts, {} of them again \
             at other offsets,\n{MALFORMED} with malformed JSON, {UNKNOWN_ACCOUNTS} for an unknown account, \
             {WITHOUT_ID} without an event id.",
            self.records,
            self.done(),
            self.republished
        )
    }
}

fn count(n: usize) -> i64 {
    i64::try_from(n).expect("a count of records fits")
}
