//! A slice that holds a part of a record, loaded by need and kept for a transaction, as the store
//! does it.

use std::convert::Infallible;

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
                let Self { disk, held } = self;
                let load =
                    |held: &mut Slice, missing| Ok::<_, Infallible>(load(disk, held, missing));
                let Ok(was_there) = totals::apply(rules, held, command, events, load);
                assert!(
                    was_there,
                    "the fold needs more than the decision on {:?} for {events:?}",
                    command.action
                );
            }
            Err(_) => evolve::refused(&mut self.held, command),
        }
        ruling
    }

    /// Asks until nothing is missing for an answer.
    fn ask<T>(&mut self, question: impl Fn(&Slice) -> T) -> T {
        self.held.spans_looked_up.clear();
        let Self { disk, held } = self;
        let Ok(answer) = held.ask(question, &mut |held, missing| {
            Ok::<_, Infallible>(load(disk, held, missing))
        });
        answer
    }

    /// Asserts that whatever is held is what the whole says.
    pub(crate) fn agrees(&self, whole: &Slice) {
        assert_eq!(self.held.standing, whole.standing);
        for (run, held) in &self.held.runs {
            assert_eq!(held.as_deref(), whole.run(*run));
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

/// Loads what is missing, as it is on the disk; says whether there was any of it.
fn load(disk: &Slice, held: &mut Slice, missing: Missing) -> bool {
    let mut found = false;
    for cell in missing.cells {
        let newer = held.runs.values().flatten();
        let newer = newer.filter(|run| run.is_counted() && run.cell() == cell);
        let mut runs = disk.cells.get(&cell).cloned().unwrap_or_default();
        runs.extend(newer.map(|run| run.run));
        found |= !runs.is_empty();
        held.cells.insert(cell, runs);
    }
    for window in missing.stops {
        let newer = held.runs.values().flatten();
        let newer = newer.filter(|run| run.stopped_in() == Some(window));
        let mut runs = disk.stops.get(&window).cloned().unwrap_or_default();
        runs.extend(newer.map(|run| run.run));
        found |= !runs.is_empty();
        held.stops.insert(window, runs);
    }
    for run in missing.runs {
        let row = disk.run(run).cloned();
        found |= row.is_some();
        held.runs.insert(run, row.map(Box::new));
    }
    for id in missing.lanes {
        match disk.lane(id) {
            Some(lane) => {
                found = true;
                held.hold_lane(id, lane.clone());
            }
            None => {
                held.lanes.insert(id, None);
            }
        }
    }
    for key in missing.facts {
        let fact = disk.fact(&key).cloned();
        found |= fact.is_some();
        held.facts.insert(key, fact);
    }
    for (span, side) in missing.spans {
        let beside = disk.span_beside(span, side);
        found |= beside.is_some();
        held.spans.extend(beside);
        held.spans_looked_up.insert((span, side));
    }
    for lookup in missing.ready {
        found |= load_ready(disk, held, lookup);
        held.looked_up.insert(lookup);
    }
    found
}

/// Loads the first lane of a stage after some turn that the transaction has not touched.
fn load_ready(disk: &Slice, held: &mut Slice, (stage, after): Lookup) -> bool {
    let of_stage = |turn: &Turn| turn.stage == stage && Some(*turn) > after;
    let mut ready = disk.ready.iter();
    let found = ready.find(|(turn, id)| of_stage(turn) && !held.lanes.contains_key(id));
    match found.and_then(|(_, id)| Some((*id, disk.lane(*id)?))) {
        Some((id, lane)) => {
            held.hold_lane(id, lane.clone());
            true
        }
        None => false,
    }
}
