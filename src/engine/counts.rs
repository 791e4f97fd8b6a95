//! The order by counts: two arms take turns, and a run's slot is its rank among the runs that count.
//!
//! Nothing about slots is stored: the runs of a task and arm are looked at in the order of their
//! starts. An error stop in an outage is no attempt at all, so a slot may be another one tomorrow.

use std::collections::BTreeMap;

use super::attempts::{self, Fate};
use super::blocks::Ending;
use super::command::Cause;
use super::event::{Event, LaneId, Place};
use super::frame::Phase;
use super::outage::{self, Window};
use super::refusal::Refusal;
use super::rules::Rules;
use super::slice::{Cell, Run, Slice, State};
use crate::protocol::model::Attempts;
use crate::units::{RunId, Time};

/// A slot of an arm on a task, and the attempt at it; both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The slot.
    pub slot: u64,
    /// The attempt.
    pub attempt: u32,
}

/// How far the slots of an arm on a task have come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filled {
    /// The slot that was filled last; 0 before the first.
    pub slot: u64,
    /// The attempt at it.
    pub attempt: u32,
    /// Whether the slot waits for its next attempt.
    pub waits: bool,
    /// How many slots have ended.
    pub ended: u64,
}

impl Filled {
    /// Returns how the slots stand with the next run that counts: it stands at the slot named then.
    #[must_use]
    pub fn with(self, attempts: &Attempts, fate: Fate) -> Self {
        let (slot, attempt) = match self.waits {
            true => (self.slot, self.attempt + 1),
            false => (self.slot + 1, 1),
        };
        let waits = attempts::follows(attempts, attempt, fate);
        Self {
            slot,
            attempt,
            waits,
            ended: self.ended + u64::from(fate != Fate::Open && !waits),
        }
    }
}

/// Fills slots with the runs that count, in the order of their starts: how they stand after each.
fn filling(
    attempts: &Attempts,
    fates: impl IntoIterator<Item = Fate>,
) -> impl Iterator<Item = (Filled, Fate)> {
    let fates = fates.into_iter();
    fates.scan(Filled::default(), |filled, fate| {
        *filled = filled.with(attempts, fate);
        Some((*filled, fate))
    })
}

/// Fills slots with the runs that count; returns how the last of them stands.
pub(super) fn fill(attempts: &Attempts, fates: impl IntoIterator<Item = Fate>) -> Filled {
    let last = filling(attempts, fates).last();
    last.map(|(filled, _)| filled).unwrap_or_default()
}

/// Returns the slot that the next run of an arm on a task would fill; none once all are taken.
///
/// A slot that waits for its next attempt comes first, whatever its number.
pub fn next(
    attempts: &Attempts,
    repeats: u64,
    fates: impl IntoIterator<Item = Fate>,
) -> Option<Attempt> {
    let filled = fill(attempts, fates);
    if filled.waits {
        return Some(Attempt {
            slot: filled.slot,
            attempt: filled.attempt + 1,
        });
    }
    (filled.slot < repeats).then_some(Attempt {
        slot: filled.slot + 1,
        attempt: 1,
    })
}

/// Returns how many slots of an arm on a task have ended.
pub fn ended(attempts: &Attempts, fates: impl IntoIterator<Item = Fate>) -> u64 {
    fill(attempts, fates).ended
}

/// Returns the runs of a task and arm that stand at a slot as they are recorded, each with how the slots
/// stand with it.
pub(super) fn seated(rules: &Rules, slice: &Slice, (task, arm): &Cell) -> Vec<(Filled, RunId)> {
    let view = View::recorded(rules, slice);
    let runs = view.runs(task, arm).map(|run| run.run);
    let filled = filling(&rules.protocol().attempts, view.fates(task, arm));
    let repeats = rules.registered_plan().repeats();
    let seats = filled.map(|(filled, _)| filled).zip(runs);
    seats.filter(|(filled, _)| filled.slot <= repeats).collect()
}

/// Returns how the slots of a task have ended, by the place of the arm and the slot, from 1.
pub(super) fn endings(rules: &Rules, slice: &Slice, task: u64) -> BTreeMap<(usize, u64), Ending> {
    let ended = ended_slots(rules, slice, task).into_iter();
    ended
        .map(|(place, (_, fate))| match fate {
            Fate::Scored => (place, Ending::Judged),
            _ => (place, Ending::Unjudged),
        })
        .collect()
}

/// Returns the runs that say how the slots of a task have ended, by the same places.
pub(super) fn closing(rules: &Rules, slice: &Slice, task: u64) -> BTreeMap<(usize, u64), RunId> {
    let ended = ended_slots(rules, slice, task).into_iter();
    ended.map(|(place, (run, _))| (place, run)).collect()
}

