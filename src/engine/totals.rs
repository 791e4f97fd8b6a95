//! Totals: what became of slots, blocks and controls so far, kept as commands are granted, so that
//! nobody looks at every run to say it.
//!
//! The fold knows no protocol, and which attempt speaks for a slot is the protocol's to say. So totals
//! are moved on beside it: what a command touches is looked at before the fold and after it, and
//! what is said there no more is taken out again. What a run says of its slot is a mark. How many slots of the tasks
//! of each scheduled look have ended is moved on here, too, for it takes the plan.

mod marks;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::blocks;
use super::command::{Cause, Command};
use super::event::{Event, Outcomes};
use super::evolve;
use super::exact::Exact;
use super::facts::{Fact, FactKey};
use super::looks;
use super::outage;
use super::rules::Rules;
use super::slice::{Missing, Run, Slice};
use crate::units::RunId;
use marks::{Mark, Unit};

/// What became of the slots of an arm.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Totals {
    /// Slots that have a scored run.
    pub scored: u64,
    /// Runs that were a second or later attempt.
    #[serde(skip_serializing_if = "is_zero")]
    pub reruns: u64,
    /// Slots that have ended without a score, by the cause of the last attempt.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unjudged: BTreeMap<Cause, u64>,
    /// The known values of each outcome.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub outcomes: BTreeMap<String, Values>,
}

/// The known values of an outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Values {
    /// How many there are.
    pub known: u64,
    /// How many are true.
    #[serde(skip_serializing_if = "is_zero")]
    pub yes: u64,
    /// The sum of those that are numbers.
    #[serde(skip_serializing_if = "Exact::is_zero")]
    pub sum: Exact,
}

/// What became of the runs of a control.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ControlTotals {
    /// On how many tasks a run of it is closed.
    pub tasks: u64,
    /// How many of them have each outcome true, and how many false.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub outcomes: BTreeMap<String, (u64, u64)>,
}

impl ControlTotals {
    /// Returns on how many tasks an outcome is true, and on how many it is false.
    pub fn of(&self, outcome: &str) -> (u64, u64) {
        self.outcomes.get(outcome).copied().unwrap_or_default()
    }
}

/// What a control came to on a task: each outcome, by its first run that has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ControlResult(pub BTreeMap<String, (RunId, bool)>);

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What events touch, as it stood before they were folded.
#[derive(Debug, Default)]
struct Touched {
    units: BTreeMap<Unit, BTreeSet<Mark>>,
    /// What is known without looking, as nothing is taken out.
    marks: BTreeSet<Mark>,
    /// Blocks, and whether they were complete.
    blocks: BTreeMap<u64, bool>,
    slots_void: u64,
    /// By how much the ended slots of each look move.
    looks: Vec<i64>,
    /// Runs of controls that are closed.
    controls: Vec<RunId>,
}

/// How totals stand after events.
#[derive(Debug, Default)]
struct Moved {
    /// What is said of slots now, or is said no more.
    marks: Vec<(Mark, i64)>,
    /// What is known of controls.
    controls: BTreeMap<FactKey, Fact>,
    blocks_complete: u64,
    slots_void: u64,
    /// By how much the ended slots of each look move.
    looks: Vec<i64>,
}

/// Applies a command that was granted, and moves the totals on; `load` brings the rows that these look at.
///
/// Returns whether every row was there that the fold itself touched: where the command was decided
/// before, they all are.
pub fn apply<E>(
    rules: Option<&Rules>,
    slice: &mut Slice,
    command: &Command,
    events: &[Event],
    mut load: impl FnMut(&mut Slice, Missing) -> Result<bool, E>,
) -> Result<bool, E> {
    let touched = slice.ask(|slice| touched(rules, slice, events), &mut load)?;
    evolve::apply(slice, command, events);
    let was_there = slice.missed().is_none();
    let moved = slice.ask(|slice| touched.moved(rules, slice, events), &mut load)?;
    moved.keep(slice);
    Ok(was_there)
}

