//! What a proxy looks for in the bytes that go to the server.

/// What to look for in the client's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// These bytes, anywhere in the stream.
    Bytes(Vec<u8>),
    /// A Kafka request with this API key: 0 Produce, 1 Fetch, 8 OffsetCommit, 9 OffsetFetch, 11 JoinGroup, 12 Heartbeat.
    KafkaApi(i16),
}

impl From<&str> for Pattern {
    fn from(text: &str) -> Self {
        Pattern::Bytes(text.as_bytes().to_vec())
    }
}

impl From<&[u8]> for Pattern {
    fn from(bytes: &[u8]) -> Self {
        Pattern::Bytes(bytes.to_vec())
    }
}

/// Longest pattern that is found across two pieces of data.
const TAIL: usize = 255;

/// One connection's place in the client's stream. It is fed every byte, so that it knows where requests begin.
#[derive(Default)]
pub(super) struct Matcher {
    tail: Vec<u8>,
    frame: Frame,
}

impl Matcher {
    /// Takes the next piece in; whether `pattern` ends or begins in it.
    pub(super) fn feed(&mut self, data: &[u8], pattern: Option<&Pattern>) -> bool {
        let keys = self.frame.feed(data);
        let found = match pattern {
            Some(Pattern::KafkaApi(key)) => keys.contains(key),
            Some(Pattern::Bytes(bytes)) => self.find(data, bytes),
            None => false,
        };
        self.tail
            .extend_from_slice(&data[data.len().saturating_sub(TAIL)..]);
        self.tail.drain(..self.tail.len().saturating_sub(TAIL));
        found
    }

    /// A match must end in `data`: one that lies in the tail alone was seen before.
    fn find(&self, data: &[u8], bytes: &[u8]) -> bool {
        let before = self
            .tail
            .len()
            .saturating_sub(bytes.len().saturating_sub(1));
        let joined = [&self.tail[before..], data].concat();
        !bytes.is_empty() && joined.windows(bytes.len()).any(|window| window == bytes)
    }
}

/// Kafka's framing: four bytes of size, then a request whose first two bytes are the API key.
#[derive(Default)]
struct Frame {
    head: Vec<u8>,
    skip: usize,
}

impl Frame {
    /// The API keys whose requests begin in `data`.
    fn feed(&mut self, mut data: &[u8]) -> Vec<i16> {
        let mut keys = Vec::new();
        while !data.is_empty() {
            if self.skip > 0 {
                let step = self.skip.min(data.len());
                self.skip -= step;
                data = &data[step..];
                continue;
            }
            let step = data.len().min(6 - self.head.len());
            self.head.extend_from_slice(&data[..step]);
            data = &data[step..];
            if let [a, b, c, d, e, f] = self.head[..] {
                keys.push(i16::from_be_bytes([e, f]));
                self.skip = (u32::from_be_bytes([a, b, c, d]) as usize).saturating_sub(2);
                self.head.clear();
            }
        }
        keys
    }
}
