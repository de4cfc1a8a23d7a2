//! Faults to arm in `tidegate-with-faults`: at which point, on which pass, what happens.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

pub use tidegate::faults::Point;

/// The variable that names the faults of a process: `commit-sent@137=kill,token-taken#2=stop`.
pub const FAULTS: &str = "TIDEGATE_FAULTS";

/// What happens at a point; once in a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// SIGKILL.
    Kill,
    /// SIGKILL so much later, during which the thread stands still and the others go on.
    KillAfter(Duration),
    /// SIGSTOP: the process stands still until somebody sends SIGCONT.
    Stop,
    /// A panic of the task.
    Panic,
    /// The thread stands still until this file is there.
    PauseUntil(PathBuf),
}

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where.
    pub point: Point,
    /// Only passes at this offset or beyond count.
    pub from: i64,
    /// On which of those, from 1.
    pub pass: u64,
    /// What.
    pub action: Action,
}

impl Fault {
    /// At the first pass of `point`.
    pub fn new(point: Point, action: Action) -> Self {
        Fault {
            point,
            from: i64::MIN,
            pass: 1,
            action,
        }
    }

    /// A SIGKILL at the first pass of `point`.
    pub fn kill(point: Point) -> Self {
        Fault::new(point, Action::Kill)
    }

    /// Not before this offset.
    pub fn from(mut self, offset: i64) -> Self {
        self.from = offset;
        self
    }

    /// Reads the faults of a list.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn list(text: &str) -> Result<Vec<Fault>, String> {
        let faults = text.split(',').filter(|fault| !fault.is_empty());
        faults.map(str::parse).collect()
    }

    /// The list as [`FAULTS`] takes it.
    pub fn show(faults: &[Fault]) -> String {
        let shown = faults.iter().map(ToString::to_string);
        shown.collect::<Vec<_>>().join(",")
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.point.name())?;
        if self.from > i64::MIN {
            write!(f, "@{}", self.from)?;
        }
        if self.pass > 1 {
            write!(f, "#{}", self.pass)?;
        }
        match &self.action {
            Action::Kill => write!(f, "=kill"),
            Action::KillAfter(time) => write!(f, "=kill:{}", time.as_millis()),
            Action::Stop => write!(f, "=stop"),
            Action::Panic => write!(f, "=panic"),
            Action::PauseUntil(file) => write!(f, "=pause:{}", file.display()),
        }
    }
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{FAULTS}: `{text}` is no fault: POINT[@OFFSET][#PASS]=ACTION");
        let (place, action) = text.split_once('=').ok_or_else(wrong)?;
        let (place, pass) = place.split_once('#').unwrap_or((place, "1"));
        let (name, from) = match place.split_once('@') {
            Some((name, from)) => (name, from.parse().map_err(|_| wrong())?),
            None => (place, i64::MIN),
        };
        let mut points = Point::ALL.into_iter();
        let (action, of) = action.split_once(':').unwrap_or((action, ""));
        Ok(Fault {
            point: points.find(|p| p.name() == name).ok_or_else(wrong)?,
            from,
            pass: pass.parse().map_err(|_| wrong())?,
            action: match (action, of) {
                ("kill", "") => Action::Kill,
                ("kill", of) => {
                    Action::KillAfter(Duration::from_millis(of.parse().map_err(|_| wrong())?))
                }
                ("stop", "") => Action::Stop,
                ("panic", "") => Action::Panic,
                ("pause", file) if !file.is_empty() => Action::PauseUntil(file.into()),
                _ => return Err(wrong()),
            },
        })
    }
}