/// Looks at what events touch, before they are folded.
fn touched(rules: Option<&Rules>, slice: &Slice, events: &[Event]) -> Touched {
    let mut touched = Touched::default();
    let Some(rules) = rules else { return touched };
    touched.controls = controls(slice, events);
    for (block, is_open) in blocks_of(rules, slice, events) {
        let plan = rules.plan_of(slice, true);
        let is_whole = !is_open && blocks::is_whole(rules, slice, &plan, block);
        touched.blocks.insert(block, is_whole);
    }
    touched.slots_void = slots_void(rules, slice, events);
    touched.looks = looks::moved(rules, slice, events);
    touched.marks = marks::added(rules, slice, events);
    for unit in marks::units(rules, slice, events) {
        let marks = unit.marks(rules, slice);
        touched.units.insert(unit, marks);
    }
    touched
}

impl Touched {
    /// Says how totals stand now that the events are folded.
    fn moved(&self, rules: Option<&Rules>, slice: &Slice, events: &[Event]) -> Moved {
        let mut moved = Moved {
            blocks_complete: slice.standing.blocks_complete,
            slots_void: slice.standing.slots_void,
            looks: self.looks.clone(),
            ..Moved::default()
        };
        let Some(rules) = rules else { return moved };
        for (block, was) in &self.blocks {
            let plan = rules.plan_of(slice, true);
            let is = blocks::is_whole(rules, slice, &plan, *block);
            let more = i64::from(is) - i64::from(*was);
            moved.blocks_complete = moved.blocks_complete.saturating_add_signed(more);
        }
        let void = slots_void(rules, slice, events);
        moved.slots_void = (moved.slots_void + void).saturating_sub(self.slots_void);
        for mark in &self.marks {
            moved.mark(slice, *mark, 1);
        }
        for (unit, before) in &self.units {
            let after = unit.marks(rules, slice);
            for mark in before.difference(&after) {
                moved.mark(slice, *mark, -1);
            }
            for mark in after.difference(before) {
                moved.mark(slice, *mark, 1);
            }
        }
        for run in self.controls.iter().filter_map(|run| slice.run(*run)) {
            moved.control(slice, run);
        }
        moved
    }
}

impl Moved {
    /// Puts the totals in their places.
    fn keep(self, slice: &mut Slice) {
        slice.standing.blocks_complete = self.blocks_complete;
        slice.standing.slots_void = self.slots_void;
        slice.standing.looked.count(&self.looks);
        for (mark, times) in self.marks {
            let key = |run: &Run| FactKey::Totals(run.arm.clone());
            slice.change_fact(mark.run(), key, |fact, run| {
                let fact = fact.get_or_insert_with(|| Fact::Totals(Totals::default()));
                if let Fact::Totals(totals) = fact {
                    totals.mark(mark, run.outcomes.as_ref(), times);
                }
            });
        }
        for (key, fact) in self.controls {
            slice.set_fact(key, fact);
        }
    }

    /// Adds a mark to the totals of its arm, or takes it out; looks for all that this changes.
    fn mark(&mut self, slice: &Slice, mark: Mark, times: i64) {
        if let Some(run) = slice.run(mark.run()) {
            let _ = slice.fact(&FactKey::Totals(run.arm.clone()));
            self.marks.push((mark, times));
        }
    }

    /// Takes note of a run of a control that is closed. The first result stands: another run of the same
    /// control on the task changes nothing.
    fn control(&mut self, slice: &Slice, run: &Run) {
        let key = FactKey::Result(run.arm.clone(), run.task.clone());
        let of_control = FactKey::Control(run.arm.clone());
        let mut totals = match slice.fact(&of_control) {
            Some(Fact::Control(totals)) => totals.clone(),
            _ => ControlTotals::default(),
        };
        let mut result = match slice.fact(&key) {
            Some(Fact::Result(result)) => result.clone(),
            _ => {
                totals.tasks += 1;
                ControlResult::default()
            }
        };
        for (outcome, value) in run.outcomes.iter().flatten() {
            let Some(is) = value.as_bool() else { continue };
            let known = result.0.get(outcome).copied();
            if known.is_some_and(|(first, _)| first < run.run) {
                continue;
            }
            let of_outcome = totals.outcomes.entry(outcome.clone()).or_default();
            if let Some((_, was)) = known {
                *side(of_outcome, was) -= 1;
            }
            *side(of_outcome, is) += 1;
            result.0.insert(outcome.clone(), (run.run, is));
        }
        self.controls.insert(of_control, Fact::Control(totals));
        self.controls.insert(key, Fact::Result(result));
    }
}

