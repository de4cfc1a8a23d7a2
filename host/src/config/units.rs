//! Byte sizes, and the word that was probably meant.

use bytesize::ByteSize;

/// Reads `"4MiB"`, `"64kB"` or `"1024"`.
pub(super) fn parse_size(text: &str) -> Option<usize> {
    let size: ByteSize = text.trim().parse().ok()?;
    usize::try_from(size.as_u64()).ok()
}

/// A size as an error names it, in the largest unit that divides it.
pub(super) fn show_size(bytes: usize) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let unit = units
        .iter()
        .find(|(shift, _)| bytes >> shift != 0 && bytes.trailing_zeros() >= *shift);
    match unit {
        Some((shift, name)) => format!("{}{name}", bytes >> shift),
        None => format!("{bytes} bytes"),
    }
}

/// The known word nearest to `given`, if one is near enough to have been meant.
pub(super) fn nearest<'k>(given: &str, known: &[&'k str]) -> Option<&'k str> {
    let given = given.to_lowercase().replace('-', "_");
    let far = 1 + given.chars().count() / 4;
    let near = known
        .iter()
        .map(|word| (distance(&given, word), *word))
        .filter(|(distance, _)| *distance <= far);
    near.min().map(|(_, word)| word)
}

/// How many characters must be put in, taken out or replaced to make `b` of `a`.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}
