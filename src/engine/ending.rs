//! How runs end: endings, scores, closings and deadlines, and what follows for slots, windows, blocks
//! and budgets.

use std::collections::BTreeSet;

use super::attempts::{self, Fate};
use super::budget::Cost;
use super::command::{Cause, Ending, Evidence};
use super::counts::{self, Change};
use super::decide::{Ruling, known, open_run};
use super::event::Event;
use super::evidence;
use super::guards;
use super::lanes;
use super::observation::Facts;
use super::outage;
use super::refusal::Refusal;
use super::rules::Rules;
use super::scoring::{Scores, Verdict};
use super::slice::{Run, Slice, State};
use super::spending;
use crate::protocol::canonical;
use crate::protocol::model::{ScoreWord, Voids};
use crate::units::{Digest, Money, RunId, Time};

/// Derives what rules decide by from what was observed of a run.
pub(super) fn observed(rules: &Rules, slice: &Slice, known: evidence::Known<'_>) -> Facts {
    let evidence::Known {
        run,
        ending,
        execution,
        ..
    } = known;
    let task = rules.task_in(slice, &run.task);
    let requests = &rules.protocol().execution_of(&run.arm).requests;
    let facts = match rules.observer() {
        Ok(observer) => observer.facts(run, task.as_deref(), ending, execution, requests),
        Err(_) => Facts::told(&[]),
    };
    let evident = evidence::slip(rules, known).is_none();
    Facts { evident, ..facts }
}

/// Ends a run; `facts` derives what rules decide by from what was observed of it.
pub(super) fn finish(
    rules: &Rules,
    slice: &Slice,
    run: RunId,
    ending: &Ending,
    at: Time,
    facts: impl FnOnce(&Run) -> Facts,
) -> Ruling {
    let ended = open_run(slice, run)?;
    if ended.state == State::Ended {
        return Err(Refusal::AlreadyEnded { run });
    }
    let facts = facts(ended);
    let mut events = vec![Event::Ended {
        run,
        error_stop: facts.error_stop,
        cost: facts.cost,
        used: facts.used,
    }];
    events.extend(guards::after_start(rules, slice, &ended.arm, true));
    events.extend(spending::settled(rules, slice, ended, facts.cost));
    let [arm, stage] = rules.read_apart(ended);
    let readings = facts.readings.into_iter();
    events.extend(readings.map(|(id, fields)| Event::Read {
        id,
        fields,
        arm: arm.map(str::to_owned),
        stage: stage.map(str::to_owned),
    }));
    let scoring = &rules.protocol().scoring;
    let unscored = |word| word == ScoreWord::Unjudged;
    let requires = !rules.protocol().evidence.is_empty();
    let cause = if requires && !facts.evident {
        Some(Cause::Evidence)
    } else if ending.timed_out && unscored(scoring.on_timeout) {
        Some(Cause::TimedOut)
    } else {
        let stopped = facts.error_stop == Some(true);
        (stopped && unscored(scoring.on_error_stop)).then_some(Cause::Failed)
    };
    events.extend(after_ending(rules, slice, ended, at, facts.error, cause));
    Ok(with_completion(rules, slice, events))
}

/// Returns what follows when a run of an arm ends: its window is counted, what that voids is void,
/// and otherwise the run is closed if there is a cause to.
fn after_ending(
    rules: &Rules,
    slice: &Slice,
    run: &Run,
    at: Time,
    error: bool,
    cause: Option<Cause>,
) -> Vec<Event> {
    let ended = outage::ended(rules, slice, run, at, error);
    let mut events: Vec<Event> = ended.iter().map(|ended| ended.event.clone()).collect();
    let closed = cause.map(|cause| Event::Unjudged {
        run: run.run,
        cause,
    });
    if rules.goes_by_counts() {
        events.extend(closed);
        let change = Change {
            closed: cause.map(|cause| (run.run, Fate::Unjudged(cause))),
            stopped: error.then_some(run.run),
            window: ended.as_ref().map(outage::Ended::window),
        };
        let turned = ended.and_then(|ended| ended.turned());
        events.extend(counts::counted(rules, slice, run, change, turned));
        return events;
    }
    let stopped = ended.map(|ended| ended.stopped(slice, run.run));
    let voided = void_stopped(rules, slice, run, stopped.unwrap_or_default());
    let is_void = voided.contains(&Event::Voided { run: run.run });
    if is_void {
        events.extend(voided);
    } else if lanes::is_of_voided_block(slice, run) {
        events.extend(voided);
        events.push(Event::Voided { run: run.run });
    } else {
        // Attempts that are void by it count no more for what follows.
        let left = attempts_left(run, &voided);
        events.extend(voided);
        events.extend(closed);
        let follows = cause.and_then(|cause| after_closing(rules, slice, run, Some(cause), left));
        events.extend(follows);
    }
    events
}

