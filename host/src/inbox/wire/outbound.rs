//! What the driver sends, looked through: how many answers it will wait for, and what it named a statement.

use std::io;

/// What one write of the driver holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sent {
    /// Messages that the server answers with *ready for query*.
    pub(super) requests: usize,
    /// The name that the statement looked for was given.
    pub(super) name: Option<String>,
}

/// Reads the driver's messages as they go by. The driver writes whole messages only.
#[derive(Debug, Default)]
pub(super) struct Outbound {
    /// The first message has no tag.
    started: bool,
    /// The text of the statement whose name is wanted.
    looking_for: Option<String>,
}

impl Outbound {
    /// From now on the name is looked for that a statement of this text is given.
    pub(super) fn look_for(&mut self, sql: &str) {
        self.looking_for = Some(sql.to_owned());
    }

    /// Looks through what the driver writes. Errors: it does not end where a message ends.
    pub(super) fn scan(&mut self, mut bytes: &[u8]) -> io::Result<Sent> {
        let mut sent = Sent::default();
        while !bytes.is_empty() {
            let tagged = usize::from(std::mem::replace(&mut self.started, true));
            let (message, rest) = split(bytes, tagged).ok_or_else(cut_short)?;
            if tagged == 0 {
                sent.requests += 1;
            } else {
                self.see(message[0], &message[5..], &mut sent);
            }
            bytes = rest;
        }
        Ok(sent)
    }

    fn see(&mut self, tag: u8, body: &[u8], sent: &mut Sent) {
        match tag {
            b'Q' | b'S' | b'F' => sent.requests += 1,
            b'P' => {
                let mut texts = body.split(|byte| *byte == 0);
                let (name, sql) = (texts.next(), texts.next());
                let wanted = self.looking_for.as_deref().map(str::as_bytes);
                if wanted.is_some() && wanted == sql {
                    self.looking_for = None;
                    sent.name = name.map(|name| String::from_utf8_lossy(name).into_owned());
                }
            }
            _ => {}
        }
    }
}

/// The first message and the rest: a tag (where there is one), a length that counts itself, a body.
fn split(bytes: &[u8], tagged: usize) -> Option<(&[u8], &[u8])> {
    let length: [u8; 4] = bytes.get(tagged..tagged + 4)?.try_into().ok()?;
    let length = usize::try_from(u32::from_be_bytes(length)).ok()?;
    if length < 4 {
        return None;
    }
    bytes.split_at_checked(tagged + length)
}

fn cut_short() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        "the driver cut a message short",
    )
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;
    use postgres_protocol::message::frontend;

    use super::*;

    #[test]
    fn requests_are_counted_and_a_statement_is_known_by_its_text() {
        let (mut outbound, mut buf) = (Outbound::default(), BytesMut::new());
        frontend::startup_message([("user", "a")], &mut buf).unwrap();
        assert_eq!(outbound.scan(&buf).unwrap().requests, 1);
        buf.clear();
        frontend::password_message(b"secret", &mut buf).unwrap();
        assert_eq!(outbound.scan(&buf).unwrap(), Sent::default());
        buf.clear();
        for (name, sql) in [("s1", "SELECT 1"), ("s2", "SELECT 2"), ("s3", "SELECT 2")] {
            frontend::parse(name, sql, [], &mut buf).unwrap();
            frontend::describe(b'S', name, &mut buf).unwrap();
            frontend::sync(&mut buf);
        }
        frontend::query("BEGIN", &mut buf).unwrap();
        outbound.look_for("SELECT 2");
        let sent = outbound.scan(&buf).unwrap();
        assert_eq!((sent.requests, sent.name.as_deref()), (4, Some("s2")));
        assert_eq!(outbound.scan(&buf).unwrap().name, None);
    }

    #[test]
    fn half_a_message_is_refused() {
        let (mut outbound, mut buf) = (Outbound::default(), BytesMut::new());
        frontend::startup_message([("user", "a")], &mut buf).unwrap();
        assert!(outbound.scan(&buf[..buf.len() - 1]).is_err());
    }
}
