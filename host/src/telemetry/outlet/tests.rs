//! An outlet whose reader is slow, or gone, or there again.

use std::sync::{Condvar, Mutex, OnceLock, PoisonError};

use super::*;

/// More than a queue and what is written at once.
const OFFERED: usize = 3 * LINES;

/// A reader that the test holds: it takes nothing, refuses, or takes everything.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mood {
    Holds,
    Refuses,
    Takes,
}

#[derive(Clone)]
struct Reader(Arc<(Mutex<Seen>, Condvar)>);

/// How the reader is, and what it has read.
type Seen = (Mood, Vec<u8>);

impl Reader {
    fn new(mood: Mood) -> Self {
        Self(Arc::new((Mutex::new((mood, Vec::new())), Condvar::new())))
    }

    fn is(&self, mood: Mood) {
        self.0.0.lock().unwrap().0 = mood;
        self.0.1.notify_all();
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.0.lock().unwrap().1.clone()).unwrap()
    }

    /// Waits until the text holds `wanted`.
    fn wait(&self, wanted: &str) {
        let until = Instant::now() + Duration::from_secs(60);
        while !self.text().contains(wanted) {
            assert!(Instant::now() < until, "never came: {wanted}");
            thread::sleep(STEP);
        }
    }
}

impl Write for Reader {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let held = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self
            .0
            .1
            .wait_while(held, |state| state.0 == Mood::Holds)
            .unwrap();
        if state.0 == Mood::Refuses {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        state.1.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// As the log does, it comes back to the outlet that lost the lines.
static TELLER: OnceLock<Outlet> = OnceLock::new();

fn tell(lost: u64) {
    if let Some(outlet) = TELLER.get() {
        outlet.offer(format!("lost {lost}\n").as_bytes());
    }
}

fn open(mood: Mood) -> (Reader, Outlet, Writer) {
    let reader = Reader::new(mood);
    let (outlet, writer) = Outlet::open(reader.clone(), tell).unwrap();
    TELLER.get_or_init(|| outlet.clone());
    (reader, outlet, writer)
}

#[test]
fn a_reader_that_stands_still_holds_up_nobody_and_is_told_once_what_it_missed() {
    let (reader, outlet, writer) = open(Mood::Holds);
    (0..OFFERED).for_each(|_| outlet.offer(b"line\n"));
    let lost = outlet.lost();
    assert!(lost > 0);
    reader.is(Mood::Takes);
    reader.wait(&format!("lost {lost}\n"));
    outlet.offer(b"later\n");
    writer.close(Duration::from_secs(60));
    let text = reader.text();
    let lines = text.matches("line\n").count() as u64;
    assert_eq!(lines + lost, OFFERED as u64);
    assert_eq!(text.matches("lost ").count(), 1);
    assert!(text.contains("later\n"));
}

#[test]
fn bytes_are_bounded_as_lines_are() {
    let (reader, outlet, writer) = open(Mood::Holds);
    let line = [b'x'; 1 << 20];
    (0..10).for_each(|_| outlet.offer(&line));
    assert_eq!(outlet.lost(), 2);
    reader.is(Mood::Takes);
    writer.close(Duration::from_secs(60));
}

#[test]
fn a_reader_that_is_gone_costs_its_lines_and_comes_back_to_their_number() {
    let (reader, outlet, writer) = open(Mood::Refuses);
    outlet.offer(b"one\n");
    let until = Instant::now() + Duration::from_secs(60);
    while outlet.lost() < 1 {
        assert!(Instant::now() < until, "the line was never tried");
        thread::sleep(STEP);
    }
    reader.is(Mood::Takes);
    // Nobody logs anything: it is told all the same.
    reader.wait("lost 1\n");
    outlet.offer(b"two\n");
    writer.close(Duration::from_secs(60));
    assert!(reader.text().ends_with("two\n"));
}

#[test]
fn a_reader_that_stands_still_does_not_keep_the_end() {
    let (_reader, outlet, writer) = open(Mood::Holds);
    (0..OFFERED).for_each(|_| outlet.offer(b"line\n"));
    writer.close(Duration::from_millis(20));
}