fn side((yes, no): &mut (u64, u64), is: bool) -> &mut u64 {
    if is { yes } else { no }
}

impl Totals {
    fn mark(&mut self, mark: Mark, outcomes: Option<&Outcomes>, times: i64) {
        match mark {
            Mark::Rerun(_) => move_on(&mut self.reruns, times),
            Mark::Unjudged(_, cause) => {
                let slots = self.unjudged.entry(cause).or_default();
                move_on(slots, times);
                self.unjudged.retain(|_, slots| *slots > 0);
            }
            Mark::Scored(_) => {
                move_on(&mut self.scored, times);
                for (id, value) in outcomes.into_iter().flatten() {
                    if value.is_null() {
                        continue;
                    }
                    // Looked for first: nearly always there, it needs no copy of its name.
                    let values = match self.outcomes.get_mut(id) {
                        Some(values) => values,
                        None => self.outcomes.entry(id.clone()).or_default(),
                    };
                    move_on(&mut values.known, times);
                    if value.as_bool() == Some(true) {
                        move_on(&mut values.yes, times);
                    }
                    values.sum.add(value.as_f64().unwrap_or_default(), times);
                }
                self.outcomes.retain(|_, values| values.known > 0);
            }
        }
    }
}

fn move_on(count: &mut u64, times: i64) {
    *count = count.saturating_add_signed(times);
}

/// Returns the blocks that events may complete, or open again, and of each whether a slot that they are about
/// has not ended.
fn blocks_of(rules: &Rules, slice: &Slice, events: &[Event]) -> BTreeMap<u64, bool> {
    let mut touched = BTreeMap::new();
    let mut at = |position: u64| {
        let plan = rules.plan_of(slice, true);
        if position < plan.len() {
            let slot = plan.slot(position);
            let is_open = !rules.goes_by_counts() && !outage::has_ended(slice, &plan, &slot);
            *touched.entry(plan.block(&slot)).or_default() |= is_open;
        }
    };
    for event in events {
        match event {
            Event::SlotEnded { lane, again, .. } if lane.is_registered() => {
                let next = || slice.lane(*lane)?.next;
                again.or_else(next).into_iter().for_each(&mut at);
            }
            Event::SlotAgain {
                lane,
                position,
                reopened: true,
                ..
            } if lane.is_registered() => at(*position),
            _ => {}
        }
    }
    for event in events {
        match event {
            Event::BlockVoided { block, .. } => {
                touched.entry(*block).or_default();
            }
            Event::Counted { lane, .. } => {
                touched.entry(lane.number).or_default();
            }
            _ => {}
        }
    }
    touched
}

/// Returns how many slots have ended because their block was voided too often, of the blocks that
/// events void.
fn slots_void(rules: &Rules, slice: &Slice, events: &[Event]) -> u64 {
    let Some(most) = rules.protocol().attempts.voids_max else {
        return 0;
    };
    let of_block = |event: &Event| match event {
        Event::BlockVoided { slots, lanes, .. } => {
            let first = lanes.first().and_then(|(id, _)| slice.lane(*id));
            first.filter(|lane| lane.voids > most).map(|_| *slots)
        }
        _ => None,
    };
    events.iter().filter_map(of_block).sum()
}

/// Returns the runs of controls that events close.
fn controls(slice: &Slice, events: &[Event]) -> Vec<RunId> {
    let closed = events.iter().filter_map(|event| match event {
        Event::Scored { run, .. } | Event::Unjudged { run, .. } => Some(*run),
        _ => None,
    });
    closed
        .filter(|run| slice.run(*run).is_some_and(|run| run.place.is_none()))
        .collect()
}
