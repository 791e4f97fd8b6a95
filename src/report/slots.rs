//! What became of every slot of the registered plan, in the order of the plan.
//!
//! Of a slot nothing is kept but which run says what became of it.

use std::collections::BTreeSet;

use super::seats::{At, Seats};
use super::tally::VOID;
use super::told::Occupant;
use crate::engine::attempts::Fate;
use crate::engine::rules::Rules;
use crate::engine::slice::{Lane, Row, Seated, State};
use crate::protocol::plan::{Plan, Slot};
use crate::units::RunId;

/// What became of a slot, and the run that says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Became {
    /// No run of it was started, or none that counts.
    #[default]
    Nothing,
    /// It has ended, and only this run was ever started there: that says how.
    Alone(RunId),
    /// Its run is not closed.
    Open(RunId),
    /// It waits for its next attempt.
    Waits(RunId),
    /// It has a score.
    Scored(RunId),
    /// It has ended without one.
    Unjudged(RunId),
    /// It has ended without one, as its block was voided too often.
    Void,
}

impl Became {
    /// Returns what became of a slot, given the run that stands there last.
    pub fn told(self, slot: &Slot, run: Option<&Occupant<'_>>) -> Self {
        let Self::Alone(alone) = self else {
            return self;
        };
        let is_there = |run: &&Occupant<'_>| {
            let place = run.place.filter(|place| place.lane.is_registered());
            place.is_some_and(|place| place.position == slot.position) && run.state != State::Void
        };
        match run
            .filter(is_there)
            .map(|run| Fate::told(run.state, run.cause))
        {
            None => Self::Nothing,
            Some(Fate::Open) => Self::Open(alone),
            Some(Fate::Scored) => Self::Scored(alone),
            Some(Fate::Unjudged(_)) => Self::Unjudged(alone),
        }
    }

    /// Returns the run that gives the slot its values; none where it has not ended.
    pub fn run(self) -> Option<RunId> {
        match self {
            Self::Scored(run) | Self::Unjudged(run) => Some(run),
            _ => None,
        }
    }

    /// Returns the run that stands there last.
    pub fn last(self) -> Option<RunId> {
        match self {
            Self::Open(run) | Self::Waits(run) | Self::Alone(run) => Some(run),
            other => other.run(),
        }
    }

    /// Returns `scored`, `unjudged`, or `missing` where the slot has not ended.
    pub fn status(self) -> &'static str {
        match self {
            Self::Scored(_) => "scored",
            Self::Unjudged(_) | Self::Void => "unjudged",
            Self::Nothing | Self::Open(_) | Self::Waits(_) | Self::Alone(_) => "missing",
        }
    }

    /// Returns why the slot has no score, where its run does not say it.
    pub fn reason(self) -> Option<&'static str> {
        match self {
            Self::Nothing => Some("not-started"),
            Self::Waits(_) => Some("waits"),
            Self::Void => Some(VOID),
            Self::Open(_) | Self::Scored(_) | Self::Unjudged(_) | Self::Alone(_) => None,
        }
    }
}

/// Every slot of a plan.
#[derive(Debug)]
pub struct Slots<'a> {
    rules: &'a Rules,
    plan: &'a Plan,
    seats: Seats<'a>,
    became: Vec<Became>,
    /// Positions under an order by plan whose slot waits for an attempt, or has one under way.
    waiting: BTreeSet<u64>,
    /// The runs that are asked about their slots, where not all are.
    sought: Vec<RunId>,
}

impl<'a> Slots<'a> {
    /// Starts with a plan of which nothing was executed.
    pub fn new(rules: &'a Rules, plan: &'a Plan) -> Self {
        let slots = if plan.is_empty() { 0 } else { plan.len() };
        let slots = usize::try_from(slots).unwrap_or(0);
        Self {
            rules,
            plan,
            seats: Seats::new(rules),
            became: vec![Became::Nothing; slots],
            waiting: BTreeSet::new(),
            sought: Vec::new(),
        }
    }

    /// Takes a window or a lane; they come before runs.
    pub fn add(&mut self, row: &Row) {
        match row {
            Row::Window(window, tally) => self.seats.window(*window, tally),
            Row::Lane(id, lane) if id.is_registered() && !self.rules.goes_by_counts() => {
                self.lane(id.number, lane);
            }
            Row::Lane(..) => {}
        }
    }

    fn lane(&mut self, number: u64, lane: &Lane) {
        self.waiting
            .extend(lane.again.keys().copied().chain(lane.next));
        if let Some((position, run)) = self.alone(number, lane) {
            return self.set(position, Became::Alone(run));
        }
        self.sought
            .extend(lane.runs.iter().copied().chain(lane.open));
        let voids_max = self.rules.protocol().attempts.voids_max;
        if number >= self.plan.lanes() || voids_max.is_none_or(|most| lane.voids <= most) {
            return;
        }
        let mut position = Some(self.plan.lane_start(number));
        while let Some(at) = position {
            self.set(at, Became::Void);
            position = self.plan.next_in_lane(&self.plan.slot(at));
        }
    }

    /// Returns the slot and the run of a lane that has but one of each, and is done.
    fn alone(&self, number: u64, lane: &Lane) -> Option<(u64, RunId)> {
        let [run] = lane.runs[..] else { return None };
        if !lane.is_done() || lane.voids > 0 || number >= self.plan.lanes() {
            return None;
        }
        let position = self.plan.lane_start(number);
        let next = self.plan.next_in_lane(&self.plan.slot(position));
        next.is_none().then_some((position, run))
    }

    /// Returns the runs that have to be seated once all lanes were taken, in the order of their numbers; nothing where
    /// all have to be. Of the runs of a lane whose block was voided, one that is open stands in no list.
    pub fn sought(&mut self) -> Option<Vec<RunId>> {
        let mut sought = std::mem::take(&mut self.sought);
        sought.sort_unstable();
        sought.dedup();
        (!self.rules.goes_by_counts()).then_some(sought)
    }

    /// Takes a run, by what says where it stands; in the order of their numbers.
    pub fn seat(&mut self, run: &Seated<'_>) {
        let Some(seat) = self.seats.seat(run) else {
            return;
        };
        let (position, waits) = match seat.at {
            At::Position(position) => (position, self.waiting.contains(&position)),
            At::Rank(lane, _) if lane.number >= self.plan.tasks() => return,
            At::Rank(lane, filled) => {
                let repeat = filled.slot - 1;
                let position = self.plan.position(lane.number, repeat, seat.arm as u64);
                (position, filled.waits)
            }
        };
        self.set(
            position,
            match seat.fate {
                Fate::Open => Became::Open(run.run),
                Fate::Scored => Became::Scored(run.run),
                Fate::Unjudged(_) if waits => Became::Waits(run.run),
                Fate::Unjudged(_) => Became::Unjudged(run.run),
            },
        );
    }

    fn set(&mut self, position: u64, became: Became) {
        let slot = usize::try_from(position).ok();
        // A run that was live when its block was voided for good changes nothing any more.
        match slot.and_then(|slot| self.became.get_mut(slot)) {
            None | Some(Became::Void) => {}
            Some(slot) => *slot = became,
        }
    }

    /// Returns every slot with what became of it, in the order of the plan.
    pub fn iter(&self) -> impl Iterator<Item = (Slot, Became)> {
        let became = self.became.iter().copied();
        (0..)
            .zip(became)
            .map(|(position, became)| (self.plan.slot(position), became))
    }
}
