//! Evidence that a run must have left to be scored: whether it is there, and whether it coheres.
//!
//! Nothing is looked at that the arm itself could write: no arm takes its own run out of the count.

use std::fmt;

use super::command::{EndedBy, Ending, Execution, Stream};
use super::rules::Rules;
use super::slice::Run;
use crate::protocol::model::EvidenceWord;
use crate::units::{Micros, Time};

/// By how much the clock of the record may differ from that of a span: less is no word worth.
const CLOCK_SLACK: Micros = Micros::from_seconds(2);
/// How long after the end of its first process a run may still use processors: what is swept then.
const SWEEP_SLACK: Micros = Micros::from_seconds(10);

/// What is wrong with the evidence of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slip {
    /// It is not there.
    Missing(&'static str),
    /// It cannot be so.
    Incoherent(&'static str),
}

impl fmt::Display for Slip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(what) => write!(f, "the required evidence lacks {what}"),
            Self::Incoherent(how) => write!(f, "the required evidence does not cohere: {how}"),
        }
    }
}

/// What is known of a run that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// The run.
    pub run: &'a Run,
    /// How it ended.
    pub ending: &'a Ending,
    /// What was observed of it, if anything was.
    pub execution: Option<&'a Execution>,
    /// When its end was recorded.
    pub at: Time,
    /// Whether nothing was wrong with the clocks of the record: only then are its times compared with
    /// what was measured.
    pub clocks_are_right: bool,
}

/// Returns what is wrong with the evidence that the protocol requires, if anything is.
///
/// What needs the clocks to be right comes last.
pub fn slip(rules: &Rules, known: Known<'_>) -> Option<Slip> {
    if !rules
        .protocol()
        .evidence
        .contains(&EvidenceWord::Measurement)
    {
        return None;
    }
    let nothing = Execution::default();
    let execution = known.execution.unwrap_or(&nothing);
    let missing = lacking(known.ending, execution).map(Slip::Missing);
    let incoherent = || incoherent(rules, known, execution).map(Slip::Incoherent);
    missing.or_else(incoherent)
}

/// Returns what a measurement lacks.
fn lacking(ending: &Ending, execution: &Execution) -> Option<&'static str> {
    let parts = [
        ("the wall time", ending.wall.is_some()),
        (
            "how it ended: an exit status or a signal",
            execution.exit.is_some() || execution.signal.is_some(),
        ),
        ("who ended it", execution.ended_by.is_some()),
        ("the processor time by itself", execution.user.is_some()),
        (
            "the processor time by the system",
            execution.system.is_some(),
        ),
        ("the memory", execution.memory.is_some()),
        ("the bytes of its output", execution.stdout.is_some()),
        ("the bytes of its complaints", execution.stderr.is_some()),
    ];
    parts
        .iter()
        .find(|(_, there)| !there)
        .map(|(what, _)| *what)
}

/// Returns in what a measurement contradicts itself, the rules or the record.
fn incoherent(rules: &Rules, known: Known<'_>, execution: &Execution) -> Option<&'static str> {
    let wall = known.ending.wall?;
    let limits = rules.protocol().execution_of(&known.run.arm);
    let by = execution.ended_by;
    let at_limit = matches!(by, Some(EndedBy::TimeLimit | EndedBy::CpuLimit));
    let too_soon = by == Some(EndedBy::TimeLimit)
        && limits
            .timeout
            .is_some_and(|timeout| longer(wall, CLOCK_SLACK) < timeout);
    let slips = [
        (
            "it has both an exit status and a signal",
            execution.exit.is_some() && execution.signal.is_some(),
        ),
        (
            "a signal ended it, and it has none",
            by == Some(EndedBy::Signal) && execution.signal.is_none(),
        ),
        (
            "it ended by itself, and has no exit status",
            by == Some(EndedBy::Itself) && execution.exit.is_none(),
        ),
        (
            "who ended it and whether a limit did differ",
            at_limit != known.ending.timed_out,
        ),
        ("its limit ended it, before that was reached", too_soon),
        (
            "it used more processor time than its processors have",
            uses_too_much(wall, execution),
        ),
        (
            "more of its output was kept than there was",
            [&execution.stdout, &execution.stderr]
                .into_iter()
                .flatten()
                .any(is_overfull),
        ),
        (
            "it went on for longer than from its start to its end in the record",
            known.clocks_are_right && outlasts(wall, known),
        ),
        (
            "it changed files before it was started, or after its end",
            known.clocks_are_right && writes_outside(execution, known),
        ),
    ];
    slips.iter().find(|(_, found)| *found).map(|(how, _)| *how)
}

fn longer(span: Micros, by: Micros) -> Micros {
    Micros(span.0.saturating_add(by.0))
}

fn uses_too_much(wall: Micros, execution: &Execution) -> bool {
    let Some(processors) = execution.processors else {
        return false;
    };
    let parts = [execution.user, execution.system].into_iter().flatten();
    let used: i128 = parts.map(|part| i128::from(part.0)).sum();
    let most = i128::from(longer(wall, SWEEP_SLACK).0) * i128::from(processors);
    used > most
}

fn is_overfull(stream: &Stream) -> bool {
    stream.kept > stream.bytes
        || stream.tail > stream.kept
        || stream.digest.is_some() != (stream.bytes > 0)
}

fn outlasts(wall: Micros, known: Known<'_>) -> bool {
    known.run.started_at.plus(wall) > known.at.plus(CLOCK_SLACK)
}

fn writes_outside(execution: &Execution, known: Known<'_>) -> bool {
    let Some(seen) = &execution.workspace else {
        return false;
    };
    let (first, last) = (seen.first_write, seen.last_write);
    let before = |at: Time| at.plus(CLOCK_SLACK) < known.run.started_at;
    let after = |at: Time| at > known.at.plus(CLOCK_SLACK);
    first.is_some_and(before)
        || last.is_some_and(after)
        || matches!((first, last), (Some(first), Some(last)) if first > last)
}
