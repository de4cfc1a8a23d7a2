//! A module: bytes that were compiled, checked, linked and typed.

use std::sync::Arc;

use sha2::{Digest, Sha256};
use tidegate_core::sql::GuestSql;
use wasmtime::component::Component;

use super::bindings::HandlerPre;
use super::state::State;
use super::ticker::Ticker;
use super::trial::NoDatabase;
use super::{Inner, LoadError, inspect};
use crate::turnstile::Turnstile;

/// A handler that is ready to be instantiated.
pub struct Module<D: GuestSql> {
    name: Arc<str>,
    digest: [u8; 32],
    pre: HandlerPre<State<D>>,
    /// The same without a database.
    trial: HandlerPre<State<NoDatabase>>,
    slots: u32,
    places: Arc<Turnstile>,
    /// Guests of a module are interrupted for as long as it lives.
    _ticker: Arc<Ticker>,
}

impl<D: GuestSql> Module<D> {
    /// The sha256 of the module's bytes.
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// What messages call it: its file's path.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn slots(&self) -> u32 {
        self.slots
    }

    /// Where its guests compute.
    pub(super) fn places(&self) -> &Arc<Turnstile> {
        &self.places
    }

    pub(super) fn pre(&self) -> &HandlerPre<State<D>> {
        &self.pre
    }

    pub(super) fn trial(&self) -> &HandlerPre<State<NoDatabase>> {
        &self.trial
    }
}

impl<D: GuestSql> std::fmt::Debug for Module<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Module")
            .field("name", &self.name)
            .field("digest", &hex::encode(self.digest))
            .finish_non_exhaustive()
    }
}

/// Makes a module of `wasm`. Takes seconds for a large module that is not in the cache.
pub(super) fn load<D: GuestSql>(
    inner: &Inner<D>,
    name: Arc<str>,
    wasm: &[u8],
) -> Result<Module<D>, LoadError> {
    inspect::sniff(&name, wasm)?;
    let digest: [u8; 32] = Sha256::digest(wasm).into();
    let component = compile(inner, &name, &digest, wasm)?;
    inspect::check(&name, &inner.engine, &component)?;
    let mismatch = |e: wasmtime::Error| LoadError::TypeMismatch {
        name: name.to_string(),
        reason: format!("{e:#}"),
    };
    let linked = inner.linker.instantiate_pre(&component);
    let pre = linked.and_then(HandlerPre::new).map_err(mismatch)?;
    let linked = inner.trial_linker.instantiate_pre(&component);
    let trial = linked.and_then(HandlerPre::new).map_err(mismatch)?;
    component
        .initialize_copy_on_write_image()
        .map_err(|e| invalid(&name, &e))?;
    Ok(Module {
        slots: inspect::slots(&component),
        name,
        digest,
        pre,
        trial,
        places: Arc::clone(&inner.places),
        _ticker: Arc::clone(&inner.ticker),
    })
}

fn compile<D: GuestSql>(
    inner: &Inner<D>,
    name: &str,
    digest: &[u8; 32],
    wasm: &[u8],
) -> Result<Component, LoadError> {
    if let Some(component) = inner.cache.get(&inner.engine, digest) {
        return Ok(component);
    }
    let compiled = Component::from_binary(&inner.engine, wasm).map_err(|e| invalid(name, &e))?;
    inner.cache.put(digest, &compiled);
    Ok(compiled)
}

fn invalid(name: &str, error: &wasmtime::Error) -> LoadError {
    LoadError::Invalid {
        name: name.into(),
        reason: format!("{error:#}"),
    }
}
