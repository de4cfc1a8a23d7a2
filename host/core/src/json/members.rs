//! Members of a document's outermost object, each of which may be named once.

use std::fmt;

use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{Found, NO_TEXT, NotJson, classify, whole};

/// What an object has under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Member<'a> {
    /// What stands there, once.
    Once(Found<'a>),
    /// The name stands there twice or more: readers differ in which of them they take.
    Twice,
}

/// What the document's outermost object has under each of `names`.
pub(crate) fn members<'a, const N: usize>(
    document: &'a [u8],
    names: [&str; N],
) -> Result<[Member<'a>; N], NotJson> {
    let text = whole(document)?.get();
    if !text.starts_with('{') {
        return Err(NotJson("is JSON, but no object"));
    }
    let mut object = serde_json::Deserializer::from_str(text);
    let found = object.deserialize_map(Named(names)).map_err(|_| NO_TEXT)?;
    let mut members = [const { Member::Once(Found::Absent) }; N];
    for (member, (raw, times)) in members.iter_mut().zip(found) {
        *member = match raw {
            _ if times > 1 => Member::Twice,
            Some(raw) => Member::Once(classify(raw)?),
            None => Member::Once(Found::Absent),
        };
    }
    Ok(members)
}

struct Named<'n, const N: usize>([&'n str; N]);

impl<'de, const N: usize> Visitor<'de> for Named<'_, N> {
    type Value = [(Option<&'de RawValue>, usize); N];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let mut found = [(None, 0); N];
        while let Some((name, raw)) = map.next_entry::<String, &RawValue>()? {
            let wanted = self.0.iter().position(|wanted| *wanted == name);
            if let Some((last, times)) = wanted.and_then(|at| found.get_mut(at)) {
                (*last, *times) = (Some(raw), *times + 1);
            }
        }
        Ok(found)
    }
}
