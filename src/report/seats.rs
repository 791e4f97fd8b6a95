//! At which slot each run stands, as the order says: the position of its start, or under an order by
//! counts its rank. A run that is void, or no attempt at all, stands nowhere.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::attempts::Fate;
use crate::engine::counts::Filled;
use crate::engine::event::LaneId;
use crate::engine::outage::{self, Tally, Window};
use crate::engine::rules::Rules;
use crate::engine::slice::{Seated, State};

/// Seats the runs of the registered plan; windows come before runs, and runs in the order of their numbers.
#[derive(Debug)]
pub(super) struct Seats<'a> {
    rules: &'a Rules,
    /// Windows whose error stops are no attempts at all.
    outages: BTreeSet<Window>,
    /// How far the slots of a task and arm have come, under an order by counts.
    cells: BTreeMap<(LaneId, usize), Filled>,
}

/// Where a run stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seat {
    /// Its arm's place in the listed order.
    pub(super) arm: usize,
    /// The slot.
    pub(super) at: At,
    /// What became of the run.
    pub(super) fate: Fate,
}

/// A slot.
#[derive(Clone, Copy, Debug)]
pub(super) enum At {
    /// By its place in the plan.
    Position(u64),
    /// By its rank: the task's lane, and how the slots of the arm on it stand with the run.
    Rank(LaneId, Filled),
}

impl<'a> Seats<'a> {
    /// Starts with no runs.
    pub(super) fn new(rules: &'a Rules) -> Self {
        Self {
            rules,
            outages: BTreeSet::new(),
            cells: BTreeMap::new(),
        }
    }

    /// Takes note of a window.
    pub(super) fn window(&mut self, window: Window, tally: &Tally) {
        if outage::voids_stops(self.rules, tally) {
            self.outages.insert(window);
        }
    }

    /// Returns where a run stands.
    pub(super) fn seat(&mut self, run: &Seated<'_>) -> Option<Seat> {
        let place = run.place.filter(|place| place.lane.is_registered())?;
        let arm = self.rules.protocol().arm(&run.arm)?;
        let fate = Fate::told(run.state, run.cause);
        let at = match place.by_counts {
            true => At::Rank(place.lane, self.rank(place.lane, arm, run, fate)?),
            false if run.state == State::Void => return None,
            false => At::Position(place.position),
        };
        Some(Seat { arm, at, fate })
    }

    fn rank(&mut self, lane: LaneId, arm: usize, run: &Seated<'_>, fate: Fate) -> Option<Filled> {
        let stopped = run.stopped_in();
        if stopped.is_some_and(|window| self.outages.contains(&window)) {
            return None;
        }
        let filled = self.cells.entry((lane, arm)).or_default();
        *filled = filled.with(&self.rules.protocol().attempts, fate);
        // What an outage had taken out may count again, when other runs have filled every slot.
        (filled.slot <= self.rules.registered_plan().repeats()).then_some(*filled)
    }
}
