//! The derived rows as of the newest entry, some of them perhaps not saved yet.
//!
//! Entries are the record; rows follow from them. A session saves rows only now and then, which
//! spares each commit most of its pages. Whoever opens a record whose rows lag folds the entries
//! that are missing, so nobody ever sees them lag, and a killed session loses nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use rusqlite::Connection;
use serde::Deserialize;

use super::{Fault, Result, current_rules, frames, pipe, rows};
use crate::engine::command::{Action, Command};
use crate::engine::event::Event;
use crate::engine::evolve;
use crate::engine::facts::{Fact, FactKey, FactKind};
use crate::engine::rules::Rules;
use crate::engine::slice::{Changed, Missing, Row, Run, Slice};
use crate::engine::totals;
use crate::record::entry::{self, Answer, Head};
use crate::units::RunId;

/// The part of the derived rows that is in memory.
#[derive(Debug)]
pub(super) struct Derived {
    /// The newest entry that is folded in.
    pub(super) head: Head,
    /// The standing, and the rows that were loaded or changed.
    pub(super) slice: Slice,
}

impl Derived {
    /// Reads the standing as it was saved, and folds the entries that came after.
    pub(super) fn read(connection: &Connection, rules: &mut Option<Arc<Rules>>) -> Result<Self> {
        let (standing, applied) = rows::standing(connection)?;
        let head = Head {
            seq: applied,
            ..Head::EMPTY
        };
        let slice = Slice::of(standing);
        let mut derived = Self { head, slice };
        let head = rows::head(connection)?;
        for seq in applied + 1..=head.seq {
            let current = current_rules(connection, rules, &derived.slice.standing)?;
            derived.catch_up(connection, current.as_deref(), seq)?;
        }
        derived.head = head;
        Ok(derived)
    }

    /// Folds an entry that was recorded and not saved.
    fn catch_up(&mut self, connection: &Connection, rules: Option<&Rules>, seq: u64) -> Result<()> {
        let broken = |message| Fault::Row {
            row: format!("entry {seq}"),
            message,
        };
        let entry =
            rows::entry(connection, seq)?.ok_or_else(|| broken("it is missing".to_owned()))?;
        let (command, ruling) = entry::unseal(&entry).map_err(broken)?;
        if let Answer::Granted(events) = &ruling {
            evolve::bounded(events).map_err(broken)?;
        }
        self.follow(connection, rules, &command, &ruling)
    }

    /// Folds what an entry says.
    pub(super) fn follow(
        &mut self,
        connection: &Connection,
        rules: Option<&Rules>,
        command: &Command,
        ruling: &Answer,
    ) -> Result<()> {
        match ruling {
            Answer::Refused(_) => evolve::refused(&mut self.slice, command),
            Answer::Granted(events) => {
                // What the fold touches, it looks for.
                loop {
                    let mut trial = self.slice.clone();
                    evolve::apply(&mut trial, command, events);
                    let Some(missing) = trial.missed() else {
                        break;
                    };
                    load(connection, &mut self.slice, missing)?;
                }
                self.fold(connection, rules, command, events)?;
            }
        }
        Ok(())
    }

    /// Asks a question about the slice until nothing is missing to answer it.
    pub(super) fn ask<T>(
        &mut self,
        connection: &Connection,
        question: impl Fn(&Slice) -> T,
    ) -> Result<T> {
        // What was looked up may stand otherwise by now.
        self.slice.spans_looked_up.clear();
        self.slice.ask(question, &mut |slice, missing| {
            load(connection, slice, missing)
        })
    }

    /// Folds a command that was granted, and moves on the totals that follow from it.
    pub(super) fn fold(
        &mut self,
        connection: &Connection,
        rules: Option<&Rules>,
        command: &Command,
        events: &[Event],
    ) -> Result<()> {
        let load = |slice: &mut Slice, missing| load(connection, slice, missing);
        let was_there = totals::apply(rules, &mut self.slice, command, events, load)?;
        debug_assert!(was_there, "{events:?}");
        Ok(())
    }

    /// Returns a run, as it is saved or has become since.
    pub(super) fn run(&self, connection: &Connection, run: RunId) -> Result<Option<Run>> {
        match self.is_changed(run) {
            true => Ok(self.slice.run(run).cloned()),
            false => rows::run(connection, run),
        }
    }