fn ended_slots(rules: &Rules, slice: &Slice, task: u64) -> BTreeMap<(usize, u64), (RunId, Fate)> {
    let phase = Phase {
        confirmatory: true,
        index: task,
    };
    let Some(task) = rules.task_at(slice, phase) else {
        return BTreeMap::new();
    };
    let view = View::recorded(rules, slice);
    let attempts = &rules.protocol().attempts;
    let mut ended = BTreeMap::new();
    for (arm, id) in view.arms().into_iter().enumerate() {
        let runs = view.runs(&task, id).map(|run| run.run);
        for ((filled, fate), run) in filling(attempts, view.fates(&task, id)).zip(runs) {
            if fate == Fate::Scored || (fate != Fate::Open && !filled.waits) {
                ended.insert((arm, filled.slot), (run, fate));
            }
        }
    }
    ended
}

/// What the order looks at before a slot of an arm starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turns<'a> {
    /// The arms, in the listed order.
    pub arms: [&'a str; 2],
    /// Which of them asks.
    pub arm: usize,
    /// The slot, from 1.
    pub slot: u64,
    /// How many slots of the other arm have ended.
    pub ended: u64,
    /// How many runs of the other arm are live.
    pub live: u64,
}

/// Refuses a start out of turn. `earlier` is the first earlier task with slots that have not ended;
/// it is asked for by the first slot of the first arm alone.
pub fn order(turns: Turns<'_>, earlier: impl FnOnce() -> Option<String>) -> Result<(), Refusal> {
    let is_first = turns.arm == 0;
    if is_first
        && turns.slot == 1
        && let Some(earlier) = earlier()
    {
        return Err(Refusal::EarlierTaskOpen { earlier });
    }
    let need = turns.slot - u64::from(is_first);
    if turns.ended == need && turns.live == 0 {
        return Ok(());
    }
    Err(Refusal::ArmTurn {
        before: turns.arms[1 - turns.arm].to_owned(),
        need,
        has: turns.ended,
    })
}

/// What an ending that is being decided changes before it is on the record.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Change {
    /// The run that is closed by it, and how.
    pub(super) closed: Option<(RunId, Fate)>,
    /// The run that ends as an error stop by it.
    pub(super) stopped: Option<RunId>,
    /// Its window, and whether that is an outage then.
    pub(super) window: Option<(Window, bool)>,
}

/// The runs of a study as they stand at a moment, and would stand with a change.
struct View<'a> {
    rules: &'a Rules,
    slice: &'a Slice,
    /// The draft whose pilots are meant; 0 for the registered plan.
    draft: u64,
    /// When, if runs count as stale by themselves.
    at: Option<Time>,
    change: Change,
}

impl<'a> View<'a> {
    /// Looks at the registered plan as it is recorded.
    fn recorded(rules: &'a Rules, slice: &'a Slice) -> Self {
        Self {
            rules,
            slice,
            draft: 0,
            at: None,
            change: Change::default(),
        }
    }

    /// Returns the runs that count, in the order of their starts.
    fn runs(&self, task: &str, arm: &str) -> impl Iterator<Item = &Run> {
        let runs = self.slice.cell(task, arm);
        let is_meant = |run: &&Run| {
            run.place
                .is_some_and(|place| place.lane.draft == self.draft)
        };
        runs.filter(is_meant).filter(|run| !self.is_no_attempt(run))
    }

    /// Returns their fates.
    fn fates(&self, task: &str, arm: &str) -> Vec<Fate> {
        self.runs(task, arm).map(|run| self.fate(run)).collect()
    }

    fn fate(&self, run: &Run) -> Fate {
        match self.change.closed {
            Some((closed, fate)) if closed == run.run => return fate,
            _ => {}
        }
        match self.is_stale(run) {
            true => Fate::Unjudged(Cause::Stale),
            false => Fate::of(run),
        }
    }

    fn is_stale(&self, run: &Run) -> bool {
        run.state == State::Live
            && self
                .at
                .is_some_and(|at| self.rules.is_stale(run.started_at, at))
    }

    fn is_no_attempt(&self, run: &Run) -> bool {
        if !outage::voids_runs(self.rules) {
            return false;
        }
        match (self.change.window, run.window) {
            (Some((_, is_outage)), _) if self.change.stopped == Some(run.run) => is_outage,
            (Some((window, is_outage)), Some(ended)) if window == ended => is_outage && run.error,
            _ => outage::is_no_attempt(self.rules, self.slice, run),
        }
    }

    /// Returns how many slots of both arms on a task have ended.
    fn ended(&self, task: &str) -> [u64; 2] {
        let attempts = &self.rules.protocol().attempts;
        self.arms()
            .map(|arm| ended(attempts, self.fates(task, arm)))
    }

    fn arms(&self) -> [&str; 2] {
        let arms = &self.rules.protocol().arms;
        [0, 1].map(|arm| arms[arm].id.as_str())
    }

