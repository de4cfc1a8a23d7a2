//! An engine without a database: a transaction that writes down what a guest asks of it.

#![expect(
    clippy::unwrap_used,
    reason = "a helper that fails is a test that fails"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tidegate::engine::{Engine, EngineOptions, Event, GuestEnv, Instance, Module};
use tidegate_core::limits::{GuestLimits, Limit};
use tidegate_core::outcome::GuestEnd;
use tidegate_core::record::{Header, Record, Timestamp, TopicPartition};
use tidegate_core::sql::{CallError, Expectation, GuestSql, ResultSet, Value};

/// A statement that a guest ran.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) sql: String,
    pub(crate) params: Vec<Value>,
    pub(crate) expect: Option<Expectation>,
}

/// What a statement's text makes the fake do: `wait MS`, `rows N`, `ended`; what asks for `$1` rows or characters gets
/// them; anything else succeeds at once.
#[derive(Clone, Default)]
pub(crate) struct Fake {
    calls: Arc<Mutex<Vec<Call>>>,
    refused: Arc<Mutex<Vec<Limit>>>,
}

impl Fake {
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }

    /// The limits for which the engine refused calls.
    pub(crate) fn refused(&self) -> Vec<Limit> {
        self.refused.lock().unwrap().clone()
    }

    async fn run(
        &mut self,
        sql: String,
        params: Vec<Value>,
        expect: Option<Expectation>,
    ) -> Result<usize, CallError> {
        let (word, number) = sql.split_once(' ').unwrap_or((&sql, ""));
        let number: u32 = number.parse().unwrap_or_default();
        match word {
            "wait" => tokio::time::sleep(Duration::from_millis(number.into())).await,
            "ended" => return Err(CallError::Ended),
            _ => {}
        }
        let rows = if word == "rows" { number } else { 1 };
        let call = Call {
            sql: sql.clone(),
            params,
            expect,
        };
        self.calls.lock().unwrap().push(call);
        Ok(rows as usize)
    }
}

impl GuestSql for Fake {
    async fn query(&mut self, sql: String, params: Vec<Value>) -> Result<ResultSet, CallError> {
        let asked = match params.first() {
            Some(Value::Int64(n)) => usize::try_from(*n).ok(),
            _ => None,
        };
        let (rows, length) = match sql.split_once('(').map(|(call, _)| call) {
            Some("SELECT generate_series") => (asked, 10),
            Some("SELECT repeat") => (Some(1), asked.unwrap_or_default()),
            _ => (None, 100),
        };
        let ran = self.run(sql, params, None).await?;
        Ok(ResultSet {
            columns: Vec::new(),
            rows: vec![vec![Value::Text("x".repeat(length))]; rows.unwrap_or(ran)],
        })
    }

    async fn execute(&mut self, sql: String, params: Vec<Value>) -> Result<u64, CallError> {
        Ok(self.run(sql, params, None).await? as u64)
    }

    async fn stage(
        &mut self,
        sql: String,
        params: Vec<Value>,
        expect: Expectation,
    ) -> Result<(), CallError> {
        self.run(sql, params, Some(expect)).await.map(drop)
    }

    fn refuse(&mut self, limit: Limit) {
        self.refused.lock().unwrap().push(limit);
    }
}

/// An engine of two places with its cache in `dir`.
pub(crate) fn engine(dir: &Path) -> Engine<Fake> {
    Engine::new(EngineOptions {
        cache_dir: dir.join("modules"),
        max_instances: 2,
        max_memory: 256 << 20,
    })
    .unwrap()
}

/// What a consumer with these limits gives its guests.
pub(crate) fn env(limits: GuestLimits) -> Arc<GuestEnv> {
    Arc::new(GuestEnv {
        consumer: "billing".into(),
        tenant: None,
        limits,
        settings: BTreeMap::new(),
    })
}

/// What a test has at hand for one guest.
pub(crate) struct Bench {
    pub(crate) engine: Engine<Fake>,
    pub(crate) module: Arc<Module<Fake>>,
    pub(crate) env: Arc<GuestEnv>,
    _dir: tempfile::TempDir,
}

impl Bench {
    pub(crate) async fn new(guest: &str, limits: GuestLimits) -> Self {
        Self::of(guest, tidegate_tests::guest_bytes(guest).await, limits).await
    }

    /// For a module that no toolchain has built.
    pub(crate) async fn of(name: &str, wasm: Vec<u8>, limits: GuestLimits) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let engine = engine(dir.path());
        let module = engine.load(name, wasm).await.unwrap();
        Self {
            engine,
            module,
            env: env(limits),
            _dir: dir,
        }
    }

    pub(crate) async fn instance(&self) -> Instance<Fake> {
        let made = self
            .engine
            .instantiate(&self.module, &self.env, Fake::default());
        made.await.map_err(|(_, why)| why).unwrap()
    }

    /// One call on a fresh instance.
    pub(crate) async fn call(&self, record: &Record) -> (GuestEnd, Vec<Call>) {
        let mut instance = self.instance().await;
        let end = instance.call(event(record)).await;
        (end, instance.into_db().calls())
    }
}

/// A payment whose JSON also holds `trick`, which switches a guest's trick on.
pub(crate) fn payment(trick: &str) -> Record {
    record(&format!(
        r#"{{"amount_minor": 500, "account_id": 17, "trick": "{trick}"}}"#
    ))
}

/// A record whose value the guest `sql` runs by `query`.
pub(crate) fn query(sql: &str) -> Record {
    Record {
        headers: vec![Header {
            name: "mode".into(),
            value: Some("query".into()),
        }],
        ..record(sql)
    }
}

pub(crate) fn record(value: &str) -> Record {
    Record {
        source: TopicPartition {
            topic: "payments".into(),
            partition: 3,
        },
        offset: 42,
        timestamp: Timestamp::Created(1_700_000_000_000),
        key: None,
        value: Some(value.to_owned().into()),
        headers: Vec::new(),
        unreadable_headers: 0,
    }
}

pub(crate) fn event(record: &Record) -> Event<'_> {
    Event {
        id: "0b6e9a60",
        tenant: None,
        record,
        attempt: 1,
        replay_round: 0,
    }
}
