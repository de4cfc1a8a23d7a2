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

/// A module, known by the sha256 of its bytes.
pub type Digest = [u8; 32];

/// The modules that tripped a brake since it was lifted last, the latest first. A brake of which none is known, by an
/// older host's word, holds back whatever runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Braked(pub Vec<Digest>);

impl Braked {
    /// Whether the brake holds back `module`.
    pub fn holds(&self, module: &Digest) -> bool {
        self.0.is_empty() || self.0.contains(module)
    }

    /// Whether another module than those is known to have tripped it: activating `module` lifts it.
    pub fn lifted_by(&self, module: &Digest) -> bool {
        !self.0.is_empty() && !self.0.contains(module)
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
    /// The modules that tripped the brake; of meaning while it is on.
    pub braked: Braked,
}

impl Control {
    /// What a host that runs `module` may do: a pause is for all hosts, a brake for those that run what tripped it.
    pub fn state_of(&self, module: &Digest) -> State {
        let spared = self.state == State::Braked && !self.braked.holds(module);
        if spared { State::Running } else { self.state }
    }

    /// Whether activating `module` lifts the brake: another module than those that tripped it does. A pause is lifted
    /// by who paused.
    pub fn lifted_by(&self, module: &Digest) -> bool {
        self.state == State::Braked && self.braked.lifted_by(module)
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
    fn a_brake_is_its_modules_and_another_module_lifts_it() {
        let of = |state| Control {
            state,
            braked: Braked(vec![[1; 32], [3; 32]]),
            ..Control::default()
        };
        for module in [[1; 32], [3; 32]] {
            assert!(!of(State::Braked).lifted_by(&module));
            assert_eq!(of(State::Braked).state_of(&module), State::Braked);
        }
        assert!(of(State::Braked).lifted_by(&[2; 32]));
        assert_eq!(of(State::Braked).state_of(&[2; 32]), State::Running);
        assert_eq!(of(State::Paused).state_of(&[2; 32]), State::Paused);
        assert!(!of(State::Paused).lifted_by(&[2; 32]));
        assert!(!of(State::Running).lifted_by(&[2; 32]));
    }

    #[test]
    fn a_brake_of_no_known_module_holds_all_back_and_is_lifted_by_hand() {
        let control = Control {
            state: State::Braked,
            ..Control::default()
        };
        assert_eq!(control.state_of(&[1; 32]), State::Braked);
        assert!(!control.lifted_by(&[1; 32]));
    }
}
