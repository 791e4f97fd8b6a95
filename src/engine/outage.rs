//! Outages: windows in which error stops are put down to the world and not to an arm.
//!
//! A window is one hour of UTC. It is an outage when enough runs ended in it and enough of them
//! were error stops; only what was observed and recorded times decide, never a score.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::event::{Event, LaneId};
use super::refusal::Refusal;
use super::rules::Rules;
use super::slice::{Run, Slice, State};
use crate::protocol::model::{ErrorsIn, Outage, Voids};
use crate::protocol::plan::{Plan, Slot};
use crate::units::{RunId, Time};

/// How long a window is.
const WINDOW: i64 = 3_600_000_000;

/// An hour of UTC: how many have passed since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Window(pub i64);

impl Window {
    /// Returns the window that holds a moment.
    pub fn of(at: Time) -> Self {
        Self(at.0.div_euclid(WINDOW))
    }

    /// Returns its first moment.
    pub fn start(self) -> Time {
        Time(self.0.saturating_mul(WINDOW))
    }

    /// Returns the first moment after it.
    pub fn end(self) -> Time {
        Time(self.0.saturating_add(1).saturating_mul(WINDOW))
    }
}

/// What ended in a window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tally {
    /// How many runs of the arms ended.
    pub ended: u64,
    /// How many of them were error stops, by arm.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, u64>,
}

impl Tally {
    /// Counts a run that ended.
    fn count(&mut self, arm: &str, error: bool) {
        self.ended += 1;
        if error {
            *self.errors.entry(arm.to_owned()).or_default() += 1;
        }
    }
}

/// Returns whether a window is an outage, given the arms that are compared.
pub fn is_outage<'a>(
    rule: &Outage,
    arms: impl IntoIterator<Item = &'a str>,
    tally: &Tally,
) -> bool {
    let errors: u64 = tally.errors.values().sum();
    let share = &rule.error_share;
    let enough = u128::from(errors) * u128::from(share.den)
        >= u128::from(tally.ended) * u128::from(share.num);
    let everywhere = || arms.into_iter().all(|arm| tally.errors.contains_key(arm));
    tally.ended >= u64::from(rule.ended_min)
        && enough
        && (rule.errors_in == ErrorsIn::AnyArm || everywhere())
}

/// Returns whether a window is an outage by what is recorded now.
pub(super) fn holds(rules: &Rules, slice: &Slice, window: Window) -> bool {
    let Some(rule) = &rules.protocol().outage else {
        return false;
    };
    let tally = slice.window(window);
    tally.is_some_and(|tally| meets(rules, rule, tally))
}

fn meets(rules: &Rules, rule: &Outage, tally: &Tally) -> bool {
    let arms = rules.protocol().arms.iter().map(|arm| arm.id.as_str());
    is_outage(rule, arms, tally)
}

/// Refuses a start while its window is an outage, if the rule says so.
pub(super) fn guard(rules: &Rules, slice: &Slice, at: Time) -> Result<(), Refusal> {
    let pauses = rules
        .protocol()
        .outage
        .as_ref()
        .is_some_and(|rule| rule.pauses_starts);
    let window = Window::of(at);
    if pauses && holds(rules, slice, window) {
        return Err(Refusal::OutageHour { window });
    }
    Ok(())
}

/// Returns whether a run is no attempt at all: an error stop in a window that is an outage, where
/// the rule voids runs.
pub(super) fn is_no_attempt(rules: &Rules, slice: &Slice, run: &Run) -> bool {
    voids_runs(rules)
        && run
            .stopped_in()
            .is_some_and(|window| holds(rules, slice, window))
}

/// Returns whether the error stops of a window are no attempts at all, by what ended in it.
pub fn voids_stops(rules: &Rules, tally: &Tally) -> bool {
    let rule = rules.protocol().outage.as_ref();
    rule.is_some_and(|rule| rule.voids == Voids::Run && meets(rules, rule, tally))
}

/// Returns whether error stops of an outage are no attempts at all, and void no block.
pub(super) fn voids_runs(rules: &Rules) -> bool {
    let rule = rules.protocol().outage.as_ref();
    rule.is_some_and(|rule| rule.voids == Voids::Run)
}

/// What the ending of a run does to its window.
#[derive(Debug)]
pub(super) struct Ended {
    /// The window's tally with it.
    pub(super) event: Event,
    /// Whether the window is an outage before and after it.
    was: bool,
    is: bool,
    window: Window,
    error: bool,
}

