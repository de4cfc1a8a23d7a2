//! A batch that nobody can read any more: bytes flipped in the broker's own file.

use std::fs::{self, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use super::Kafka;
use crate::paths;

/// Base offset and length, in front of what the length counts.
const HEAD: usize = 12;

impl Kafka {
    /// Flips the last byte of the batch that begins at `offset`, in the partition's first segment. Its checksum fails
    /// from now on, and the broker, which does not look, serves it all the same.
    pub fn corrupt(&self, topic: &str, partition: i32, offset: i64) {
        let file = segment(topic, partition);
        let corrupted = flip(&file, offset);
        corrupted.unwrap_or_else(|e| panic!("corrupt {topic}[{partition}] at {offset}: {e}"));
    }
}

/// The first segment, in whichever directory the broker of this run keeps its logs.
fn segment(topic: &str, partition: i32) -> PathBuf {
    let inside = format!("data/{topic}-{partition}/00000000000000000000.log");
    let runs = fs::read_dir(paths::run_dir())
        .into_iter()
        .flatten()
        .flatten();
    let mut found = runs.map(|dir| dir.path().join(&inside));
    let found = found.find(|file| file.exists());
    found.unwrap_or_else(|| panic!("no segment of {topic}[{partition}]"))
}

fn flip(file: &PathBuf, offset: i64) -> std::io::Result<()> {
    let mut log = OpenOptions::new().read(true).write(true).open(file)?;
    let mut at = 0_u64;
    loop {
        let mut head = [0; HEAD];
        log.seek(SeekFrom::Start(at))?;
        log.read_exact(&mut head)?;
        let (base, length) = head.split_at(8);
        let base = i64::from_be_bytes(base.try_into().unwrap_or_default());
        let length = u64::from(u32::from_be_bytes(length.try_into().unwrap_or_default()));
        let next = at + HEAD as u64 + length;
        if base == offset {
            let last = next - 1;
            let mut byte = [0];
            log.seek(SeekFrom::Start(last))?;
            log.read_exact(&mut byte)?;
            log.seek(SeekFrom::Start(last))?;
            return log.write_all(&[!byte[0]]);
        }
        at = next;
    }
}
