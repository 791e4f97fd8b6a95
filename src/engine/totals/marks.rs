//! Marks: what runs say of their slots. Of a slot that has ended, its last attempt that counts says how.

use std::collections::BTreeSet;

use crate::engine::attempts::Fate;
use crate::engine::command::Cause;
use crate::engine::counts;
use crate::engine::event::{Event, LaneId};
use crate::engine::lanes;
use crate::engine::outage;
use crate::engine::rules::Rules;
use crate::engine::slice::{Cell, Run, Slice};
use crate::units::RunId;

/// What a run says of its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mark {
    /// It is not the first attempt.
    Rerun(RunId),
    /// The slot has its score.
    Scored(RunId),
    /// The slot has ended without one.
    Unjudged(RunId, Cause),
}

impl Mark {
    pub(super) fn run(self) -> RunId {
        match self {
            Self::Rerun(run) | Self::Scored(run) | Self::Unjudged(run, _) => run,
        }
    }
}

/// Slots whose runs are looked at together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Unit {
    /// Under an order by plan.
    Lane(LaneId),
    /// Under an order by counts.
    Cell(Cell),
}

impl Unit {
    /// Returns what the runs of the slots say of them.
    pub(super) fn marks(&self, rules: &Rules, slice: &Slice) -> BTreeSet<Mark> {
        match self {
            Self::Lane(id) => marks_of_lane(slice, *id),
            Self::Cell(cell) => marks_of_cell(rules, slice, cell),
        }
    }
}

fn marks_of_lane(slice: &Slice, id: LaneId) -> BTreeSet<Mark> {
    let mut marks = BTreeSet::new();
    let Some(lane) = slice.lane(id) else {
        return marks;
    };
    let runs = lane.runs.iter().filter_map(|run| slice.run(*run));
    let positions: BTreeSet<u64> = runs.filter_map(|run| Some(run.place?.position)).collect();
    for position in positions {
        let attempts: Vec<&Run> = lanes::attempts_at(slice, lane, position).collect();
        marks.extend(attempts.iter().skip(1).map(|run| Mark::Rerun(run.run)));
        let last = attempts.last().map(|run| (run.run, Fate::of(run)));
        marks.extend(last.and_then(|(run, fate)| said(run, fate, lane.has_ended(position))));
    }
    marks
}

fn marks_of_cell(rules: &Rules, slice: &Slice, cell: &Cell) -> BTreeSet<Mark> {
    let mut marks = BTreeSet::new();
    for (filled, run) in counts::seated(rules, slice, cell) {
        marks.extend((filled.attempt > 1).then_some(Mark::Rerun(run)));
        let fate = slice.run(run).map(Fate::of);
        marks.extend(fate.and_then(|fate| said(run, fate, !filled.waits)));
    }
    marks
}

/// Returns what the last attempt at a slot says of it.
fn said(run: RunId, fate: Fate, has_ended: bool) -> Option<Mark> {
    match fate {
        Fate::Scored => Some(Mark::Scored(run)),
        Fate::Unjudged(cause) if has_ended => Some(Mark::Unjudged(run, cause)),
        _ => None,
    }
}

/// Returns the slots that events touch, where attempts may be taken out or change their slots.
pub(super) fn units(rules: &Rules, slice: &Slice, events: &[Event]) -> BTreeSet<Unit> {
    if rules.goes_by_counts() {
        let cells = cells(rules, slice, events);
        return cells.into_iter().map(Unit::Cell).collect();
    }
    match takes_out(events) {
        true => lanes(slice, events).into_iter().map(Unit::Lane).collect(),
        false => BTreeSet::new(),
    }
}

/// Returns the marks that events add, where they touch slots in no other way.
pub(super) fn added(rules: &Rules, slice: &Slice, events: &[Event]) -> BTreeSet<Mark> {
    match rules.goes_by_counts() || takes_out(events) {
        true => BTreeSet::new(),
        false => marks_of(slice, events),
    }
}

/// Returns whether events take attempts out under an order by plan, or open slots again.
fn takes_out(events: &[Event]) -> bool {
    events.iter().any(|event| {
        matches!(
            event,
            Event::Voided { .. } | Event::SlotAgain { .. } | Event::BlockVoided { .. }
        )
    })
}

/// Returns the lanes of the registered plan that events touch.
fn lanes(slice: &Slice, events: &[Event]) -> BTreeSet<LaneId> {
    let of_run = |run: RunId| Some(slice.run(run)?.place?.lane);
    let mut lanes = BTreeSet::new();
    for event in events {
        match event {
            Event::BlockVoided { lanes: all, .. } => lanes.extend(all.iter().map(|(id, _)| *id)),
            Event::SlotAgain { lane, .. } | Event::SlotEnded { lane, .. } => {
                lanes.insert(*lane);
            }
            Event::Voided { run } | Event::Scored { run, .. } => lanes.extend(of_run(*run)),
            _ => {}
        }
    }
    lanes.retain(|lane| lane.is_registered());
    lanes
}

/// Returns what events add under an order by plan, where they take nothing out.
fn marks_of(slice: &Slice, events: &[Event]) -> BTreeSet<Mark> {
    let is_slot = |run: RunId| {
        let place = slice.run(run).and_then(|run| run.place);
        place.is_some_and(|place| place.lane.is_registered())
    };
    let cause = |open: RunId| {
        events.iter().find_map(|event| match event {
            Event::Unjudged { run, cause } if *run == open => Some(*cause),
            _ => None,
        })
    };
    let mark = |event: &Event| match event {
        Event::Started {
            run,
            place: Some(place),
            ..
        } if place.lane.is_registered() && place.attempt > 1 => Some(Mark::Rerun(*run)),
        Event::Scored { run, .. } if is_slot(*run) => Some(Mark::Scored(*run)),
        Event::SlotEnded { lane, .. } if lane.is_registered() => {
            let open = slice.lane(*lane)?.open?;
            Some(Mark::Unjudged(open, cause(open)?))
        }
        _ => None,
    };
    events.iter().filter_map(mark).collect()
}

/// Returns the tasks and arms whose slots events touch under an order by counts.
fn cells(rules: &Rules, slice: &Slice, events: &[Event]) -> BTreeSet<Cell> {
    let mut cells = BTreeSet::new();
    let of_run = |run: RunId| {
        let run = slice.run(run)?;
        let place = run.place.filter(|place| place.lane.is_registered());
        place.map(|_| run.cell())
    };
    for event in events {
        match event {
            Event::Started {
                task,
                arm,
                place: Some(place),
                ..
            } if place.lane.is_registered() => {
                cells.insert((task.clone(), arm.clone()));
            }
            Event::Scored { run, .. } | Event::Unjudged { run, .. } => cells.extend(of_run(*run)),
            Event::Tallied {
                run, window, tally, ..
            } => {
                cells.extend(of_run(*run));
                let before = slice.window(*window);
                let was = before.is_some_and(|before| outage::voids_stops(rules, before));
                // What it turned into moves the earlier error stops, too.
                if was != outage::voids_stops(rules, tally) {
                    cells.extend(slice.error_stops(*window).filter_map(of_run));
                }
            }
            _ => {}
        }
    }
    cells
}
