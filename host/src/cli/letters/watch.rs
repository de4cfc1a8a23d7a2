//! Watching replays: a bar where stderr is a terminal, lines of the log where it is none.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use tidegate_core::failure::Failure;

use super::super::CliError;
use crate::inbox::{Inbox, ReplayProgress};

/// How often it looks.
const LOOK: Duration = Duration::from_millis(300);
/// How often it asks who is there.
const HOSTS: Duration = Duration::from_secs(2);
/// How long all hosts may be gone in the middle of a replay, as when one is started again.
const GONE: Duration = Duration::from_secs(30);
/// How often it asks a database that is away.
const AWAY: Duration = Duration::from_secs(1);
/// How long nothing may go on before somebody changes something, until watching ends.
const STOPPED: Duration = Duration::from_secs(5);
/// How often a line is logged while something goes on.
const LINE: Duration = Duration::from_secs(5);

/// How watching ended.
pub(super) enum Watched {
    /// All replays have ended.
    Ended,
    /// Somebody pressed Ctrl-C.
    Interrupted,
    /// Nobody is there to do the work of this consumer.
    NoHost(String),
    /// All letters that are left wait for somebody to change something.
    Stopped,
}

/// Watches these replays to their end; where they stand then, and how it came to that.
pub(super) async fn watch(
    inbox: &Inbox,
    ids: &[i64],
) -> Result<(Vec<ReplayProgress>, Watched), CliError> {
    let mut view = View::new();
    let mut hosts = Hosts::default();
    // The hosts go on once the database is back, and so does who watches them.
    let (mut seen, mut last, mut stopped) = (false, Vec::new(), None);
    loop {
        let replays = match inbox.replays(ids).await {
            Err(Failure::Unreachable { message }) if seen => {
                view.away(&message);
                if interrupted_within(AWAY).await {
                    view.end();
                    return Ok((last, Watched::Interrupted));
                }
                continue;
            }
            replays => replays?,
        };
        seen = true;
        view.show(&replays);
        let Some(open) = replays.iter().find(|replay| replay.status == "open") else {
            view.end();
            return Ok((replays, Watched::Ended));
        };
        if hosts.are_gone(inbox, open).await {
            view.end();
            let consumer = open.consumer.clone();
            return Ok((replays, Watched::NoHost(consumer)));
        }
        let mut open = replays.iter().filter(|replay| replay.status == "open");
        match open.all(ReplayProgress::is_stopped) {
            true => {
                let since = *stopped.get_or_insert_with(Instant::now);
                if since.elapsed() >= STOPPED {
                    view.end();
                    return Ok((replays, Watched::Stopped));
                }
            }
            false => stopped = None,
        }
        last = replays;
        if interrupted_within(LOOK).await {
            view.end();
            return Ok((last, Watched::Interrupted));
        }
    }
}

/// Waits so long, but no longer than until somebody presses Ctrl-C; whether that is so.
async fn interrupted_within(time: Duration) -> bool {
    tokio::select! {
        _ = tokio::signal::ctrl_c() => true,
        () = tokio::time::sleep(time) => false,
    }
}

/// When hosts were asked for, and since when none is there.
#[derive(Default)]
struct Hosts {
    asked: Option<Instant>,
    gone: Option<Instant>,
}

impl Hosts {
    /// Whether nobody is there to wait for: from the beginning, or for too long.
    async fn are_gone(&mut self, inbox: &Inbox, open: &ReplayProgress) -> bool {
        if self.asked.is_some_and(|asked| asked.elapsed() < HOSTS) {
            return false;
        }
        let first = self.asked.replace(Instant::now()).is_none();
        // Where the database does not tell, nobody is known to be gone.
        let alive = inbox.live_hosts(Some(&open.consumer)).await;
        if alive.map_or(true, |alive| !alive.is_empty()) {
            self.gone = None;
            return false;
        }
        let since = *self.gone.get_or_insert_with(Instant::now);
        (first && !open.taken) || since.elapsed() >= GONE
    }
}

struct View {
    bar: Option<ProgressBar>,
    said: (Instant, i64, Option<String>),
}

impl View {
    fn new() -> Self {
        let style = ProgressStyle::with_template("{bar:40} {pos}/{len} letters  {msg}");
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(0);
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        Self {
            bar,
            said: (Instant::now(), 0, None),
        }
    }

    fn show(&mut self, replays: &[ReplayProgress]) {
        let sum = |of: fn(&ReplayProgress) -> i64| replays.iter().map(of).sum::<i64>();
        let (letters, settled) = (sum(|r| r.letters), sum(ReplayProgress::settled));
        let rejected = sum(|r| r.rejected);
        let waits = replays.iter().find_map(ReplayProgress::words);
        if let Some(bar) = &self.bar {
            bar.set_length(u64::try_from(letters).unwrap_or(0));
            bar.set_position(u64::try_from(settled).unwrap_or(0));
            let waits = waits.map_or_else(String::new, |words| format!(", waits: {words}"));
            bar.set_message(format!("{rejected} rejected again{waits}"));
            return;
        }
        let moved = settled != self.said.1 && self.said.0.elapsed() >= LINE;
        if moved {
            tracing::info!(letters, settled, rejected, "replaying");
            (self.said.0, self.said.1) = (Instant::now(), settled);
        }
        if waits != self.said.2 {
            if let Some(words) = &waits {
                tracing::warn!(words, "the replay waits");
            }
            self.said.2 = waits;
        }
    }

    fn away(&mut self, why: &str) {
        if self.said.2.as_deref() != Some(why) {
            tracing::warn!(
                why,
                "the database does not tell how far the replay is; its hosts wait for it too"
            );
            self.said.2 = Some(why.to_owned());
        }
    }

    fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.abandon();
        }
    }
}
