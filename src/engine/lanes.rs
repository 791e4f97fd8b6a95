//! The order by plan: one slot may start, the earliest that nothing stands before.
//!
//! Slots that follow one another form a lane. Blocks that were voided come first, then the plan's
//! order; a stage that is not open, or is stopped, is passed over.

use std::collections::BTreeSet;

use super::event::{Event, LaneId, Place};
use super::frame::Phase;
use super::refusal::{Next, Refusal};
use super::rules::Rules;
use super::slice::{Lane, Run, Slice, State, Turn};
use crate::protocol::model::Serial;
use crate::protocol::plan::{Plan, Slot};
use crate::units::RunId;

/// Finds the slot that a start of an arm on a task would fill.
pub(super) fn slot(
    rules: &Rules,
    slice: &Slice,
    phase: Phase,
    arm: usize,
    task: &str,
    may_start: impl Fn(usize) -> bool,
) -> Result<Place, Refusal> {
    let plan = rules.plan_of(slice, phase.confirmatory);
    let used = || Refusal::SlotsUsed {
        task: task.to_owned(),
        arm: rules.protocol().arms[arm].id.clone(),
    };
    let mut wanted = positions(&plan, phase, arm);
    if !phase.confirmatory {
        return pilot_slot(slice, &plan, wanted).ok_or_else(used);
    }
    let earliest = earliest(rules, slice, &plan, may_start).map(|turn| turn.position);
    match earliest {
        Some(position) if wanted.clone().any(|wanted| wanted == position) => {
            Ok(place(slice, &plan, 0, position))
        }
        _ if wanted.all(|position| is_taken(slice, &plan, position)) => Err(used()),
        _ => Err(Refusal::OutOfOrder {
            next: earliest.and_then(|position| next_at(rules, slice, true, position)),
        }),
    }
}

/// Returns the positions of an arm's slots on a task.
fn positions(plan: &Plan, phase: Phase, arm: usize) -> impl Iterator<Item = u64> + Clone {
    (0..plan.repeats()).map(move |repeat| plan.position(phase.index, repeat, arm as u64))
}

/// Returns the slots of an arm on a task that are not taken.
pub(super) fn free<'a>(
    slice: &'a Slice,
    plan: &'a Plan,
    phase: Phase,
    arm: usize,
) -> impl Iterator<Item = Slot> + 'a {
    let free = positions(plan, phase, arm).filter(|position| !is_taken(slice, plan, *position));
    free.map(|position| plan.slot(position))
}

/// Pilots know no order: the first slot of the arm on the task that is not taken.
fn pilot_slot(slice: &Slice, plan: &Plan, mut wanted: impl Iterator<Item = u64>) -> Option<Place> {
    let draft = slice.standing.draft;
    let free = wanted.find(|position| {
        let id = LaneId {
            draft,
            number: *position,
        };
        slice.lane(id).is_none_or(|lane| lane.ready().is_some())
    })?;
    Some(place(slice, plan, draft, free))
}

/// Returns the earliest slot of the registered plan that may start now.
pub(super) fn earliest(
    rules: &Rules,
    slice: &Slice,
    plan: &Plan,
    may_start: impl Fn(usize) -> bool,
) -> Option<Turn> {
    let one_by_one = rules.protocol().allocation.serial == Serial::Study;
    if one_by_one && slice.standing.slots_open > 0 {
        return None;
    }
    let stages = (0..plan.stages()).filter(|stage| may_start(*stage));
    let turns = stages.flat_map(|stage| {
        let waiting = slice.ready_after(stage, None).map(|(turn, _)| turn);
        [waiting, unopened(slice, plan, stage)]
            .into_iter()
            .flatten()
    });
    turns.min_by_key(|turn| (turn.first_time, turn.position))
}

/// Returns how many lanes before a run's own were opened before their time.
pub(super) fn skipped(rules: &Rules, slice: &Slice, place: &Place) -> u64 {
    // The fold takes the lane up whatever the order, so it is looked at first.
    let is_open = slice.lane(place.lane).is_some();
    if is_open || place.by_counts || !place.lane.is_registered() {
        return 0;
    }
    let lanes = rules.plan_of(slice, true).lanes_of_stage(place.stage);
    let opened = slice.standing.stages.get(place.stage);
    place.lane.number - lanes.start - opened.map_or(0, |stage| stage.lanes_opened)
}

/// Returns the first slot of a stage whose lane was never opened.
fn unopened(slice: &Slice, plan: &Plan, stage: usize) -> Option<Turn> {
    let mut lanes = plan.lanes_of_stage(stage);
    lanes.start += slice
        .standing
        .stages
        .get(stage)
        .map_or(0, |stage| stage.lanes_opened);
    // Lanes of a block that was voided are opened before their time.
    let fresh = lanes.find(|lane| slice.lane(LaneId::registered(*lane)).is_none())?;
    Some(Turn {
        stage,
        first_time: true,
        position: plan.lane_start(fresh),
    })
}

