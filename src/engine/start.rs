//! Starts: one admission through the guards, what follows from it, and what may start next.

use super::command::Executed;
use super::counts;
use super::decide::Ruling;
use super::event::{Event, LaneId, Place};
use super::frame::Phase;
use super::guards;
use super::lanes;
use super::looks::{self, Due};
use super::outage;
use super::refusal::{Next, Refusal};
use super::rules::Rules;
use super::slice::Slice;
use super::spending;
use crate::protocol::plan::{self, Plan};
use crate::units::{RunId, Time};

/// What may happen next in the registered plan.
#[derive(Clone, Debug, PartialEq)]
pub enum Peek {
    /// The deadline of this run has passed; closing it comes first.
    Expire(RunId),
    /// This slot may start now.
    Start(Next),
    /// A look is due; taking it comes first.
    Look(Due),
    /// A guard refuses whatever could start next.
    Refused(Refusal),
    /// Nothing may start until a run under way has ended, or the study is registered.
    Wait,
    /// Every slot has ended; where the draw grows, of the tasks that are drawn by now.
    Complete,
}

/// Says what may start next; says so exactly when `decide` would grant it. Never recorded.
pub fn peek(rules: &Rules, slice: &Slice, at: Time) -> Peek {
    if slice.standing.registered.is_none() {
        return Peek::Wait;
    }
    if let Ok(due) = looks::due(rules, slice) {
        return Peek::Look(due);
    }
    let plan = rules.plan_of(slice, true);
    if slice.standing.slots_ended >= plan.len() {
        // A draw that could still grow comes to its end, too.
        let over = guards::stopped_by(rules, slice, at).filter(|_| !slice.standing.has_ended());
        return over.map_or(Peek::Complete, Peek::Refused);
    }
    if let Some(first) = unready(rules, slice, at) {
        return first;
    }
    if rules.goes_by_counts() {
        return peek_by_counts(rules, slice, at);
    }
    let may_start = |stage| guards::may_start(rules, slice, stage, at, true);
    let earliest = lanes::earliest(rules, slice, &plan, may_start);
    let Some(position) = earliest.map(|turn| turn.position) else {
        return closed_stage(rules, slice, &plan, at).map_or(Peek::Wait, Peek::Refused);
    };
    let Some(next) = lanes::next_at(rules, slice, true, position) else {
        return Peek::Wait;
    };
    match start(rules, slice, &next.task, &next.arm, &Executed::Here, at) {
        Ok(_) => Peek::Start(next),
        Err(refusal) => Peek::Refused(refusal),
    }
}

/// Returns that the stage is stopped, or closed, whose slot would come next.
fn closed_stage(rules: &Rules, slice: &Slice, plan: &Plan, at: Time) -> Option<Refusal> {
    let is_open = |stage| guards::is_open(rules, slice, stage, at);
    let stopped = lanes::earliest(rules, slice, plan, is_open);
    if let Some(turn) = stopped {
        return guards::stopped_stage(rules, slice, turn.stage, at, true);
    }
    let place = lanes::earliest(rules, slice, plan, |_| true)?.stage;
    let stage = rules.protocol().stages.get(place)?.id.clone();
    Some(Refusal::StageClosed { stage, place })
}

/// Under an order by counts one of the arms may have its turn on the first task that is open.
fn peek_by_counts(rules: &Rules, slice: &Slice, at: Time) -> Peek {
    let Some(task) = counts::first_open(rules, slice, at) else {
        return Peek::Wait;
    };
    let mut refused = None;
    for arm in &rules.protocol().arms {
        match start(rules, slice, &task, &arm.id, &Executed::Here, at) {
            Ok(_) => {
                let arm = arm.id.clone();
                return Peek::Start(Next { task, arm });
            }
            Err(refusal) if is_of_turn(&refusal) => {}
            Err(refusal) => refused = Some(refusal),
        }
    }
    refused.map_or(Peek::Wait, Peek::Refused)
}

/// Returns whether a refusal is about an arm's turn, which comes once a run has ended.
fn is_of_turn(refusal: &Refusal) -> bool {
    matches!(
        refusal,
        Refusal::SlotsUsed { .. }
            | Refusal::EarlierTaskOpen { .. }
            | Refusal::ArmTurn { .. }
            | Refusal::CapReached { .. }
    )
}