/// Counts a run of an arm that ends; none where the protocol has no outage rule, or for a control.
pub(super) fn ended(
    rules: &Rules,
    slice: &Slice,
    run: &Run,
    at: Time,
    error: bool,
) -> Option<Ended> {
    let rule = rules.protocol().outage.as_ref()?;
    run.place?;
    let window = Window::of(at);
    let before = slice.window(window).cloned().unwrap_or_default();
    let mut tally = before.clone();
    tally.count(&run.arm, error);
    Some(Ended {
        was: meets(rules, rule, &before),
        is: meets(rules, rule, &tally),
        event: Event::Tallied {
            run: run.run,
            window,
            tally,
            error,
        },
        window,
        error,
    })
}

impl Ended {
    /// Returns the window, and whether it is an outage with the run.
    pub(super) fn window(&self) -> (Window, bool) {
        (self.window, self.is)
    }

    /// Returns the window whose earlier error stops the ending touches: it turned into an outage, or
    /// back.
    pub(super) fn turned(&self) -> Option<Window> {
        (self.was != self.is).then_some(self.window)
    }

    /// Returns the runs that are error stops of an outage by this ending: those that the window had
    /// before, if it turned into one, and the run itself.
    pub(super) fn stopped(&self, slice: &Slice, run: RunId) -> BTreeSet<RunId> {
        let mut stopped = BTreeSet::new();
        if self.is && !self.was {
            stopped.extend(slice.error_stops(self.window));
        }
        if self.is && self.error {
            stopped.insert(run);
        }
        stopped
    }
}

/// Voids blocks: what follows for their runs, lanes and slots. `ending` is the run that ends by it.
pub(super) fn void_blocks(
    rules: &Rules,
    slice: &Slice,
    blocks: &BTreeSet<u64>,
    ending: Option<RunId>,
) -> Vec<Event> {
    let plan = rules.plan_of(slice, true);
    let blocks = blocks.iter();
    blocks
        .flat_map(|block| void_block(rules, slice, &plan, *block, ending))
        .collect()
}

/// Returns whether a run of a block is scored, since the block was voided last.
pub(super) fn has_scored(slice: &Slice, plan: &Plan, slots: &[Slot]) -> bool {
    let lanes = lanes_of(plan, slots);
    let found = lanes.iter().filter_map(|(lane, _)| slice.lane(*lane));
    let mut runs = found.flat_map(|lane| &lane.runs);
    runs.any(|run| {
        slice
            .run(*run)
            .is_some_and(|run| run.state == State::Scored)
    })
}

/// Voids a block: its runs that are closed or ended count no more, those that are live will be void
/// when they end, and it is executed again unless it was voided too often.
fn void_block(
    rules: &Rules,
    slice: &Slice,
    plan: &Plan,
    block: u64,
    ending: Option<RunId>,
) -> Vec<Event> {
    let slots = plan.slots_of_block(block);
    let Some(stage) = slots.first().map(|slot| slot.stage) else {
        return Vec::new();
    };
    let lanes = lanes_of(plan, &slots);
    let found: Vec<_> = lanes
        .iter()
        .filter_map(|(lane, _)| slice.lane(*lane))
        .collect();
    let mut runs: Vec<RunId> = found.iter().flat_map(|lane| lane.runs.clone()).collect();
    runs.sort_unstable();
    let is_over = |run: &Run| run.state != State::Live || ending == Some(run.run);
    let over = |run: &RunId| {
        let run = slice.run(*run);
        run.is_some_and(|run| is_over(run) && run.state != State::Void)
    };
    let mut events: Vec<Event> = runs
        .into_iter()
        .filter(over)
        .map(|run| Event::Voided { run })
        .collect();
    let voids = found.iter().map(|lane| lane.voids).max().unwrap_or(0) + 1;
    let ended = slots
        .iter()
        .filter(|slot| has_ended(slice, plan, slot))
        .count() as u64;
    let voids_max = rules.protocol().attempts.voids_max;
    events.push(Event::BlockVoided {
        block,
        stage,
        voids,
        requeued: voids_max.is_none_or(|most| voids <= most),
        ended,
        slots: slots.len() as u64,
        lanes,
    });
    events
}

/// Returns the lanes of a block's slots, each with its first position.
fn lanes_of(plan: &Plan, slots: &[Slot]) -> Vec<(LaneId, u64)> {
    let mut lanes: Vec<(LaneId, u64)> = Vec::new();
    for slot in slots {
        let lane = LaneId::registered(plan.lane(slot));
        if lanes.iter().all(|(known, _)| *known != lane) {
            lanes.push((lane, slot.position));
        }
    }
    lanes
}

/// Returns whether a slot of the registered plan has ended.
pub(super) fn has_ended(slice: &Slice, plan: &Plan, slot: &Slot) -> bool {
    let lane = slice.lane(LaneId::registered(plan.lane(slot)));
    lane.is_some_and(|lane| lane.has_ended(slot.position))
}
