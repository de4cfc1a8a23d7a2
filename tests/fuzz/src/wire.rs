//! The server's messages, as they arrive.

use tidegate::inbox::fuzzing::{received, refused};

use crate::input::number;

/// How many were asked, by whom, the size of the pieces, and the bytes. However they are cut, they say the same.
pub(crate) fn wire(data: &[u8]) {
    let ([first, second, cut], bytes) = number::<3>(data);
    drop(refused(bytes));
    let asked = [first, second].map(|n| usize::from(n % 8));
    let whole = received(&asked, bytes, bytes.len().max(1));
    let pieces = received(&asked, bytes, usize::from(cut).max(1));
    match (whole, pieces) {
        (Ok(whole), Ok(pieces)) => assert_eq!(whole, pieces),
        (whole, pieces) => assert_eq!(whole.is_err(), pieces.is_err()),
    }
}