/// Says which pilot slot may start next, in the order of the pilot plan. Never recorded.
pub fn peek_pilot(rules: &Rules, slice: &Slice, at: Time) -> Peek {
    if let Some(first) = unready(rules, slice, at) {
        return first;
    }
    let plan = rules.plan_of(slice, false);
    let draft = slice.standing.draft;
    let is_free = |number: &u64| {
        let number = *number;
        let lane = slice.lane(LaneId { draft, number });
        rules.goes_by_counts() || lane.is_none_or(|lane| lane.ready().is_some())
    };
    let free = (0..plan.len()).filter(is_free);
    for next in free.filter_map(|position| lanes::next_at(rules, slice, false, position)) {
        match start(rules, slice, &next.task, &next.arm, &Executed::Here, at) {
            Ok(_) => return Peek::Start(next),
            Err(Refusal::SlotsUsed { .. }) => {}
            Err(refusal) => return Peek::Refused(refusal),
        }
    }
    match slice.standing.live.is_empty() {
        true => Peek::Complete,
        false => Peek::Wait,
    }
}

/// Returns what stands before any start: a run whose deadline has passed, or as many live runs as may
/// be.
fn unready(rules: &Rules, slice: &Slice, at: Time) -> Option<Peek> {
    if let Some(run) = rules.stale(&slice.standing, at).next() {
        return Some(Peek::Expire(run));
    }
    let runs_max = u64::from(rules.protocol().allocation.runs_max);
    (slice.standing.live.len() as u64 >= runs_max).then_some(Peek::Wait)
}

pub(super) fn start(
    rules: &Rules,
    slice: &Slice,
    task: &str,
    arm: &str,
    executed: &Executed,
    at: Time,
) -> Ruling {
    let admitted = admit(rules, slice, task, arm, executed, at)?;
    commit(rules, slice, task, arm, executed, admitted, at)
}

/// What a start may have, by what it saw.
#[derive(Clone, Debug)]
pub(super) struct Admitted {
    place: Option<Place>,
    /// How many runs of the task and arm there were.
    runs: usize,
}

/// Passes a start through every guard but those that are looked at when it is committed.
pub(super) fn admit(
    rules: &Rules,
    slice: &Slice,
    task: &str,
    arm: &str,
    executed: &Executed,
    at: Time,
) -> Result<Admitted, Refusal> {
    let place = match guards::admissible(rules, slice, task, arm, executed, at)? {
        Some((phase, listed)) => {
            let in_session = executed == &Executed::Here;
            let place = slot(rules, slice, (phase, listed), task, at, in_session)?;
            // Whether it is a rerun shows once the slot is known.
            spending::guard(rules, slice, task, arm, place.attempt > 1)?;
            Some(place)
        }
        None => None,
    };
    let runs = runs_of(slice, task, arm, place.as_ref());
    Ok(Admitted { place, runs })
}

/// Returns how many runs a task and arm have, where slots go by counts, or the slot's lane.
fn runs_of(slice: &Slice, task: &str, arm: &str, place: Option<&Place>) -> usize {
    match place {
        None => 0,
        Some(place) if place.by_counts => slice.cell(task, arm).count(),
        Some(place) => slice.lane(place.lane).map_or(0, |lane| lane.runs.len()),
    }
}

/// Starts a run that was admitted, unless somebody else was faster.
pub(super) fn commit(
    rules: &Rules,
    slice: &Slice,
    task: &str,
    arm: &str,
    executed: &Executed,
    Admitted { place, runs }: Admitted,
    at: Time,
) -> Ruling {
    if runs_of(slice, task, arm, place.as_ref()) != runs {
        return Err(Refusal::RaceLost {});
    }
    let live = slice.standing.live.len() - rules.stale(&slice.standing, at).count();
    let runs_max = rules.protocol().allocation.runs_max;
    if live as u64 >= u64::from(runs_max) {
        return Err(Refusal::CapReached { runs_max });
    }
    let derived = rules.protocol().allocation.run_seed.and(place);
    let mut events = vec![Event::Started {
        run: RunId(slice.standing.runs + 1),
        task: task.to_owned(),
        arm: arm.to_owned(),
        executed: executed.clone(),
        skipped: place.map_or(0, |place| lanes::skipped(rules, slice, &place)),
        place,
        seed: derived.map(|place| plan::run_seed(task, place.repeat - 1)),
    }];
    if let Some(place) = place {
        events.extend(spending::opened(rules, slice, task, arm, place.attempt > 1));
    }
    Ok(events)
}

/// Finds the slot that a start of an arm on a task would fill.
fn slot(
    rules: &Rules,
    slice: &Slice,
    (phase, arm): (Phase, usize),
    task: &str,
    at: Time,
    in_session: bool,
) -> Result<Place, Refusal> {
    outage::guard(rules, slice, at)?;
    if rules.goes_by_counts() {
        return counts::slot(rules, slice, phase, arm, task, at);
    }
    let may_start = |stage| guards::may_start(rules, slice, stage, at, in_session);
    lanes::slot(rules, slice, phase, arm, task, may_start)
}
