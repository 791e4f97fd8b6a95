//! What happened, and the runs that it tells of.

use prereg::engine::command::Cause;
use prereg::units::Time;

use crate::engine_common::Report;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fact {
    Opened(usize),
    Registered,
    Started(Time, Started),
    Ended(u64),
    Scored(u64, Report),
    Unjudged(u64, Cause),
    /// The operator's hand on the breaker.
    Breaker(bool),
    /// A rule ended the study.
    Stopped,
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
}

/// A run, as all facts together say.
pub(crate) struct Run<'f> {
    pub(crate) at: Time,
    pub(crate) what: &'f Started,
    pub(crate) ended: bool,
    pub(crate) scored: Option<Report>,
    pub(crate) cause: Option<Cause>,
}

impl Run<'_> {
    pub(crate) fn closed(&self) -> bool {
        self.scored.is_some() || self.cause.is_some()
    }

    pub(crate) fn live(&self) -> bool {
        !self.ended && !self.closed()
    }
}

/// Folds all facts into the runs that they are about.
pub(crate) fn runs(facts: &[Fact]) -> Vec<Run<'_>> {
    let mut runs: Vec<Run<'_>> = Vec::new();
    for fact in facts {
        match fact {
            Fact::Opened(_) | Fact::Registered | Fact::Breaker(_) | Fact::Stopped => {}
            Fact::Started(at, what) => runs.push(Run {
                at: *at,
                what,
                ended: false,
                scored: None,
                cause: None,
            }),
            Fact::Ended(run) => runs[*run as usize - 1].ended = true,
            Fact::Scored(run, report) => runs[*run as usize - 1].scored = Some(*report),
            Fact::Unjudged(run, cause) => runs[*run as usize - 1].cause = Some(*cause),
        }
    }
    runs
}
