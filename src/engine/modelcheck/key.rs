//! What of a state matters for what may follow: two states with the same key are one.
//!
//! Run numbers and times are forgotten; of a live run stays whether its deadline has passed, and of
//! all of them the order in which they pass it. An hour that is over changes no more: its error stops
//! are void for good, or attempts for good. So runs that can change only count.

use crate::engine::attempts::Fate;
use crate::engine::counts;
use crate::engine::event::LaneId;
use crate::engine::outage::{self, Window};
use crate::engine::rules::Rules;
use crate::engine::slice::{Lane, Run, State};
use crate::protocol::model::OrderBy;

use super::names;
use super::world::World;

/// Returns the key of a state.
pub(super) fn key(rules: &Rules, world: &World) -> Box<[u8]> {
    let window = Window::of(world.at);
    let mut writer = Writer {
        rules,
        world,
        window,
        bytes: Vec::with_capacity(64),
    };
    writer.window();
    match rules.protocol().allocation.by {
        OrderBy::Counts => writer.cells(),
        OrderBy::Plan => writer.lanes(),
    }
    writer.deadlines();
    writer.bytes.into_boxed_slice()
}

struct Writer<'a> {
    rules: &'a Rules,
    world: &'a World,
    window: Window,
    bytes: Vec<u8>,
}

impl Writer<'_> {
    fn put(&mut self, number: u64) {
        let number = u16::try_from(number).unwrap_or(u16::MAX);
        self.bytes.extend(number.to_le_bytes());
    }

    /// Writes what ended in this hour, if that is counted.
    fn window(&mut self) {
        let Some(tally) = self.world.slice.window(self.window) else {
            return self.put(0);
        };
        self.put(tally.ended);
        for arm in &self.rules.protocol().arms {
            self.put(tally.errors.get(&arm.id).copied().unwrap_or_default());
        }
    }

    /// Writes the runs of each task and arm, in the order of their starts.
    fn cells(&mut self) {
        let (tasks, arms) = names(self.rules);
        for task in tasks {
            for arm in &arms {
                self.cell(task, arm);
            }
        }
    }

    /// Writes how far the runs that cannot change any more have come, then each of the others.
    fn cell(&mut self, task: &str, arm: &str) {
        let (rules, slice) = (self.rules, &self.world.slice);
        let is_over =
            |run: &&Run| !self.may_change(run) && outage::is_no_attempt(rules, slice, run);
        let runs: Vec<&Run> = slice.cell(task, arm).filter(|run| !is_over(run)).collect();
        let settled = runs.iter().take_while(|run| !self.may_change(run)).count();
        let attempts = &rules.protocol().attempts;
        let filled = counts::fill(attempts, runs[..settled].iter().copied().map(fate));
        let attempt = self.counted(filled.attempt);
        self.put(filled.slot);
        self.put(filled.ended);
        self.put(if filled.waits { attempt + 1 } else { 0 });
        self.put((runs.len() - settled) as u64);
        for run in &runs[settled..] {
            let stands = self.stands(run);
            self.bytes.push(stands);
        }
    }

    /// Writes how far each lane has come.
    fn lanes(&mut self) {
        let slice = &self.world.slice;
        for stage in &slice.standing.stages {
            self.put(stage.lanes_opened);
        }
        for number in 0..self.rules.registered_plan().lanes() {
            match slice.lane(LaneId::registered(number)) {
                None => self.bytes.push(0),
                Some(lane) => self.lane(lane),
            }
        }
    }

    fn lane(&mut self, lane: &Lane) {
        let attempts = &self.rules.protocol().attempts;
        let voids = attempts.voids_max.map_or(lane.voids.min(1), |_| lane.voids);
        self.bytes.push(1);
        self.put(lane.next.map_or(0, |next| next + 1));
        self.put(self.counted(lane.attempts));
        self.put(u64::from(voids));
        self.put(lane.again.len() as u64);
        for (position, made) in &lane.again {
            self.put(*position);
            self.put(self.counted(*made));
        }
        let slice = &self.world.slice;
        let open = lane.open.and_then(|run| slice.run(run));
        self.bytes.push(u8::from(open.is_some()));
        if let Some(run) = open {
            self.run(lane, run);
        }
        let runs = lane.runs.iter().filter_map(|run| slice.run(*run));
        let runs: Vec<&Run> = runs.filter(|run| run.state != State::Void).collect();
        let at = |run: &Run| run.place.map(|place| place.position);
        // What stands at a position counts once more if an error stop there may still be void.
        let open_again = |run: &&&Run| {
            let mut there = runs.iter().filter(|other| at(other) == at(run));
            there.any(|other| other.is_closed() && self.may_change(other))
        };
        let again: Vec<&Run> = runs.iter().filter(open_again).copied().collect();
        self.put(again.len() as u64);
        for run in again {
            self.run(lane, run);
        }
    }

    fn run(&mut self, lane: &Lane, run: &Run) {
        let (position, attempt, voids) = run.place.map_or((0, 0, 0), |place| {
            (place.position, place.attempt, place.voids)
        });
        self.put(position);
        self.put(self.counted(attempt));
        let stands = self.stands(run);
        self.bytes.push(stands);
        self.bytes.push(u8::from(voids == lane.voids));
    }

    /// Returns the number of an attempt; any is like any other where there is no limit.
    fn counted(&self, attempt: u32) -> u64 {
        let most = self.rules.protocol().attempts.per_slot;
        most.map_or(0, |_| u64::from(attempt))
    }

    /// Writes in which order the live runs pass their deadlines.
    fn deadlines(&mut self) {
        let world = self.world;
        let mut fresh: Vec<&Run> = world
            .slice
            .standing
            .live
            .keys()
            .filter_map(|run| world.slice.run(*run))
            .filter(|run| !self.is_stale(run))
            .collect();
        fresh.sort_by_key(|run| (run.started_at, run.run));
        for run in fresh {
            self.put(run.place.map_or(0, |place| place.position));
        }
    }

    /// Returns whether a run is live, or an error stop of this hour.
    fn may_change(&self, run: &Run) -> bool {
        !run.is_closed() || run.stopped_in() == Some(self.window)
    }

    fn is_stale(&self, run: &Run) -> bool {
        self.rules.is_stale(run.started_at, self.world.at)
    }

    /// Returns how a run stands: live, live and stale, or closed, with whether its slot waits then
    /// and whether it is an error stop of this hour.
    fn stands(&self, run: &Run) -> u8 {
        if !run.is_closed() {
            return u8::from(self.is_stale(run));
        }
        let attempts = &self.rules.protocol().attempts;
        let waits =
            matches!(fate(run), Fate::Unjudged(cause) if attempts.rerun.contains(&cause.word()));
        let stopped = run.stopped_in() == Some(self.window);
        2 + u8::from(waits) + 2 * u8::from(stopped)
    }
}

fn fate(run: &Run) -> Fate {
    match (run.state, run.cause) {
        (State::Scored, _) => Fate::Scored,
        (State::Unjudged, Some(cause)) => Fate::Unjudged(cause),
        _ => Fate::Open,
    }
}