/// Returns how many attempts at the slot of a run are left by events, where they change that.
fn attempts_left(run: &Run, events: &[Event]) -> Option<u32> {
    let place = run.place?;
    events.iter().find_map(|event| match event {
        Event::SlotAgain {
            lane,
            position,
            attempts,
            ..
        } if (*lane, *position) == (place.lane, place.position) => Some(*attempts),
        _ => None,
    })
}

/// Voids what error stops of an outage void: themselves, or their blocks.
fn void_stopped(
    rules: &Rules,
    slice: &Slice,
    ending: &Run,
    stopped: BTreeSet<RunId>,
) -> Vec<Event> {
    let Some(rule) = &rules.protocol().outage else {
        return Vec::new();
    };
    let counts = |run: &Run| run.state != State::Void && !lanes::is_of_voided_block(slice, run);
    let stopped: Vec<&Run> = stopped
        .iter()
        .filter_map(|run| slice.run(*run))
        .filter(|run| counts(run))
        .collect();
    match rule.voids {
        Voids::Run => {
            let runs = stopped.iter().map(|run| run.run).collect();
            lanes::void_runs(slice, &runs, |run, attempts| follows(rules, run, attempts))
        }
        Voids::Block => {
            let places = stopped.iter().filter_map(|run| run.place);
            let registered = places.filter(|place| place.lane.is_registered());
            let blocks = registered.map(|place| place.block).collect();
            outage::void_blocks(rules, slice, &blocks, Some(ending.run))
        }
    }
}

/// Returns whether another attempt may follow a run that is unjudged, the last of so many.
fn follows(rules: &Rules, run: &Run, attempts: u32) -> bool {
    let rule = &rules.protocol().attempts;
    let fate = run.cause.map(Fate::Unjudged);
    fate.is_some_and(|fate| attempts::follows(rule, attempts, fate))
}

/// Scores a run; `known` digests what it is scored from, if anything.
pub(super) fn score(
    rules: &Rules,
    slice: &Slice,
    run: RunId,
    diff: Option<Digest>,
    known: impl FnOnce() -> Option<Digest>,
    verdict: impl FnOnce(&Run) -> Verdict,
) -> Ruling {
    let scored = self::known(slice, run)?;
    if scored.is_closed() && scored.evidence.is_some() && scored.evidence == known() {
        return Ok(Vec::new());
    }
    let ended = open_run(slice, run)?;
    if ended.state == State::Live {
        return Err(Refusal::NotEnded { run });
    }
    if diff.is_some() {
        diff_kept(rules, slice, ended)?;
    }
    let (event, fate) = match verdict(ended) {
        Verdict::Scored(Scores { outcomes, exposed }) => {
            let outcomes = Some(outcomes);
            let scored = Event::Scored {
                run,
                outcomes,
                exposed,
            };
            (scored, Fate::Scored)
        }
        Verdict::Unjudged(cause) => (Event::Unjudged { run, cause }, Fate::Unjudged(cause)),
    };
    let after = closed(rules, slice, ended, event, fate);
    Ok(with_completion(rules, slice, after))
}

/// Refuses a diff of a task in a split whose diffs are not to be kept.
pub(super) fn diff_kept(rules: &Rules, slice: &Slice, run: &Run) -> Result<(), Refusal> {
    let kept = rules.protocol().artefacts.as_ref();
    let kept = kept.map_or(&[] as &[String], |artefacts| &artefacts.keep_diff_for);
    let task = rules.task_in(slice, &run.task);
    let split = task.as_ref().and_then(|task| task.text("split"));
    if split.is_some_and(|split| kept.iter().any(|kept| kept == split)) {
        return Ok(());
    }
    Err(Refusal::DiffNotKept {
        task: run.task.clone(),
    })
}