    /// Returns the first task of the draw, before a place, with slots that have not ended.
    fn earlier(&self, before: u64) -> Option<String> {
        let repeats = self.rules.registered_plan().repeats();
        let task_at = |index| {
            let phase = Phase {
                confirmatory: true,
                index,
            };
            self.rules.task_at(self.slice, phase)
        };
        let mut after = None;
        let opened = self
            .slice
            .standing
            .stages
            .first()
            .map_or(0, |stage| stage.lanes_opened);
        loop {
            let waiting = self.slice.ready_after(0, after);
            let index = waiting.map_or(opened, |(_, lane)| lane.number);
            if index >= before {
                return None;
            }
            let task = task_at(index)?;
            // Runs that are stale and not closed end slots, too.
            if self.ended(&task).iter().any(|ended| *ended < repeats) {
                return Some(task);
            }
            after = Some(waiting?.0);
        }
    }
}

/// Finds the slot that a start of an arm on a task would fill, and refuses one out of turn.
pub(super) fn slot(
    rules: &Rules,
    slice: &Slice,
    phase: Phase,
    arm: usize,
    task: &str,
    at: Time,
) -> Result<Place, Refusal> {
    let view = View {
        rules,
        slice,
        draft: draft_of(slice, phase),
        at: Some(at),
        change: Change::default(),
    };
    let arms = view.arms();
    let repeats = rules.registered_plan().repeats();
    let attempts = &rules.protocol().attempts;
    let Some(found) = next(attempts, repeats, view.fates(task, arms[arm])) else {
        return Err(Refusal::SlotsUsed {
            task: task.to_owned(),
            arm: arms[arm].to_owned(),
        });
    };
    if phase.confirmatory {
        let other = arms[1 - arm];
        let live = slice
            .cell(task, other)
            .filter(|run| !run.is_closed() && !view.is_stale(run));
        let turns = Turns {
            arms,
            arm,
            slot: found.slot,
            ended: view.ended(task)[1 - arm],
            live: live.count() as u64,
        };
        order(turns, || view.earlier(phase.index))?;
    }
    Ok(place(rules, slice, phase, arm, found))
}

/// Returns the draft whose pilot a task is; 0 for the registered plan.
fn draft_of(slice: &Slice, phase: Phase) -> u64 {
    match phase.confirmatory {
        true => 0,
        false => slice.standing.draft,
    }
}

fn place(rules: &Rules, slice: &Slice, phase: Phase, arm: usize, found: Attempt) -> Place {
    let lane = LaneId {
        draft: draft_of(slice, phase),
        number: phase.index,
    };
    let repeat = found.slot.min(rules.registered_plan().repeats());
    Place {
        lane,
        position: rules.plan_of(slice, phase.confirmatory).position(
            phase.index,
            repeat - 1,
            arm as u64,
        ),
        block: phase.index,
        repeat: found.slot,
        turn: arm as u64 + 1,
        attempt: found.attempt,
        stage: 0,
        voids: 0,
        by_counts: true,
    }
}

/// Returns how the tasks stand whose runs a change touches: that of its own run, and those of the
/// error stops of its window where that turned into an outage, or back.
pub(super) fn counted(
    rules: &Rules,
    slice: &Slice,
    run: &Run,
    change: Change,
    turned: Option<Window>,
) -> Vec<Event> {
    let view = View {
        rules,
        slice,
        draft: 0,
        at: None,
        change,
    };
    let mut touched = vec![run];
    let stops = turned
        .into_iter()
        .flat_map(|window| slice.error_stops(window));
    touched.extend(stops.filter_map(|stop| slice.run(stop)));
    let lane = |run: &&Run| {
        run.place
            .map(|place| place.lane)
            .filter(|lane| lane.is_registered())
    };
    let mut tasks: Vec<(LaneId, &str)> = touched
        .iter()
        .filter_map(|run| Some((lane(run)?, run.task.as_str())))
        .collect();
    tasks.sort_unstable();
    tasks.dedup();
    let repeats = rules.registered_plan().repeats();
    let stands = |(lane, task): (LaneId, &str)| {
        let ended: u64 = view
            .ended(task)
            .map(|ended| ended.min(repeats))
            .iter()
            .sum();
        let before = slice.lane(lane).map_or(0, |lane| lane.ended);
        (ended != before).then_some(Event::Counted {
            lane,
            ended,
            all: ended == 2 * repeats,
        })
    };
    tasks.into_iter().filter_map(stands).collect()
}

/// Returns the first task of the draw with slots that have not ended.
pub(super) fn first_open(rules: &Rules, slice: &Slice, at: Time) -> Option<String> {
    let view = View {
        rules,
        slice,
        draft: 0,
        at: Some(at),
        change: Change::default(),
    };
    view.earlier(rules.plan_of(slice, true).tasks())
}
