//! Whether a consumer may handle records: decided for the whole fleet, kept in PostgreSQL.

/// What a consumer is allowed to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum State {
    /// It handles records.
    #[default]
    Running,
    /// An operator has paused it.
    Paused,
    /// Too many of its records were rejected, or its module tried to leave its transaction.
    Braked,
}

impl State {
    /// The word in the table, in listings and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            State::Running => "running",
            State::Paused => "paused",
            State::Braked => "braked",
        }
    }

    /// The state of that word; an unknown one, of a newer version, holds the consumer back.
    pub fn read(word: &str) -> Self {
        match word {
            "running" => State::Running,
            "braked" => State::Braked,
            _ => State::Paused,
        }
    }
}

/// A consumer's state, as the fleet knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Control {
    /// What it may do.
    pub state: State,
    /// Why it may not run.
    pub reason: Option<String>,
    /// Brakes so far.
    pub episode: i32,
    /// The module that tripped the last brake.
    pub module_digest: Option<[u8; 32]>,
}

impl Control {
    /// Whether records may be handled.
    pub fn runs(&self) -> bool {
        self.state == State::Running
    }

    /// Whether activating `digest` lifts the brake: another module than the one that tripped it does. A pause is lifted
    /// by who paused.
    pub fn lifted_by(&self, digest: &[u8; 32]) -> bool {
        self.state == State::Braked && self.module_digest.as_ref() != Some(digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_back_and_unknown_ones_hold_back() {
        for state in [State::Running, State::Paused, State::Braked] {
            assert_eq!(State::read(state.as_str()), state);
        }
        assert_eq!(State::read("draining"), State::Paused);
    }

    #[test]
    fn another_module_lifts_a_brake_and_no_pause() {
        let of = |state| Control {
            state,
            module_digest: Some([1; 32]),
            ..Control::default()
        };
        assert!(of(State::Braked).lifted_by(&[2; 32]));
        assert!(!of(State::Braked).lifted_by(&[1; 32]));
        assert!(!of(State::Paused).lifted_by(&[2; 32]));
        assert!(!of(State::Running).lifted_by(&[2; 32]));
    }
}
