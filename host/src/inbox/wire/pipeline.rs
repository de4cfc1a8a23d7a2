//! Staged statements: encoded here, sent in flights of one Sync each, answered in order.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use bytes::BytesMut;
use postgres_protocol::IsNull;
use postgres_protocol::message::frontend;

use super::inbound::{Answer, Asked};
use super::{Shared, keep, wake};
use crate::inbox::value::param::Param;

/// A flight is due with this many statements or bytes. A transaction's first is short, so that the server does not
/// idle, the next ones are longer: each costs a Sync and a call of the system at both ends.
const FIRST_FLIGHT: usize = 8;
const FLIGHT: usize = 64;
const FLIGHT_BYTES: usize = 16 << 10;

/// The format in which rows would come, which nobody reads.
const BINARY: i16 = 1;

/// The pipeline's end of a wire. It bounds nothing: its user counts what is unanswered.
pub(crate) struct Pipeline {
    shared: Arc<Shared>,
    flight: BytesMut,
    staged: usize,
    /// Statements with which the flight is due.
    due: usize,
}

impl Pipeline {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            flight: BytesMut::new(),
            staged: 0,
            due: FIRST_FLIGHT,
        }
    }

    /// Adds a statement that the driver has prepared under `name` to the flight. Errors: it cannot be encoded;
    /// the flight is as it was.
    pub(crate) fn stage(&mut self, name: &str, params: &[Param]) -> Result<(), String> {
        let before = self.flight.len();
        let formats = params.iter().map(Param::format);
        let encoded = frontend::bind(
            "",
            name,
            formats,
            params,
            |param, out| Ok(write(param, out)),
            Some(BINARY),
            &mut self.flight,
        );
        if encoded.is_err() || frontend::execute("", 0, &mut self.flight).is_err() {
            self.flight.truncate(before);
            return Err("the statement and its parameters are too large to be sent".to_owned());
        }
        self.staged += 1;
        Ok(())
    }

    /// Adds a command of the host's own, which has neither parameters nor a name.
    pub(crate) fn command(&mut self, sql: &str) -> Result<(), String> {
        let before = self.flight.len();
        if frontend::parse("", sql, [], &mut self.flight).is_err() {
            self.flight.truncate(before);
            return Err("a command is too large to be sent".to_owned());
        }
        let staged = self.stage("", &[]);
        if staged.is_err() {
            self.flight.truncate(before);
        }
        staged
    }

    /// Whether the flight is to leave.
    pub(crate) fn is_due(&self) -> bool {
        self.staged >= self.due || self.flight.len() >= FLIGHT_BYTES
    }

    /// Lets the flight leave. What the driver is asked for after this comes after it; what the driver was asked for
    /// before must have been answered.
    pub(crate) fn flush(&mut self) {
        let staged = std::mem::take(&mut self.staged);
        if staged == 0 {
            return;
        }
        self.due = (self.due * 2).min(FLIGHT);
        frontend::sync(&mut self.flight);
        let mut wire = self.shared.lock();
        wire.unsent.extend_from_slice(&self.flight);
        wire.inbound.asked(Asked::Staged(staged));
        wake(&mut wire.driver);
        drop(wire);
        self.flight.clear();
    }

    /// The answers that are there, in the order of staging.
    pub(crate) fn answers(&mut self) -> VecDeque<Answer> {
        std::mem::take(&mut self.shared.lock().inbound.answers)
    }

    /// Waits for answers to what has left. Errors: why none will come.
    pub(crate) async fn wait(&mut self) -> Result<VecDeque<Answer>, String> {
        poll_fn(|cx| {
            let mut wire = self.shared.lock();
            if !wire.inbound.answers.is_empty() {
                return Poll::Ready(Ok(std::mem::take(&mut wire.inbound.answers)));
            }
            if let Some(why) = &wire.ended {
                return Poll::Ready(Err(why.clone()));
            }
            keep(&mut wire.pipeline, cx);
            Poll::Pending
        })
        .await
    }

    /// Forgets what has not left, and answers that nobody took.
    pub(crate) fn clear(&mut self) {
        self.flight.clear();
        self.staged = 0;
        self.due = FIRST_FLIGHT;
        self.shared.lock().inbound.answers.clear();
    }

    /// From now on the answer to the driver's statement is watched.
    pub(crate) fn watch(&self) {
        self.shared.lock().inbound.commanded = None;
    }

    /// The command that the statement watched turned out to be, if it was none that reads or writes rows.
    pub(crate) fn strayed(&self) -> Option<String> {
        match self.shared.lock().inbound.commanded.take() {
            Some(Answer::Command(word)) => Some(word),
            _ => None,
        }
    }

    /// Whether the connection ended because the server began to copy.
    pub(crate) fn copies(&self) -> bool {
        self.shared.lock().inbound.copies
    }

    /// The name that the driver gives the next statement of this text is to be remembered.
    pub(crate) fn look_for(&self, sql: &str) {
        let mut wire = self.shared.lock();
        wire.name = None;
        wire.outbound.look_for(sql);
    }

    /// The name of the statement looked for, once it has been sent. The driver itself does not tell.
    pub(crate) fn found(&self) -> Option<String> {
        self.shared.lock().name.take()
    }
}

fn write(param: &Param, out: &mut BytesMut) -> IsNull {
    match param.bytes() {
        Some(bytes) => {
            out.extend_from_slice(bytes);
            IsNull::No
        }
        None => IsNull::Yes,
    }
}