    /// Returns whether a run changed since it was saved.
    pub(super) fn is_changed(&self, run: RunId) -> bool {
        self.slice.changed.runs.contains(&run)
    }

    /// Returns how many rows of one kind changed since they were saved, of the kind of which most did.
    pub(super) fn lag(&self) -> usize {
        let Changed { runs, lanes, facts } = &self.slice.changed;
        runs.len().max(lanes.len()).max(facts.len())
    }

    /// Returns the runs that changed since they were saved, in order.
    pub(super) fn changed_runs(&self) -> impl Iterator<Item = RunId> {
        self.slice.changed.runs.iter().copied()
    }

    /// Saves what changed, and the standing.
    pub(super) fn save(&mut self, connection: &Connection) -> Result<()> {
        let Changed { runs, lanes, facts } = std::mem::take(&mut self.slice.changed);
        let slice = &self.slice;
        let runs = runs.iter().filter_map(|run| slice.run(*run));
        rows::save_runs(connection, runs)?;
        let lanes = lanes.iter().filter_map(|id| Some((*id, slice.lane(*id)?)));
        rows::save_lanes(connection, lanes)?;
        let facts = facts.iter().filter_map(|key| Some((key, slice.fact(key)?)));
        rows::save_facts(connection, facts)?;
        let standing = std::mem::take(&mut self.slice.standing);
        rows::save_standing(connection, &standing, self.head.seq)?;
        self.slice = Slice::of(standing);
        Ok(())
    }
}

/// Loads what is missing; returns whether there was any of it.
fn load(connection: &Connection, slice: &mut Slice, missing: Missing) -> Result<bool> {
    let mut found = false;
    for cell in missing.cells {
        let saved = rows::cell(connection, &cell)?;
        let runs = slice.runs.values().flatten();
        let unsaved = runs.filter(|run| run.is_counted() && run.cell() == cell);
        let runs: BTreeSet<RunId> = saved
            .into_iter()
            .chain(unsaved.map(|run| run.run))
            .collect();
        found |= !runs.is_empty();
        slice.cells.insert(cell, runs);
    }
    for window in missing.stops {
        let saved = rows::error_stops(connection, window)?;
        let runs = slice.runs.values().flatten();
        let unsaved = runs.filter(|run| run.stopped_in() == Some(window));
        let runs: BTreeSet<RunId> = saved
            .into_iter()
            .chain(unsaved.map(|run| run.run))
            .collect();
        found |= !runs.is_empty();
        slice.stops.insert(window, runs);
    }
    for run in missing.runs {
        let row = rows::run(connection, run)?;
        found |= row.is_some();
        slice.runs.insert(run, row.map(Box::new));
    }
    for id in missing.lanes {
        found |= rows::load_lane(connection, slice, id)?;
    }
    for key in missing.facts {
        let fact = rows::fact(connection, &key)?;
        found |= fact.is_some();
        slice.facts.insert(key, fact);
    }
    let draft = slice.standing.draft;
    frames::each_framed(connection, draft, &missing.tasks, |key, task| {
        found |= task.is_some();
        slice.tasks.insert(key.clone(), task);
    })?;
    for (span, side) in missing.spans {
        let beside = rows::span_beside(connection, span, side)?;
        found |= beside.is_some();
        slice.spans.extend(beside);
        slice.spans_looked_up.insert((span, side));
    }
    for lookup in missing.ready {
        found |= rows::load_ready(connection, slice, lookup)?;
        slice.looked_up.insert(lookup);
    }
    Ok(found)
}

/// Saves the draft that a command opened, if it opened one.
pub(super) fn save_draft(
    connection: &Connection,
    seq: u64,
    action: &Action,
    events: &[Event],
) -> Result<()> {
    let (
        Action::Open {
            text,
            tasks,
            registration,
        },
        [Event::Opened { draft, .. }],
    ) = (action, events)
    else {
        return Ok(());
    };
    let broken = |message| Fault::Row {
        row: format!("entry {seq}"),
        message,
    };
    let rules = Rules::of_record(registration.as_ref().clone(), tasks.clone()).map_err(broken)?;
    frames::save(connection, *draft, seq, text, &rules)
}

