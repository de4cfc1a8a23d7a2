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
    fn what_is_not_shown_as_it_stands_is_escaped() {
        assert!(matches!(escaped("zażółć \\n 語"), Cow::Borrowed(_)));
        assert_eq!(escaped("a\nb\u{1b}[0m\u{7f}"), "a\\nb\\u{1b}[0m\\u{7f}");
        assert_eq!(escaped("a\u{85}b\u{2028}c"), "a\\u{85}b\\u{2028}c");
        for c in "\u{202a}\u{202e}\u{2066}\u{2069}\u{200e}\u{200f}\u{61c}\u{2029}\u{9b}".chars() {
            assert_eq!(escaped(&c.to_string()), c.escape_default().to_string());
        }
    }
}