/// Returns whether a slot has ended or is under way.
fn is_taken(slice: &Slice, plan: &Plan, position: u64) -> bool {
    let id = LaneId::registered(plan.lane(&plan.slot(position)));
    slice.lane(id).is_some_and(|lane| {
        let open = || slice.run(lane.open?)?.place;
        lane.has_ended(position) || open().is_some_and(|open| open.position == position)
    })
}

/// Returns which task and arm stand at a position of the registered or the pilot plan.
pub(super) fn next_at(
    rules: &Rules,
    slice: &Slice,
    confirmatory: bool,
    position: u64,
) -> Option<Next> {
    let slot = rules.plan_of(slice, confirmatory).slot(position);
    let phase = Phase {
        confirmatory,
        index: slot.task,
    };
    let arm = usize::try_from(slot.arm).unwrap_or(usize::MAX);
    Some(Next {
        task: rules.task_at(slice, phase)?,
        arm: rules.protocol().arms[arm].id.clone(),
    })
}

fn place(slice: &Slice, plan: &Plan, draft: u64, position: u64) -> Place {
    let slot = plan.slot(position);
    let id = LaneId {
        draft,
        number: plan.lane(&slot),
    };
    let lane = slice.lane(id);
    Place {
        lane: id,
        position,
        block: plan.block(&slot),
        repeat: slot.repeat + 1,
        turn: slot.turn + 1,
        attempt: lane.map_or(0, |lane| lane.attempts_at(position)) + 1,
        stage: slot.stage,
        voids: lane.map_or(0, |lane| lane.voids),
        by_counts: false,
    }
}

/// Returns the runs of a lane at one of its positions that count as attempts.
pub(super) fn attempts_at<'a>(
    slice: &'a Slice,
    lane: &'a Lane,
    position: u64,
) -> impl Iterator<Item = &'a Run> {
    let runs = lane.runs.iter().filter_map(|run| slice.run(*run));
    runs.filter(move |run| run.place.is_some_and(|place| place.position == position))
        .filter(|run| run.state != State::Void)
}

/// Returns whether a run belongs to a block that was voided since it started.
pub(super) fn is_of_voided_block(slice: &Slice, run: &Run) -> bool {
    let Some(place) = run.place.filter(|place| !place.by_counts) else {
        return false;
    };
    slice
        .lane(place.lane)
        .is_some_and(|lane| lane.voids != place.voids)
}

/// Returns what follows where some runs are no attempts at all: they are void, and their slots wait
/// again unless other attempts have decided them.
pub(super) fn void_runs(
    slice: &Slice,
    void: &BTreeSet<RunId>,
    may_follow: impl Fn(&Run, u32) -> bool,
) -> Vec<Event> {
    let mut events: Vec<Event> = void.iter().map(|run| Event::Voided { run: *run }).collect();
    let places = void.iter().filter_map(|run| slice.run(*run)?.place);
    let mut slots: Vec<(LaneId, u64, usize)> = places
        .map(|place| (place.lane, place.position, place.stage))
        .collect();
    slots.sort_unstable();
    slots.dedup();
    for (id, position, stage) in slots {
        let Some(lane) = slice.lane(id) else { continue };
        let left: Vec<&Run> = attempts_at(slice, lane, position)
            .filter(|run| !void.contains(&run.run))
            .collect();
        let attempts = u32::try_from(left.len()).unwrap_or(u32::MAX);
        let decided = left.last().is_some_and(|last| match last.state {
            State::Scored => true,
            State::Unjudged => !may_follow(last, attempts),
            _ => false,
        });
        let ended = lane.has_ended(position);
        if ended && decided {
            continue;
        }
        events.push(Event::SlotAgain {
            lane: id,
            stage,
            position,
            attempts,
            reopened: ended,
        });
    }
    events
}

/// Returns what follows in a lane when the slot at one of its positions has ended.
pub(super) fn slot_ended(rules: &Rules, slice: &Slice, lane: &Lane, place: &Place) -> Event {
    if lane.again.contains_key(&place.position) {
        return Event::SlotEnded {
            lane: place.lane,
            next: lane.next,
            again: Some(place.position),
        };
    }
    // A pilot's lane is one slot, and the draft that planned it may not be the one opened last.
    let next = place.lane.is_registered().then(|| {
        let plan = rules.plan_of(slice, true);
        plan.next_in_lane(&plan.slot(place.position))
    });
    Event::SlotEnded {
        lane: place.lane,
        next: next.flatten(),
        again: None,
    }
}
