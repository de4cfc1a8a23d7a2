//! Texts from outside, made fit for PostgreSQL, headers and logs.

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

#[cfg(test)]
mod tests {
    use super::bounded;

    #[test]
    fn cuts_between_characters() {
        assert_eq!(bounded("aé", 2), "a");
        assert_eq!(bounded("aé", 3), "aé");
        assert_eq!(bounded("a\0b", 8), "ab");
        assert_eq!(bounded("", 0), "");
    }
}
