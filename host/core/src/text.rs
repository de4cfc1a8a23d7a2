//! Texts from outside, made fit for PostgreSQL, headers, logs and terminals.

use std::borrow::Cow;

/// `text` without NUL, which PostgreSQL's text cannot hold, cut to at most `max` bytes between two
/// characters.
pub fn bounded(text: &str, max: usize) -> String {
    let mut kept = String::with_capacity(text.len().min(max));
    for c in text.chars().filter(|c| *c != '\0') {
        if kept.len() + c.len_utf8() > max {
            break;
        }
        kept.push(c);
    }
    kept
}

/// Whether `c` does more than stand in its line: ends it, moves a terminal's cursor, or turns the direction in which what
/// follows is shown. So a text with it can forge a line, drive a terminal, or show as another text.
///
/// These are Unicode's control characters (C0, DEL, C1 with NEL), line and paragraph separator, and the
/// bidirectional marks, embeddings, overrides and isolates (UAX #9).
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{2028}' | '\u{2029}' | '\u{61c}' | '\u{200e}' | '\u{200f}'
        )
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `text` as one line that a terminal shows as it is: what [`is_unprintable`] is escaped as Rust writes it (`\n`,
/// `\u{1b}`). A backslash stays as it is, so that this is for the eye and is not read back.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unprintable) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        push_escaped(&mut shown, c);
    }
    Cow::Owned(shown)
}

/// Adds `c` as [`escaped`] shows it.
pub fn push_escaped(shown: &mut String, c: char) {
    match is_unprintable(c) {
        true => shown.extend(c.escape_default()),
        false => shown.push(c),
    }
}

/// `text` as a terminal shows it, its lines kept: what [`is_unprintable`] but a line's end is escaped as JSON writes it
/// (`\u001b`), so that a JSON document stays the document it is.
pub fn for_terminal(text: &str) -> Cow<'_, str> {
    let hidden = |c: char| c != '\n' && is_unprintable(c);
    if !text.contains(hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match hidden(c) {
            true => shown.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_between_characters() {
        assert_eq!(bounded("aé", 2), "a");
        assert_eq!(bounded("aé", 3), "aé");
        assert_eq!(bounded("a\0b", 8), "ab");
        assert_eq!(bounded("", 0), "");
    }

    #[test]
    fn a_document_for_a_terminal_is_the_same_document() {
        let document = "{\n\"a\":\"\u{7f}x\u{202e}y\u{2028}z\u{9b}\"}";
        let shown = for_terminal(document);
        assert_eq!(shown, "{\n\"a\":\"\\u007fx\\u202ey\\u2028z\\u009b\"}");
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(read(&shown), read(document));
        assert!(matches!(for_terminal("a\nb"), Cow::Borrowed(_)));
    }

    #[test]
    fn what_is_not_shown_as_it_stands_is_escaped() {
        assert!(matches!(escaped("zażółć \\n 語"), Cow::Borrowed(_)));
        assert_eq!(escaped("a\nb\u{1b}[0m\u{7f}"), "a\\nb\\u{1b}[0m\\u{7f}");
        assert_eq!(escaped("a\u{85}b\u{2028}c"), "a\\u{85}b\\u{2028}c");
        for c in "\u{202a}\u{202e}\u{2066}\u{2069}\u{200e}\u{200f}\u{61c}\u{2029}\u{9b}".chars() {
            assert_eq!(escaped(&c.to_string()), c.escape_default().to_string());
        }
    }
}
