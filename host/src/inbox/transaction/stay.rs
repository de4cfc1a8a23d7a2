//! A guest's stay in the transaction: entered with its search path and its role before its first statement, left with
//! the proof that both still hold.
//!
//! No statement of a guest runs as the host, and none of the host's as a guest. All of it is sent ahead with what is
//! staged and waits for no answer.

use std::sync::Arc;

use tidegate_core::sql::CallError;

use super::Transaction;
use super::ledger::{Staged, What};
use crate::inbox::error::unreachable;
use crate::inbox::pinned::{HOST_PATH, PROOF, quoted};
use crate::inbox::value::param::Param;

/// Whom the server takes for running.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Stay {
    /// The host, as the login.
    #[default]
    Host,
    /// A guest: under its role, or as the login where it has none.
    Guest(Option<Arc<str>>),
}

impl Transaction {
    /// Lets the guest in, unless it is there already. A statement of its own comes next.
    pub(super) fn enter_stay(&mut self) -> Result<(), CallError> {
        let role = &self.guest.role;
        if matches!(&self.stay, Stay::Guest(there) if there == role) {
            return Ok(());
        }
        let role = role.clone();
        self.begin_stay(role)
            .map_err(|why| self.connection_lost(unreachable(why)))
    }

    fn begin_stay(&mut self, role: Option<Arc<str>>) -> Result<(), String> {
        self.end_stay()?;
        let settings = Arc::clone(&self.held.settings);
        self.own(&settings.guest_path, What::Host)?;
        if let Some(role) = &role {
            let take = format!("SET LOCAL ROLE {}", quoted(role));
            let (role, login) = (Arc::clone(role), Arc::clone(&self.held.pinned.login));
            self.own(&take, What::Role { role, login })?;
        }
        self.stay = Stay::Guest(role);
        Ok(())
    }

    /// Lets the host in again, if a guest stayed: what follows is the host's own.
    pub(super) fn end_stay(&mut self) -> Result<(), String> {
        let Stay::Guest(role) = std::mem::take(&mut self.stay) else {
            return Ok(());
        };
        self.end_record()?;
        let proof = self.held.pinned.proof(role.as_deref(), self.lock_wait);
        self.held.pipeline.stage(PROOF, &proof)?;
        self.sent_ahead(What::Proof, proof.iter().map(Param::len).sum());
        if role.is_some() {
            self.own("SET LOCAL ROLE NONE", What::Host)?;
        }
        self.own(HOST_PATH, What::Host)
    }

    pub(super) fn own(&mut self, command: &str, what: What) -> Result<(), String> {
        self.held.pipeline.command(command)?;
        self.sent_ahead(what, command.len());
        Ok(())
    }

    fn sent_ahead(&mut self, what: What, bytes: usize) {
        let offset = self.current;
        self.ledger.stage(Staged {
            offset,
            what,
            bytes,
        });
    }
}

/// What to say where the server does not let the login take the role. Its own words may be in any language.
pub(super) fn not_taken(role: &str, login: &str, sqlstate: &str) -> String {
    let (role, login) = (quoted(role), quoted(login));
    match sqlstate {
        "22023" | "42704" => format!(
            "the role {role} does not exist (SQLSTATE {sqlstate}): CREATE ROLE {role} NOLOGIN; GRANT {role} TO {login}; or correct consumer.role"
        ),
        _ => format!(
            "the login {login} may not take the role {role} (SQLSTATE {sqlstate}): GRANT {role} TO {login}"
        ),
    }
}
