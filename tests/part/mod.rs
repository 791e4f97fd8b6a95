//! A slice that holds a part of a record, loaded by need and kept for a transaction, as the store
//! does it.

use prereg::engine::command::{Action, Command};
use prereg::engine::decide::{self, Ruling};
use prereg::engine::evolve;
use prereg::engine::rules::Rules;
use prereg::engine::slice::{Lookup, Missing, Slice, Turn};
use prereg::engine::start::{self, Peek};
use prereg::engine::totals;

use crate::engine_common::{Given, Move, World};

/// What is on the disk, and what the transaction under way holds.
#[derive(Default)]
pub(crate) struct Part {
    disk: Slice,
    held: Slice,
}

impl Part {
    /// Ends the transaction; the next one begins with the standing alone.
    pub(crate) fn commit(&mut self, whole: &Slice) {
        self.disk = whole.clone();
        self.held = Slice::of(whole.standing.clone());
    }

    /// Answers a move by what is loaded for it.
    pub(crate) fn give(&mut self, world: &World<'_>, wanted: &Move) -> Given {
        let (rules, command) = (world.rules(), world.asked(wanted));
        let due = self.ask(|slice| decide::due(rules, slice, &command));
        let mut expired = Vec::new();
        for run in due {
            let expiry = world.command(Action::Expire { run });
            let events = self.answer(rules, &expiry).unwrap_or_default();
            expired.push((run, events));
        }
        let ruling = self.answer(rules, &command);
        Given { expired, ruling }
    }

    /// Says what may start next by what is loaded for it.
    pub(crate) fn peek(&mut self, world: &World<'_>) -> Option<Peek> {
        let rules = world.rules()?;
        Some(self.ask(|slice| start::peek(rules, slice, world.at)))
    }

    fn answer(&mut self, rules: Option<&Rules>, command: &Command) -> Ruling {
        let ruling = self.ask(|slice| decide::decide(rules, slice, command));
        match &ruling {
            Ok(events) if events.is_empty() => {}
            Err(refusal) if !refusal.is_recorded() => {}
            Ok(events) => {
                let touched = self.ask(|slice| totals::touched(rules, slice, events));
                evolve::apply(&mut self.held, command, events);
                let missing = self.held.missing();
                assert!(
                    missing.is_empty(),
                    "the fold needs more than the decision on {:?}: {missing:?} for {events:?}",
                    command.action
                );
                let moved = self.ask(|slice| touched.moved(rules, slice, events));
                moved.keep(&mut self.held);
            }
            Err(_) => evolve::refused(&mut self.held, command),
        }
        ruling
    }

    /// Asks until nothing is missing for an answer.
    fn ask<T>(&mut self, question: impl Fn(&Slice) -> T) -> T {
        self.held.looked_up.clear();
        self.held.spans_looked_up.clear();
        loop {
            let answer = question(&self.held);
            let missing = self.held.missing();
            if missing.is_empty() {
                return answer;
            }
            self.load(missing);
        }
    }

    fn load(&mut self, missing: Missing) {
        for cell in missing.cells {
            let held = self.held.runs.values().flatten();
            let newer = held.filter(|run| run.is_counted() && run.cell() == cell);
            let mut runs = self.disk.cells.get(&cell).cloned().unwrap_or_default();
            runs.extend(newer.map(|run| run.run));
            self.held.cells.insert(cell, runs);
        }
        for window in missing.stops {
            let held = self.held.runs.values().flatten();
            let newer = held.filter(|run| run.stopped_in() == Some(window));
            let mut runs = self.disk.stops.get(&window).cloned().unwrap_or_default();
            runs.extend(newer.map(|run| run.run));
            self.held.stops.insert(window, runs);
        }
        for run in missing.runs {
            self.held.runs.insert(run, self.disk.run(run).cloned());
        }
        for id in missing.lanes {
            match self.disk.lane(id) {
                Some(lane) => self.held.hold_lane(id, lane.clone()),
                None => {
                    self.held.lanes.insert(id, None);
                }
            }
        }
        for key in missing.facts {
            let fact = self.disk.fact(&key).cloned();
            self.held.facts.insert(key, fact);
        }
        for (span, side) in missing.spans {
            let beside = self.disk.span_beside(span, side);
            self.held.spans.extend(beside);
            self.held.spans_looked_up.insert((span, side));
        }
        for lookup in missing.ready {
            self.load_ready(lookup);
            self.held.looked_up.insert(lookup);
        }
    }

    /// Loads the first lane of a stage after some turn that the transaction has not touched.
    fn load_ready(&mut self, (stage, after): Lookup) {
        let of_stage = |turn: &Turn| turn.stage == stage && Some(*turn) > after;
        let mut ready = self.disk.ready.iter();
        let found = ready.find(|(turn, id)| of_stage(turn) && !self.held.lanes.contains_key(id));
        if let Some((id, lane)) = found.and_then(|(_, id)| Some((*id, self.disk.lane(*id)?))) {
            self.held.hold_lane(id, lane.clone());
        }
    }

    /// Asserts that whatever is held is what the whole says.
    pub(crate) fn agrees(&self, whole: &Slice) {
        assert_eq!(self.held.standing, whole.standing);
        for (run, held) in &self.held.runs {
            assert_eq!(held.as_ref(), whole.run(*run));
        }
        for (id, held) in &self.held.lanes {
            assert_eq!(held.as_ref(), whole.lane(*id));
        }
        for (key, held) in &self.held.facts {
            assert_eq!(held.as_ref(), whole.fact(key));
        }
        for (position, id) in &self.held.ready {
            assert_eq!(whole.ready.get(position), Some(id));
        }
    }
}
