//! What happened, and the runs that it tells of.

use prereg::engine::command::Cause;
use prereg::units::Time;

use crate::engine_common::{How, Report};

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fact {
    Opened(usize),
    Registered,
    Started(Time, Started),
    Ended(Time, u64, How),
    Scored(u64, Report),
    /// A live run's deadline has passed.
    Deadline(Time, u64),
    Unjudged(u64, Cause),
    /// A run counts no more.
    Void(u64),
    /// A run could not be prepared or started.
    NotStarted(u64),
    BlockVoid(Block),
    /// Somebody asked for another attempt at the run's slot.
    Asked(u64),
    /// The operator's hand on the breaker.
    Breaker(bool),
    /// The last slot had ended.
    Complete,
    /// A rule ended the study.
    Stopped,
    /// A look was taken; whether it ends the study.
    Looked(bool),
    Switch(Option<String>),
    /// What was read, and of whom alone it says something.
    Read(Option<i64>, Option<Time>, Of),
    Preflight(String, String),
    Probe(Option<String>),
    Checked(u64),
    /// How long a complete block took, and its number.
    Lasted(i64, usize),
    Added(String, i64),
    Drawn(Vec<String>),
}

/// What is complete or void together: a task, in a stage or in one repeat.
pub(crate) type Block = (usize, String, Option<u32>);

/// The arm and the stage whose run observed something, where a stop is about one of them alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Of {
    pub(crate) arm: Option<String>,
    pub(crate) stage: Option<usize>,
}

/// What was started, and for which slot; a control has none.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Started {
    pub(crate) control: bool,
    /// Which draft's pilot it is, by its number; 0 for the registered plan.
    pub(crate) pilot: usize,
    pub(crate) task: String,
    pub(crate) arm: String,
    pub(crate) repeat: u32,
    pub(crate) attempt: u32,
    /// How often its block had been voided.
    pub(crate) voids: usize,
    pub(crate) by_counts: bool,
}

/// A run, as all facts together say.
#[derive(Clone)]
pub(crate) struct Run<'f> {
    pub(crate) number: u64,
    pub(crate) at: Time,
    pub(crate) what: &'f Started,
    /// When its ending was recorded, by its report or by its deadline; and whether it is an error.
    pub(crate) ending: Option<(Time, bool)>,
    /// How its arm ended, if it was reported.
    pub(crate) ended: Option<How>,
    pub(crate) scored: Option<Report>,
    pub(crate) cause: Option<Cause>,
    pub(crate) void: bool,
    pub(crate) checked: bool,
}

impl Run<'_> {
    pub(crate) fn closed(&self) -> bool {
        self.scored.is_some() || self.cause.is_some() || self.void
    }

    pub(crate) fn live(&self) -> bool {
        self.ending.is_none() && !self.closed()
    }

    /// An error stop, in the hour in which it ended.
    pub(crate) fn stopped_in(&self) -> Option<i64> {
        self.ending
            .filter(|(_, error)| *error)
            .map(|(at, _)| hour(at))
    }
}

pub(crate) fn hour(at: Time) -> i64 {
    at.0 / 3_600_000_000
}

/// Folds all facts into the runs that they are about.
pub(crate) fn runs(facts: &[Fact]) -> Vec<Run<'_>> {
    let mut runs: Vec<Run<'_>> = Vec::new();
    let of = |run: &u64| *run as usize - 1;
    for fact in facts {
        match fact {
            Fact::Started(at, what) => runs.push(Run {
                number: runs.len() as u64 + 1,
                at: *at,
                what,
                ending: None,
                ended: None,
                scored: None,
                cause: None,
                void: false,
                checked: false,
            }),
            Fact::Ended(at, run, how) => {
                let run = &mut runs[of(run)];
                run.ended = Some(*how);
                run.ending = Some((*at, how.error));
            }
            Fact::Scored(run, report) => runs[of(run)].scored = Some(*report),
            Fact::Deadline(at, run) => runs[of(run)].ending = Some((*at, false)),
            Fact::Unjudged(run, cause) => runs[of(run)].cause = Some(*cause),
            Fact::Void(run) => runs[of(run)].void = true,
            Fact::Checked(run) => runs[of(run)].checked = true,
            _ => {}
        }
    }
    runs
}
