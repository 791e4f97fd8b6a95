//! What a refusal says to people: one sentence, and what to do where something can be done.

use std::fmt;

use super::Refusal;
use crate::engine::command::Cause;
use crate::engine::slice::State;

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotEnforced { keys } => {
                write!(
                    f,
                    "this version cannot enforce {}; a registered key is never ignored",
                    keys.join(", ")
                )
            }
            Self::NotOpened {} => {
                f.write_str("no protocol stands on this record; run `prereg register` first")
            }
            Self::NotOpenedLast { opened } => write!(
                f,
                "the protocol that was opened last is sha256:{}; register that one, or open yours again",
                opened.short()
            ),
            Self::RegistrationDiffers {
                registered,
                found,
                differs,
            } => write!(
                f,
                "sha256:{} is registered, and this is sha256:{}; what differs: {}",
                registered.short(),
                found.short(),
                differs.join(", ")
            ),
            Self::SwitchUnreadable {} => {
                f.write_str("the switch cannot be read; nothing starts until its file says `on`")
            }
            Self::Off {} => {
                f.write_str("the switch is off; `prereg switch on` lets runs start again")
            }
            Self::StopFired {
                id,
                of,
                shows,
                unknown,
                ..
            } => {
                write!(f, "the stop `{id}` has fired")?;
                for_one(f, of.as_deref())?;
                because(f, shows.as_deref(), *unknown)
            }
            Self::Held {
                id,
                of,
                until,
                shows,
                unknown,
                ..
            } => {
                write!(f, "`{id}` makes starts wait")?;
                for_one(f, of.as_deref())?;
                if let Some(until) = until {
                    write!(f, " until {until}")?;
                }
                because(f, shows.as_deref(), *unknown)
            }
            Self::NotReady { arm, status: None } => write!(
                f,
                "{arm} was not looked at yet; every arm must be ready before anything starts"
            ),
            Self::NotReady {
                arm,
                status: Some(status),
            } => write!(
                f,
                "{arm} is not ready ({status}); every arm must be before anything starts"
            ),
            Self::NoDirectCell {} => f.write_str(
                "every arm is executed elsewhere, so `prereg run` has nothing to execute; start each run with `prereg start --ref`",
            ),
            Self::ArmElsewhere { arm } => write!(
                f,
                "{arm} is executed elsewhere, so `prereg run` cannot find every arm ready and starts nothing; start each run with `prereg start --ref`"
            ),
            Self::ProbeDiffers {
                probe,
                name,
                expected,
                observed,
            } => {
                let of = if name == probe {
                    String::new()
                } else {
                    format!(" of the probe `{probe}`")
                };
                write!(f, "`{name}`{of} is {observed} and must be {expected}")
            }
            Self::BindingChanged {
                arm,
                run,
                name,
                requested,
                effective,
            } => write!(
                f,
                "{arm} was asked to use `{name}` = \"{requested}\", and run {run} reports that it used {effective}; put that right, then `prereg deviate --arm {arm} --note TEXT` lets it start again"
            ),
            Self::DoesNotFit { stage, .. } => write!(
                f,
                "a block of the stage `{stage}` is not expected to end before the cut-off"
            ),
            Self::OverBudget { over, .. } => fmt::Display::fmt(over, f),
            Self::ActorNotAdmitted { actor } => write!(
                f,
                "`{actor}` is not of a kind that may write to this record; name another with `--actor`"
            ),
            Self::StageClosed { stage, .. } => write!(
                f,
                "the stage `{stage}` is not open; it opens when its registered condition holds"
            ),
            Self::LookDue { look, tasks } => write!(
                f,
                "look {look}, at the first {tasks} tasks of the draw, is due and comes first; `prereg look` takes it"
            ),
            Self::LookStopped { look } => write!(
                f,
                "look {look} has shown what was to be shown, and ends the study as registered"
            ),
            Self::LookNotDue {
                next: Some(look),
                open: Some(open),
            } => write!(
                f,
                "look {look} comes next and is not due: {open} slots of its tasks have not ended"
            ),
            Self::LookNotDue { .. } => f.write_str("no look is left to be taken"),
            Self::OutageHour { window } => write!(
                f,
                "the hour of {} is an outage; nothing starts in it",
                window.start()
            ),
            Self::EarlierTaskOpen { earlier } => write!(
                f,
                "`{earlier}` comes first, and its slots have not all ended"
            ),
            Self::ArmTurn { before, need, has } if need == has => {
                write!(f, "a run of {before} on the task is live")
            }
            Self::ArmTurn { before, need, has } => write!(
                f,
                "{before} must have ended {need} slots of the task, and has ended {has}"
            ),
            Self::RaceLost {} => f.write_str(
                "somebody else started the arm on this task at the same time; ask again",
            ),
            Self::DiffNotKept { task } => {
                write!(f, "the diff of a run on `{task}` is not to be kept")
            }
            Self::NoCheckpoint { arm, .. } => {
                write!(f, "runs of {arm} have no check in their middle")
            }
            Self::CheckpointExists { run } => {
                write!(f, "the check of run {run} was recorded, and stands")
            }
            Self::CostStands { run } => write!(
                f,
                "what run {run} cost is on the record, and stands; `prereg deviate` records that it is wrong"
            ),
            Self::NotRetried { run } => write!(
                f,
                "the slot of run {run} may not be attempted again; `rerun_on_request` names the causes that may be"
            ),
            Self::FrameClosed {} => f.write_str(
                "the tasks of this study stand in a file; only an open frame takes more",
            ),
            Self::BadTask { why } | Self::BadReading { why } => f.write_str(why),
            Self::TaskDiffers { task, fields } => write!(
                f,
                "`{task}` was added with other values of {}; an added task never changes",
                fields.join(", ")
            ),
            Self::DrawClosed {} => f.write_str(
                "the draw was made once and for all; only one that grows is appended to",
            ),
            Self::DrawGap { size } => write!(
                f,
                "the draw has {size} tasks; the next one is number {}",
                size + 1
            ),
            Self::DrawFull { size } => write!(
                f,
                "the draw ends with {size} tasks, and more would stand in it; append no more than are missing"
            ),
            Self::DrawConflict { position } => {
                write!(
                    f,
                    "another task stands at place {position} of the draw; name it there, or append after the last"
                )
            }
            Self::NotConfirmatory { task } => {
                write!(
                    f,
                    "`{task}` is not a task of a confirmatory split; add it first with `prereg task add`, where the frame is open"
                )
            }
            Self::AlreadyDrawn { task } => write!(f, "`{task}` is drawn already"),
            Self::NoSwitch {} => f.write_str("the protocol has no switch to turn; without one it is on"),
            Self::UnknownBlock { block } => write!(
                f,
                "the plan has no block {block} to void; an order by counts has none at all"
            ),
            Self::BlockScored { block } => write!(
                f,
                "a run of block {block} is scored, and what was seen is not voided"
            ),
            Self::UnknownTask { task } => write!(
                f,
                "`{task}` is not a task of the frame; name one that is, or add it where the frame is open"
            ),
            Self::UnknownArm { arm } => write!(
                f,
                "`{arm}` is neither an arm nor a control of this protocol"
            ),
            Self::BreakerOpen { failures: 0 } => f.write_str(
                "the breaker was opened by hand; `prereg breaker clear` lets runs start again",
            ),
            Self::BreakerOpen { failures } => write!(
                f,
                "the breaker is open: {failures} starts in a row have failed; mend the cause, then `prereg breaker clear`"
            ),
            Self::PastCutoff { cutoff } => write!(f, "nothing starts at or after {cutoff}"),
            Self::NotOver {} => {
                f.write_str("the study goes on: no rule has ended it, or a run of it is open")
            }
            Self::NoBreaker {} => f.write_str("the protocol has no breaker to open or clear"),
            Self::BreakerInternal {} => f.write_str(
                "the breaker opens by failures alone; `external` does not let people open it",
            ),
            Self::SplitClosed { task } => write!(
                f,
                "`{task}` is a pilot task, and pilots end with the registration"
            ),
            Self::NotRegistered { task } => write!(
                f,
                "`{task}` is a confirmatory task, and nothing is registered yet"
            ),
            Self::NotDrawn { task } => write!(f, "`{task}` is not among the drawn tasks"),
            Self::SlotsUsed { task, arm } => write!(
                f,
                "every slot of {arm} on `{task}` has ended or is under way"
            ),
            Self::OutOfOrder { next: Some(next) } => write!(
                f,
                "another slot comes first: {} on `{}`",
                next.arm, next.task
            ),
            Self::OutOfOrder { next: None } => {
                f.write_str("the slots that come first are under way")
            }
            Self::CapReached { runs_max: 1 } => f.write_str("one run is live, and no more may be"),
            Self::CapReached { runs_max } => {
                write!(f, "{runs_max} runs are live, and no more may be")
            }
            Self::UnknownRun { run } => write!(f, "there is no run {run}"),
            Self::Stale { run, closed } => write!(
                f,
                "run {run} passed its deadline and was closed at {closed}"
            ),
            Self::AlreadyClosed {
                run,
                state: State::Scored,
                ..
            } => write!(f, "run {run} is scored, and the first score stands"),
            Self::AlreadyClosed {
                run,
                state: State::Void,
                ..
            } => write!(f, "run {run} is void: an outage or a void of its block took it out"),
            Self::AlreadyClosed { run, cause, .. } => {
                write!(
                    f,
                    "run {run} is unjudged ({})",
                    cause.map_or("closed", Cause::text)
                )
            }
            Self::AlreadyEnded { run } => write!(f, "the ending of run {run} was reported before"),
            Self::NotEnded { run } => write!(f, "run {run} is still live; report its ending first"),
            Self::NotStale { run } => write!(f, "the deadline of run {run} has not passed"),
            Self::NotACause { cause } => write!(
                f,
                "`{}` is found by the engine and not reported",
                cause.text()
            ),
            Self::ExecutedHere { run } => write!(
                f,
                "run {run} is executed by `prereg run`, which reports on it itself"
            ),
            Self::WitnessTooLarge { bytes, most } => write!(
                f,
                "what shows the publication has {bytes} bytes, and at most {most} are kept; record the part of it that matters"
            ),
            Self::KeyReused { key } => write!(
                f,
                "the key `{key}` belongs to another command; give each operation a key of its own"
            ),
            Self::ChangedSinceRead { seen, stands } if stands < seen => write!(
                f,
                "this record has {stands} entries and never had the head {seen}; look at it, and name the head that it has"
            ),
            Self::ChangedSinceRead { seen, stands } => write!(
                f,
                "entry {stands} changed what this is about after the head {seen} was seen; look again before you write"
            ),
        }
    }
}

/// Adds which arm or stage alone a condition is about.
fn for_one(f: &mut fmt::Formatter<'_>, of: Option<&str>) -> fmt::Result {
    of.map_or(Ok(()), |of| write!(f, " for {of}"))
}

/// Adds why a condition is in force.
fn because(f: &mut fmt::Formatter<'_>, shows: Option<&str>, unknown: bool) -> fmt::Result {
    match (shows, unknown) {
        (_, true) => f.write_str(": a reading that it needs is unknown"),
        (Some(shows), false) => write!(f, " at {shows}"),
        (None, false) => Ok(()),
    }
}
