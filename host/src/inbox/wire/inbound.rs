//! What the server sends, shared out: the driver's answers to the driver, those of staged statements here.
//!
//! The server answers in the order in which it was asked, so a queue of who asked says whose each message is.

use std::collections::VecDeque;
use std::io;

use bytes::BytesMut;
use postgres_protocol::message::backend;
use tidegate_core::text::bounded;

use crate::inbox::refused::Refused;

const HEADER: usize = 5;
/// The first words of the answers to statements that read or write rows.
const OF_ROWS: [&str; 5] = ["SELECT", "INSERT", "UPDATE", "DELETE", "MERGE"];
/// The most bytes of another command's name that are kept.
const COMMAND_BYTES: usize = 64;
/// The tag of CopyBothResponse, which the protocol's crate does not name.
const COPY_BOTH: u8 = b'W';

/// Who asked.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::inbox) enum Asked {
    /// The driver: everything to the next *ready for query* is its own.
    Driver,
    /// This many staged statements, ended by one Sync.
    Staged(usize),
}

/// How a staged statement ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It read or wrote this many rows.
    Rows(u64),
    /// It was a command that does neither: the server's word for it.
    Command(String),
    /// The server refused it.
    Refused(Refused),
    /// The server did not look at it: one before it in the same flight was refused.
    Skipped,
}

/// Where the bytes of a message's body go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Body {
    Driver,
    /// Kept whole, to be read at its end.
    Kept,
    Dropped,
}

/// The server's messages, taken apart as they arrive, in pieces of any size.
#[derive(Debug, Default)]
pub(in crate::inbox) struct Inbound {
    asked: VecDeque<Asked>,
    /// For the driver to read.
    pub(in crate::inbox) driver: BytesMut,
    /// Of staged statements, in their order.
    pub(in crate::inbox) answers: VecDeque<Answer>,
    /// How the last of the driver's statements was answered.
    pub(super) commanded: Option<Answer>,
    /// The server began to copy: what follows is no answer to a statement.
    pub(super) copies: bool,
    header: Vec<u8>,
    kept: BytesMut,
    body: Option<(u8, Body, usize)>,
}

impl Inbound {
    /// Notes who asked last.
    pub(in crate::inbox) fn asked(&mut self, who: Asked) {
        self.asked.push_back(who);
    }

    /// Takes in what has arrived. Errors: it is not the protocol, or nothing that was asked for.
    pub(in crate::inbox) fn feed(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            bytes = match self.body {
                None => self.take_header(bytes)?,
                Some(body) => self.take_body(body, bytes)?,
            };
        }
        Ok(())
    }

    fn take_header<'a>(&mut self, bytes: &'a [u8]) -> io::Result<&'a [u8]> {
        let (more, rest) = bytes.split_at(bytes.len().min(HEADER - self.header.len()));
        self.header.extend_from_slice(more);
        if let Some(header) = backend::Header::parse(&self.header)? {
            let left = usize::try_from(header.len()).map_err(io::Error::other)? - 4;
            let body = self.body_of(header.tag());
            if body == Body::Driver {
                self.driver.extend_from_slice(&self.header);
            }
            self.header.clear();
            self.body = Some((header.tag(), body, left));
            if left == 0 {
                self.end(header.tag(), body)?;
            }
        }
        Ok(rest)
    }

    fn take_body<'a>(&mut self, body: (u8, Body, usize), bytes: &'a [u8]) -> io::Result<&'a [u8]> {
        let (tag, to, left) = body;
        let (more, rest) = bytes.split_at(bytes.len().min(left));
        match to {
            Body::Driver => {
                self.driver.extend_from_slice(more);
                if tag == backend::COMMAND_COMPLETE_TAG {
                    self.kept.extend_from_slice(more);
                }
            }
            Body::Kept => self.kept.extend_from_slice(more),
            Body::Dropped => {}
        }
        self.body = Some((tag, to, left - more.len()));
        if left == more.len() {
            self.end(tag, to)?;
        }
        Ok(rest)
    }

    /// Notices, notifications and parameters come at any time and are the driver's.
    fn body_of(&self, tag: u8) -> Body {
        let any_time = matches!(
            tag,
            backend::NOTICE_RESPONSE_TAG
                | backend::NOTIFICATION_RESPONSE_TAG
                | backend::PARAMETER_STATUS_TAG
        );
        match (self.asked.front(), tag) {
            _ if any_time => Body::Driver,
            (None | Some(Asked::Driver), _) => Body::Driver,
            (_, backend::COMMAND_COMPLETE_TAG | backend::ERROR_RESPONSE_TAG) => Body::Kept,
            _ => Body::Dropped,
        }
    }

    fn end(&mut self, tag: u8, body: Body) -> io::Result<()> {
        self.body = None;
        match (body, tag) {
            // Nothing of the host copies. Its data would follow without end, or be waited for.
            (_, backend::COPY_IN_RESPONSE_TAG | backend::COPY_OUT_RESPONSE_TAG | COPY_BOTH) => {
                self.copies = true;
                return Err(unexpected(tag));
            }
            (Body::Driver, backend::COMMAND_COMPLETE_TAG) => {
                self.commanded = Some(complete(&self.kept));
            }
            (Body::Driver, backend::READY_FOR_QUERY_TAG) => {
                self.asked.pop_front();
            }
            (Body::Driver, _) => {}
            (_, backend::READY_FOR_QUERY_TAG) => self.end_flight(),
            (_, backend::COMMAND_COMPLETE_TAG) => {
                let answer = complete(&self.kept);
                self.answer(answer)?;
            }
            (_, backend::EMPTY_QUERY_RESPONSE_TAG) => self.answer(Answer::Rows(0))?,
            (_, backend::ERROR_RESPONSE_TAG) => {
                let refused = Refused::parse(&self.kept);
                self.answer(Answer::Refused(refused))?;
            }
            (
                _,
                backend::PARSE_COMPLETE_TAG | backend::BIND_COMPLETE_TAG | backend::DATA_ROW_TAG,
            ) => {}
            (_, tag) => return Err(unexpected(tag)),
        }
        self.kept.clear();
        Ok(())
    }

    fn answer(&mut self, answer: Answer) -> io::Result<()> {
        match self.asked.front_mut() {
            Some(Asked::Staged(left)) if *left > 0 => *left -= 1,
            // A server that goes down says so whether or not it was asked.
            _ if matches!(&answer, Answer::Refused(refused) if refused.fatal) => {}
            _ => return Err(unexpected(b'C')),
        }
        self.answers.push_back(answer);
        Ok(())
    }

    fn end_flight(&mut self) {
        if let Some(Asked::Staged(skipped)) = self.asked.pop_front() {
            self.answers.extend((0..skipped).map(|_| Answer::Skipped));
        }
    }
}

/// What the server says was done: `UPDATE 3`, `INSERT 0 1`, `SET`.
fn complete(tag: &[u8]) -> Answer {
    let text = String::from_utf8_lossy(tag.strip_suffix(b"\0").unwrap_or(tag));
    let mut words = text.split(' ');
    if words.next().is_some_and(|word| OF_ROWS.contains(&word)) {
        let rows = words.next_back().and_then(|number| number.parse().ok());
        return Answer::Rows(rows.unwrap_or(0));
    }
    Answer::Command(bounded(&text, COMMAND_BYTES))
}

fn unexpected(tag: u8) -> io::Error {
    let message = format!("a message of type {:?} was not expected", char::from(tag));
    io::Error::new(io::ErrorKind::InvalidData, message)
}

#[cfg(test)]
mod tests;
