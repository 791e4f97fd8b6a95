//! Attempts: what the last attempt at a slot lets happen to it next.

use super::command::Cause;
use super::slice::{Run, State};
use crate::protocol::model::Attempts;

/// What became of a run, as far as its slot goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is not closed.
    Open,
    /// It is scored.
    Scored,
    /// It is unjudged, or counts so.
    Unjudged(Cause),
}

impl Fate {
    /// Returns what became of a run, as it is recorded.
    pub fn of(run: &Run) -> Self {
        Self::told(run.state, run.cause)
    }

    /// Returns what became of a run that is in a state, by a cause.
    pub fn told(state: State, cause: Option<Cause>) -> Self {
        match (state, cause) {
            (State::Scored, _) => Self::Scored,
            (State::Unjudged, Some(cause)) => Self::Unjudged(cause),
            _ => Self::Open,
        }
    }
}

/// What is done about a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// Its first or next attempt may start.
    Start,
    /// It has ended, and stays as it is.
    Keep,
    /// What became of its last attempt must be found out first.
    Reconcile,
}

/// Returns what is done about a slot, by the number and fate of the last attempt at it; `requested`
/// where a person asks for those that start again on request only.
pub fn resumes(attempts: &Attempts, last: Option<(u32, Fate)>, requested: bool) -> Resume {
    let (attempt, cause) = match last {
        None => return Resume::Start,
        Some((_, Fate::Open)) => return Resume::Reconcile,
        Some((_, Fate::Scored)) => return Resume::Keep,
        Some((attempt, Fate::Unjudged(cause))) => (attempt, cause.word()),
    };
    let by_itself = attempts.rerun.contains(&cause);
    let on_request = requested && attempts.rerun_on_request.contains(&cause);
    let is_left = attempts.per_slot.is_none_or(|per_slot| attempt < per_slot);
    if is_left && (by_itself || on_request) {
        Resume::Start
    } else {
        Resume::Keep
    }
}

/// Returns whether another attempt at a slot follows by itself.
pub fn follows(attempts: &Attempts, attempt: u32, fate: Fate) -> bool {
    resumes(attempts, Some((attempt, fate)), false) == Resume::Start
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::model::{CauseWord, LateReport};
    use crate::units::Micros;

    fn attempts(per_slot: Option<u32>) -> Attempts {
        Attempts {
            per_slot,
            rerun: vec![CauseWord::Unjudged, CauseWord::Lost],
            rerun_on_request: vec![CauseWord::Failed],
            stale_after: Micros(1),
            late_report: LateReport::Refuse,
            voids_max: None,
        }
    }

    #[test]
    fn the_last_attempt_decides_what_is_done() {
        let unjudged = |cause| Fate::Unjudged(cause);
        let rows = [
            (Some(2), None, Resume::Start, Resume::Start),
            (
                Some(2),
                Some((1, Fate::Open)),
                Resume::Reconcile,
                Resume::Reconcile,
            ),
            (None, Some((1, Fate::Scored)), Resume::Keep, Resume::Keep),
            (
                Some(2),
                Some((1, unjudged(Cause::Lost))),
                Resume::Start,
                Resume::Start,
            ),
            (
                Some(2),
                Some((2, unjudged(Cause::Lost))),
                Resume::Keep,
                Resume::Keep,
            ),
            (
                None,
                Some((9, unjudged(Cause::Lost))),
                Resume::Start,
                Resume::Start,
            ),
            (
                Some(2),
                Some((1, unjudged(Cause::NoReport))),
                Resume::Start,
                Resume::Start,
            ),
            (
                Some(2),
                Some((1, unjudged(Cause::Failed))),
                Resume::Keep,
                Resume::Start,
            ),
            (
                Some(2),
                Some((2, unjudged(Cause::Failed))),
                Resume::Keep,
                Resume::Keep,
            ),
            (
                Some(2),
                Some((1, unjudged(Cause::Stale))),
                Resume::Keep,
                Resume::Keep,
            ),
        ];
        for (per_slot, last, by_itself, on_request) in rows {
            let attempts = attempts(per_slot);
            assert_eq!(resumes(&attempts, last, false), by_itself, "{last:?}");
            assert_eq!(resumes(&attempts, last, true), on_request, "{last:?}");
        }
    }
}
