//! Guests' words as log events: bounded, and unable to forge a line.

use std::borrow::Cow;

use tidegate_core::text::{is_unprintable, push_escaped};
use tracing::Level;

use super::MAX_LINE;
use super::about::About;

/// Fields shown of one log line.
const MAX_FIELDS: usize = 32;

/// A line of a guest's, and where it comes from.
pub(super) struct Line<'a> {
    pub(super) consumer: &'a str,
    pub(super) about: &'a About,
    /// `log`, `stdout`, `stderr`, `skip`.
    pub(super) stream: &'a str,
    pub(super) fields: Option<&'a str>,
}

/// The macros want a constant level, and the record's place as fields of its own.
macro_rules! event {
    ($level:ident, $line:expr, $text:expr) => {{
        let Line { consumer, about, stream, fields } = $line;
        tracing::$level!(
            target: "guest",
            consumer,
            topic = about.topic(),
            partition = about.partition(),
            offset = about.offset(),
            event_id = about.event_id(),
            stream,
            fields,
            "{}",
            $text
        )
    }};
}

/// One log event under the target `guest`.
pub(super) fn emit(level: Level, line: Line<'_>, text: &str) {
    match level {
        Level::TRACE => event!(trace, line, text),
        Level::DEBUG => event!(debug, line, text),
        Level::INFO => event!(info, line, text),
        Level::WARN => event!(warn, line, text),
        Level::ERROR => event!(error, line, text),
    }
}

pub(super) fn render(fields: &[(String, String)]) -> String {
    let shown = fields.iter().take(MAX_FIELDS);
    let shown: Vec<String> = shown
        .map(|(k, v)| format!("{}={}", printable(cut(k)), printable(cut(v))))
        .collect();
    let mut text = shown.join(" ");
    if fields.len() > MAX_FIELDS {
        text.push_str(" …");
    }
    text
}

pub(super) fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_LINE)]
}

/// `text` with what is unprintable escaped, but for tabs: a guest cannot forge a line or drive a terminal.
pub(super) fn printable(text: &str) -> Cow<'_, str> {
    let hidden = |c: char| c != '\t' && is_unprintable(c);
    if !text.contains(hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\t' => shown.push(c),
            _ => push_escaped(&mut shown, c),
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(printable("a\tb"), "a\tb");
        assert_eq!(printable("a\tb\nc\u{1b}[0m"), "a\tb\\nc\\u{1b}[0m");
        assert_eq!(printable("a\u{202e}b"), "a\\u{202e}b");
    }
}
