//! Takes single parameters out of a connection URL or string, and leaves the rest as it was written.

/// A URL, `postgresql://user:password@host/database?name=value&…`, or a string, `name=value name='a value' …`.
pub(super) enum Params {
    Url {
        /// Up to the question mark.
        head: String,
        /// Names decoded, and both as written.
        query: Vec<(String, String)>,
    },
    Text(Vec<(String, String)>),
}

impl Params {
    /// None where it cannot be read, or could be read in two ways: an unencoded `@`, `/` or `?` of a password would
    /// let a part of it pass for a host or a database, which messages name.
    pub(super) fn split(text: &str) -> Option<Self> {
        let text = text.trim_start();
        let schemes = ["postgresql://", "postgres://"];
        let Some(rest) = schemes.iter().find_map(|scheme| text.strip_prefix(scheme)) else {
            return Some(Self::Text(pairs(text)?));
        };
        let (credentials, tail) = rest.split_once('@').unwrap_or(("", rest));
        let user = credentials.split(':').next().unwrap_or_default();
        if tail.contains('@') || user.contains(['/', '?']) {
            return None;
        }
        let question = tail.find('?').unwrap_or(tail.len());
        let head = text.len() - tail.len() + question;
        let query = tail.get(question + 1..).unwrap_or_default();
        let query = query.split('&').filter(|part| !part.is_empty());
        let query = query.map(|part| Some((decode(part.split('=').next()?)?, part.to_owned())));
        Some(Self::Url {
            head: text.get(..head)?.to_owned(),
            query: query.collect::<Option<_>>()?,
        })
    }

    /// The names, in their order.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let (Self::Url { query: pairs, .. } | Self::Text(pairs)) = self;
        pairs.iter().map(|(name, _)| name.as_str())
    }

    /// Each parameter by itself, as text that the driver reads.
    pub(super) fn each_alone(&self) -> Vec<(String, String)> {
        let alone = |(name, part): &(String, String)| {
            let alone = match self {
                Self::Url { .. } => format!("postgresql://?{part}"),
                Self::Text(_) => Self::Text(vec![(name.clone(), part.clone())]).join(),
            };
            (name.clone(), alone)
        };
        let (Self::Url { query: pairs, .. } | Self::Text(pairs)) = self;
        pairs.iter().map(alone).collect()
    }

    /// Takes a parameter out; the last one where it is given more than once.
    pub(super) fn take(&mut self, name: &str) -> Option<String> {
        let is_url = matches!(self, Self::Url { .. });
        let (Self::Url { query: pairs, .. } | Self::Text(pairs)) = self;
        let found = pairs.iter().rfind(|(known, _)| known == name)?.1.clone();
        pairs.retain(|(known, _)| known != name);
        match is_url {
            true => decode(found.split_once('=').map_or("", |(_, value)| value)),
            false => Some(found),
        }
    }

    /// Takes the password out from before the host.
    pub(super) fn drop_password(&mut self) {
        if let Self::Url { head, .. } = self
            && let Some((before, after)) = head.split_once('@')
        {
            let scheme = before.find("://").map_or(0, |at| at + 3);
            let user = before[scheme..]
                .find(':')
                .map_or(before.len(), |at| scheme + at);
            *head = format!("{}@{after}", &before[..user]);
        }
    }

    /// What is left.
    pub(super) fn join(&self) -> String {
        match self {
            Self::Url { head, query } if query.is_empty() => head.clone(),
            Self::Url { head, query } => {
                let parts: Vec<&str> = query.iter().map(|(_, part)| part.as_str()).collect();
                format!("{head}?{}", parts.join("&"))
            }
            Self::Text(pairs) => {
                let quoted = pairs.iter().map(|(name, value)| {
                    let value = value.replace('\\', r"\\").replace('\'', r"\'");
                    format!("{name}='{value}'")
                });
                quoted.collect::<Vec<_>>().join(" ")
            }
        }
    }
}

/// The pairs of a connection string, as the driver reads them.
fn pairs(text: &str) -> Option<Vec<(String, String)>> {
    let (mut rest, mut pairs) = (text.trim_start(), Vec::new());
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=')?;
        let name = name.trim_end();
        // A name such as `postgresql://…` would make the pairs that are left a URL, and one with a password.
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            return None;
        }
        let (value, after) = value(after.trim_start())?;
        pairs.push((name.to_owned(), value));
        rest = after.trim_start();
    }
    Some(pairs)
}

/// A value, plain or in quotes, and what follows it.
fn value(text: &str) -> Option<(String, &str)> {
    let (quoted, body) = match text.strip_prefix('\'') {
        Some(body) => (true, body),
        None => (false, text),
    };
    let (mut value, mut chars) = (String::new(), body.char_indices());
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => value.extend(chars.next().map(|(_, c)| c)),
            '\'' if quoted => return Some((value, &body[at + 1..])),
            c if !quoted && c.is_whitespace() => return Some((value, &body[at..])),
            c => value.push(c),
        }
    }
    (!quoted && !value.is_empty()).then_some((value, ""))
}

/// Percent-decoding; a percent sign that begins no code stands for itself, as the driver has it.
fn decode(text: &str) -> Option<String> {
    let (bytes, mut decoded, mut at) = (text.as_bytes(), Vec::new(), 0);
    while let Some(&byte) = bytes.get(at) {
        let code = text.get(at + 1..at + 3).filter(|_| byte == b'%');
        let code = code.and_then(|code| hex::decode(code).ok());
        at += if code.is_some() { 3 } else { 1 };
        decoded.extend(code.unwrap_or_else(|| vec![byte]));
    }
    String::from_utf8(decoded).ok()
}
