//! Records as tests write and read them.

/// A record to be produced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rec {
    /// Where to; by the key (as Java's default partitioner does) if none is given.
    pub partition: Option<i32>,
    /// The key; `None` is null.
    pub key: Option<Vec<u8>>,
    /// The value; `None` is a tombstone.
    pub value: Option<Vec<u8>>,
    /// The headers, in order, duplicates and nulls as they are.
    pub headers: Vec<(String, Option<Vec<u8>>)>,
    /// Milliseconds since 1970 UTC; now if none is given.
    pub timestamp: Option<i64>,
}

impl Rec {
    /// A record with this value and nothing else.
    pub fn new(value: impl Into<Vec<u8>>) -> Self {
        Rec {
            value: Some(value.into()),
            ..Rec::default()
        }
    }

    /// With this key.
    pub fn key(mut self, key: impl Into<Vec<u8>>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// A tombstone.
    pub fn null_value(mut self) -> Self {
        self.value = None;
        self
    }

    /// To this partition.
    pub fn to(mut self, partition: i32) -> Self {
        self.partition = Some(partition);
        self
    }

    /// With one more header.
    pub fn header(mut self, name: &str, value: impl Into<Vec<u8>>) -> Self {
        self.headers.push((name.to_owned(), Some(value.into())));
        self
    }

    /// With one more header whose value is null.
    pub fn null_header(mut self, name: &str) -> Self {
        self.headers.push((name.to_owned(), None));
        self
    }

    /// With this timestamp, milliseconds since 1970 UTC.
    pub fn at(mut self, millis: i64) -> Self {
        self.timestamp = Some(millis);
        self
    }

    /// With the header `event-id`.
    pub fn event_id(self, id: &str) -> Self {
        self.header("event-id", id)
    }
}

/// Where a record was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct At {
    /// The partition.
    pub partition: i32,
    /// The offset there.
    pub offset: i64,
}

/// A record as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Got {
    /// The partition.
    pub partition: i32,
    /// The offset there.
    pub offset: i64,
    /// Milliseconds since 1970 UTC.
    pub timestamp: Option<i64>,
    /// The key.
    pub key: Option<Vec<u8>>,
    /// The value.
    pub value: Option<Vec<u8>>,
    /// The headers, in order.
    pub headers: Vec<(String, Option<Vec<u8>>)>,
}

impl Got {
    /// The last header of this name as text; `None` if there is none or its value is null.
    pub fn header(&self, name: &str) -> Option<String> {
        let (_, value) = self.headers.iter().rev().find(|(n, _)| n == name)?;
        value
            .as_ref()
            .map(|v| String::from_utf8_lossy(v).into_owned())
    }

    /// The value as text.
    pub fn text(&self) -> Option<String> {
        self.value
            .as_ref()
            .map(|v| String::from_utf8_lossy(v).into_owned())
    }
}
