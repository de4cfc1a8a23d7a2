//! Asks the database now and then how it is: for readiness, and for the figures that only it knows.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tidegate_core::failure::Failure;
use tokio_util::sync::CancellationToken;

use crate::inbox::{ClaimFigures, Inbox, LetterFigures};

/// How often the database is asked.
const TICK: Duration = Duration::from_secs(3);
/// The questions take at most one part in so many of the time.
const SHARE: u32 = 20;
/// A database that has not answered for so long is taken for away, although it has not failed yet.
const SILENCE: Duration = Duration::from_secs(15);

/// What the database said last.
#[derive(Default)]
pub struct Survey {
    last: Mutex<Option<Last>>,
}

struct Last {
    at: Instant,
    /// Until it is asked again.
    pause: Duration,
    /// None if it did not answer.
    figures: Option<Figures>,
}

/// Figures that only the database knows.
#[derive(Clone, Debug)]
pub struct Figures {
    /// Of each consumer's dead letters, in the order asked.
    pub letters: Vec<LetterFigures>,
    /// Of expired claims.
    pub claims: ClaimFigures,
}

impl Survey {
    /// Asks for the figures of `consumers` until `stop`.
    pub async fn run(
        self: Arc<Self>,
        inbox: Inbox,
        consumers: Vec<String>,
        stop: CancellationToken,
    ) {
        let names: Vec<&str> = consumers.iter().map(String::as_str).collect();
        tokio::select! {
            () = stop.cancelled() => {}
            () = self.ask(&inbox, &names) => {}
        }
    }

    async fn ask(&self, inbox: &Inbox, consumers: &[&str]) {
        loop {
            let began = Instant::now();
            let figures = figures(inbox, consumers).await;
            // Away, it is asked again soon: it is the answers that cost it something.
            let pause = match &figures {
                Ok(_) => (began.elapsed() * SHARE).max(TICK),
                Err(error) => {
                    tracing::debug!(%error, "the database did not answer");
                    TICK
                }
            };
            let last = Last {
                at: Instant::now(),
                pause,
                figures: figures.ok(),
            };
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(last);
            tokio::time::sleep(pause).await;
        }
    }

    /// The figures, if the database answered when it was last asked.
    pub fn figures(&self) -> Option<Figures> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let figures = last.as_ref().and_then(|last| last.figures.as_ref());
        figures.cloned()
    }

    /// Why the database is not to be counted on now, in words.
    pub fn problem(&self) -> Option<String> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match last.as_ref() {
            None => Some("the database has not answered yet".to_owned()),
            Some(last) if last.figures.is_none() => Some("the database does not answer".to_owned()),
            Some(last) if last.is_old() => Some(format!(
                "the database has not answered for {} s",
                last.at.elapsed().as_secs()
            )),
            Some(_) => None,
        }
    }
}

impl Last {
    fn is_old(&self) -> bool {
        // A slow answer is followed by a longer pause.
        self.at.elapsed() > self.pause + SILENCE
    }
}

async fn figures(inbox: &Inbox, consumers: &[&str]) -> Result<Figures, Failure> {
    Ok(Figures {
        letters: inbox.letter_figures(consumers).await?,
        claims: inbox.claim_figures().await?,
    })
}
