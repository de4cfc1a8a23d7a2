//! Starting a module once, before it is given a record: without a database, under the limits.

use std::sync::Arc;

use tidegate_core::outcome::GuestEnd;
use tidegate_core::sql::{CallError, Expectation, GuestSql, ResultSet, Value};

use super::instance::launch;
use super::{GuestEnv, LoadError, Module, NoInstance};

/// The port to the database of a guest that is started and never called: it ends whoever calls it.
#[derive(Debug)]
pub struct NoDatabase;

impl GuestSql for NoDatabase {
    async fn query(&mut self, _sql: String, _params: Vec<Value>) -> Result<ResultSet, CallError> {
        Err(CallError::Ended)
    }

    async fn execute(&mut self, _sql: String, _params: Vec<Value>) -> Result<u64, CallError> {
        Err(CallError::Ended)
    }

    async fn stage(
        &mut self,
        _sql: String,
        _params: Vec<Value>,
        _expect: Expectation,
    ) -> Result<(), CallError> {
        Err(CallError::Ended)
    }
}

/// Starts `module` and drops it again. The caller has made room for it in the pool.
pub(super) async fn run<D: GuestSql>(
    module: &Module<D>,
    env: &Arc<GuestEnv>,
) -> Result<(), LoadError> {
    let started = launch(module.trial(), module.places(), env, NoDatabase).await;
    started.map(drop).map_err(|(_, why)| {
        let (code, reason) = told(&why);
        LoadError::CannotStart {
            name: module.name().to_owned(),
            consumer: env.consumer.to_string(),
            code,
            reason,
        }
    })
}

/// The code of what ended the start, and the words.
fn told(why: &NoInstance) -> (&'static str, String) {
    match why {
        NoInstance::Guest(GuestEnd::Limit(limit)) => (limit.code(), limit.words().to_owned()),
        NoInstance::Guest(GuestEnd::Trap { message }) => ("trap", message.clone()),
        NoInstance::Guest(GuestEnd::Unheard) => (
            "trap",
            "the guest called the database before its first record".to_owned(),
        ),
        // No start function returns an outcome, and the place in the pool was kept.
        other => ("trap", other.to_string()),
    }
}