/// Hands windows, and lanes of the registered plan, to a function.
pub(super) fn each_row(
    connection: &Connection,
    derived: &Derived,
    mut each: impl FnMut(&Row) + Send,
) -> Result<()> {
    let Changed { lanes, .. } = &derived.slice.changed;
    each_fact_of(connection, derived, FactKind::Window, |key, fact| {
        if let (FactKey::Window(window), Fact::Window(tally)) = (key, fact) {
            each(&Row::Window(window, tally));
        }
    })?;
    pipe::abreast(
        |sender| {
            rows::each_lane(connection, |id, facts| {
                lanes.contains(&id) || sender.row(id, Some(Kept::Saved(facts)))
            })
        },
        |batch| {
            let mut read = Vec::with_capacity(batch.rows());
            batch.each(|id, facts| {
                if let Some(facts) = facts {
                    read.push(Row::Lane(id, rows::read_lane(facts)?));
                }
                Ok(())
            })?;
            Ok(read)
        },
        |read| {
            read.iter().for_each(&mut each);
            Ok(())
        },
    )?;
    for id in lanes.iter().filter(|id| id.is_registered()) {
        if let Some(lane) = derived.slice.lane(*id) {
            each(&Row::Lane(*id, lane.clone()));
        }
    }
    Ok(())
}

/// Hands every fact of a kind to a function, as it is saved or has become since.
pub(super) fn each_fact_of(
    connection: &Connection,
    derived: &Derived,
    kind: FactKind,
    mut each: impl FnMut(FactKey, Fact),
) -> Result<()> {
    let facts = &derived.slice.changed.facts;
    rows::each_fact_of(connection, kind, |key, fact| {
        if !facts.contains(&key) {
            each(key, fact);
        }
        Ok::<(), Fault>(())
    })?;
    for key in facts.iter().filter(|key| key.kind() == Some(kind)) {
        if let Some(fact) = derived.slice.fact(key) {
            each(key.clone(), fact.clone());
        }
    }
    Ok(())
}

/// A run as it is kept.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kept<'k> {
    /// The facts of its row.
    Saved(&'k str),
    /// As it has become since.
    Newer(&'k Run),
}

impl<'k> Kept<'k> {
    /// Returns the part of it that is asked for.
    pub(super) fn part<T: Deserialize<'k> + From<&'k Run>>(self) -> Result<T> {
        match self {
            Self::Saved(facts) => rows::read("a run", facts),
            Self::Newer(run) => Ok(T::from(run)),
        }
    }
}

/// Hands the runs that are asked for to a function, in the order in which they are asked for, as long as it wants
/// more.
pub(super) fn each_run_of<T>(
    connection: &Connection,
    derived: &Derived,
    asked: impl Iterator<Item = (T, Option<RunId>)>,
    mut each: impl FnMut(T, Option<Kept<'_>>) -> Result<bool>,
) -> Result<()> {
    let saved = asked.map(|(what, run)| {
        let is_newer = run.is_some_and(|run| derived.is_changed(run));
        let (newer, saved) = if is_newer { (run, None) } else { (None, run) };
        ((what, newer), saved)
    });
    rows::each_facts_of(connection, saved, |(what, newer), facts| {
        let newer = newer.and_then(|run| derived.slice.run(run));
        each(what, newer.map(Kept::Newer).or(facts.map(Kept::Saved)))
    })
}

/// Hands every run to a function, in order, as long as it wants more.
pub(super) fn each_run(
    connection: &Connection,
    derived: &Derived,
    mut each: impl FnMut(Kept<'_>) -> Result<bool>,
) -> Result<()> {
    let changed = derived.changed_runs();
    let mut changed = changed.filter_map(|run| derived.slice.run(run)).peekable();
    let is_wanted = rows::each_facts(connection, |saved, facts| {
        match changed.next_if(|newer| newer.run == saved) {
            Some(newer) => each(Kept::Newer(newer)),
            None => each(Kept::Saved(facts)),
        }
    })?;
    for run in changed.take_while(|_| is_wanted) {
        if !each(Kept::Newer(run))? {
            break;
        }
    }
    Ok(())
}
