//! Guests' words as log events: bounded, and unable to forge a line.

use std::borrow::Cow;

use tracing::Level;

use super::MAX_LINE;

/// Fields shown of one log line.
const MAX_FIELDS: usize = 32;

/// One log event under the target `guest`.
pub(super) fn emit(level: Level, consumer: &str, stream: &str, text: &str, fields: Option<&str>) {
    match level {
        Level::TRACE => tracing::trace!(target: "guest", consumer, stream, fields, "{text}"),
        Level::DEBUG => tracing::debug!(target: "guest", consumer, stream, fields, "{text}"),
        Level::INFO => tracing::info!(target: "guest", consumer, stream, fields, "{text}"),
        Level::WARN => tracing::warn!(target: "guest", consumer, stream, fields, "{text}"),
        Level::ERROR => tracing::error!(target: "guest", consumer, stream, fields, "{text}"),
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

/// `text` with its control characters escaped: a guest cannot forge a line or drive a terminal.
pub(super) fn printable(text: &str) -> Cow<'_, str> {
    let hidden = |c: char| c.is_control() && c != '\t';
    if !text.contains(hidden) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if hidden(c) {
            escaped.extend(c.escape_default());
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(printable("a\tb"), "a\tb");
        assert_eq!(printable("a\nb\u{1b}[0m"), "a\\nb\\u{1b}[0m");
    }
}
