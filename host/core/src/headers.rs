//! Reading the one value that headers of a name agree on.

use bytes::Bytes;

use crate::record::Header;

/// What the headers of one name say. Names are compared byte for byte, as Kafka does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said<'a> {
    /// There is no header of the name.
    Nothing,
    /// One header, or several equal ones. The value may be null.
    One(Option<&'a Bytes>),
    /// Two headers of the name differ.
    Ambiguous,
}

/// What the headers called `name` say.
pub(crate) fn said<'a>(headers: &'a [Header], name: &str) -> Said<'a> {
    let mut values = headers
        .iter()
        .filter(|h| h.name == name)
        .map(|h| h.value.as_ref());
    match values.next() {
        None => Said::Nothing,
        Some(first) if values.all(|v| v == first) => Said::One(first),
        Some(_) => Said::Ambiguous,
    }
}