/// Returns an event that closes a run, and what follows from it.
fn closed(rules: &Rules, slice: &Slice, run: &Run, event: Event, fate: Fate) -> Vec<Event> {
    let mut events = vec![event];
    if rules.goes_by_counts() {
        let change = Change {
            closed: Some((run.run, fate)),
            ..Change::default()
        };
        events.extend(counts::counted(rules, slice, run, change, None));
    } else {
        let cause = match fate {
            Fate::Unjudged(cause) => Some(cause),
            _ => None,
        };
        events.extend(after_closing(rules, slice, run, cause, None));
    }
    events
}

/// Digests what a run was scored from, so that the same report again can be told from another.
pub fn evidence_digest(evidence: &Evidence) -> Digest {
    canonical::digest(evidence)
}

pub(super) fn close(rules: &Rules, slice: &Slice, run: RunId, cause: Cause) -> Ruling {
    let closed = open_run(slice, run)?;
    if !matches!(cause, Cause::Failed | Cause::Cancelled | Cause::Lost) {
        return Err(Refusal::NotACause { cause });
    }
    let event = match lanes::is_of_voided_block(slice, closed) {
        true => Event::Voided { run },
        false => Event::Unjudged { run, cause },
    };
    let mut events = self::closed(rules, slice, closed, event, Fate::Unjudged(cause));
    if closed.state == State::Live {
        // What never started has cost nothing; what was lost, nobody knows.
        let cost = match cause {
            Cause::Failed => Cost::Known(Money(0)),
            _ => Cost::Unknown,
        };
        let mut first = spending::settled(rules, slice, closed, cost);
        let failed = cause == Cause::Failed;
        first.extend(
            failed
                .then(|| guards::after_start(rules, slice, &closed.arm, false))
                .flatten(),
        );
        events.splice(1..1, first);
    }
    Ok(with_completion(rules, slice, events))
}

pub(super) fn expire(rules: &Rules, slice: &Slice, run: RunId, at: Time) -> Ruling {
    let found = open_run(slice, run)?;
    if found.state != State::Live || !rules.is_stale(found.started_at, at) {
        return Err(Refusal::NotStale { run });
    }
    let mut events = spending::settled(rules, slice, found, Cost::Unknown);
    events.extend(after_ending(
        rules,
        slice,
        found,
        at,
        false,
        Some(Cause::Stale),
    ));
    Ok(with_completion(rules, slice, events))
}

/// Returns what follows under an order by plan when a run is closed: for its slot, of whose attempts
/// so many are left, if that has just changed.
fn after_closing(
    rules: &Rules,
    slice: &Slice,
    run: &Run,
    cause: Option<Cause>,
    left: Option<u32>,
) -> Option<Event> {
    let place = run.place?;
    let lane = slice.lane(place.lane)?;
    if lane.open != Some(run.run) || lane.voids != place.voids {
        return None;
    }
    let rule = &rules.protocol().attempts;
    let count = left.unwrap_or_else(|| lane.attempts_at(place.position));
    let fate = cause.map_or(Fate::Scored, Fate::Unjudged);
    if attempts::follows(rule, count, fate) {
        return Some(Event::SlotWaits { lane: place.lane });
    }
    Some(lanes::slot_ended(rules, slice, lane, &place))
}

/// Adds that the study is complete, if what happens ends its last slot.
pub(super) fn with_completion(rules: &Rules, slice: &Slice, mut events: Vec<Event>) -> Vec<Event> {
    let more = |event: &Event| match event {
        Event::SlotEnded { lane, .. } => i128::from(lane.is_registered()),
        Event::SlotAgain { lane, reopened, .. } => -i128::from(lane.is_registered() && *reopened),
        Event::Counted { lane, ended, .. } => {
            let before = slice.lane(*lane).map_or(0, |lane| lane.ended);
            i128::from(*ended) - i128::from(before)
        }
        Event::BlockVoided {
            requeued,
            ended,
            slots,
            ..
        } => i128::from(if *requeued { 0 } else { *slots }) - i128::from(*ended),
        _ => 0,
    };
    let more: i128 = events.iter().map(more).sum();
    let standing = &slice.standing;
    let all = i128::from(standing.slots_ended) + more == i128::from(standing.slots);
    let grows = rules.grows() && Some(standing.drawn) != rules.protocol().draw.size;
    if more > 0 && all && !grows && standing.completed.is_none() {
        events.push(Event::Completed {});
    }
    events
}
