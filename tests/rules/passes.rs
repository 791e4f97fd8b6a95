//! Passes over the slots of the shipped matrix: what starts again, what stays, and what ends a pass.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use prereg::engine::attempts::Fate;
use prereg::engine::command::{Action, Cause, Clock, Command};
use prereg::engine::decide;
use prereg::engine::preflight::{self, Status};
use prereg::engine::refusal::Refusal;
use prereg::engine::rules::Rules;
use prereg::engine::slice::Slice;
use prereg::units::{RunId, Time};
use serde_json::{Value, json};

use super::attempts::{Open, Slot};
use super::causes::{cause, state};
use super::shipped::{name_arms, table, with};

/// A slot of the matrix.
struct Filled {
    cell: String,
    repetition: u64,
    slot: Slot,
    /// What becomes of runs whose ending nobody knows yet.
    recovers: BTreeMap<RunId, String>,
}

/// A matrix between two passes.
struct Matrix {
    rules: Arc<Rules>,
    slots: Vec<Filled>,
    /// What the preflights of each pass said.
    preflights: Vec<Status>,
}

/// Why a pass ended before its last slot.
type Ended = &'static str;

pub(super) fn run_passes(case: &Value) -> Value {
    let mut matrix = Matrix::new(case);
    for attempt in list(case, "existing") {
        matrix.put(attempt);
    }
    list(case, "passes")
        .iter()
        .map(|pass| matrix.pass(pass))
        .collect()
}

fn list<'a>(case: &'a Value, name: &str) -> &'a [Value] {
    case[name].as_array().unwrap()
}

fn text<'a>(of: &'a Value, name: &str) -> &'a str {
    of[name].as_str().unwrap()
}

/// Checks the shipped protocol once for each shape. A cell of another route is executed elsewhere.
fn rules(cells: &[Value], repetitions: &Value) -> Arc<Rules> {
    static RULES: Mutex<BTreeMap<String, Arc<Rules>>> = Mutex::new(BTreeMap::new());
    let mut rules = RULES.lock().unwrap();
    let rules = rules.entry(format!("{cells:?} {repetitions}"));
    let check = || {
        let checked = with("matrix-attempts.toml", &["fixture"], |protocol| {
            let names: Vec<&str> = cells.iter().map(|cell| text(cell, "id")).collect();
            name_arms(protocol, &names);
            let arms = protocol["arms"].as_array_mut().unwrap();
            let executed = |cell: &Value| match text(cell, "route") {
                "direct" => "here",
                _ => "elsewhere",
            };
            for (arm, cell) in arms.iter_mut().zip(cells) {
                let arm = arm.as_table_mut().unwrap();
                arm.insert("executed".to_owned(), executed(cell).into());
                if executed(cell) != executed(&cells[0]) {
                    let differs = vec![toml::Value::from("executed")];
                    arm.insert("differs".to_owned(), differs.into());
                }
            }
            let repeats = repetitions.as_i64().unwrap();
            table(protocol, "allocation").insert("repeats".to_owned(), repeats.into());
        });
        Arc::new(Rules::new(checked.registration, checked.tasks).unwrap())
    };
    rules.or_insert_with(check).clone()
}

impl Matrix {
    fn new(case: &Value) -> Self {
        let rules = rules(list(case, "cells"), &case["repetitions"]);
        let plan = rules.registered_plan();
        let filled = |position| {
            let slot = plan.slot(position);
            Filled {
                cell: rules.protocol().arms[slot.arm as usize].id.clone(),
                repetition: slot.repeat + 1,
                slot: Slot::new(),
                recovers: BTreeMap::new(),
            }
        };
        Self {
            slots: (0..plan.len()).map(filled).collect(),
            rules: Arc::clone(&rules),
            preflights: Vec::new(),
        }
    }

    /// Puts an attempt on the record that was made before.
    fn put(&mut self, attempt: &Value) {
        let is_there = |filled: &&mut Filled| {
            attempt["cell"] == *filled.cell && attempt["repetition"] == filled.repetition
        };
        let filled = self.slots.iter_mut().find(is_there).unwrap();
        let number = attempt["attempt"].as_u64().unwrap();
        filled.slot.fill_up_to(number);
        let run = filled.slot.begin(number);
        match attempt["state"].as_str() {
            None | Some("running") => {
                // Without a record of it nothing was launched.
                let recovers = attempt["recovers_to"].as_str();
                let recovers = recovers.unwrap_or("interrupted_no_launch");
                filled.recovers.insert(run, recovers.to_owned());
            }
            Some("interrupted") => filled.slot.close(run, Fate::Unjudged(Cause::Lost)),
            Some(reason) => filled.slot.close(run, fate(reason)),
        }
    }

    fn pass(&mut self, pass: &Value) -> Value {
        let mut outcomes: VecDeque<&str> = list(pass, "outcomes")
            .iter()
            .map(|o| o.as_str().unwrap())
            .collect();
        let before: Vec<usize> = self
            .slots
            .iter()
            .map(|filled| filled.slot.runs().count())
            .collect();
        let ended = self.walk(pass, &mut outcomes).err();
        let told = |(filled, before): (&Filled, usize)| {
            let (cell, repetition) = (filled.cell.clone(), filled.repetition);
            let runs: Vec<Value> = filled
                .slot
                .runs()
                .skip(before)
                .map(|(_, attempt, fate)| json!([cell, repetition, attempt, told(fate)]))
                .collect();
            runs
        };
        let new: Vec<Value> = self.slots.iter().zip(before).flat_map(told).collect();
        let latest = self
            .preflights
            .last()
            .map_or("unavailable", |status| status.text());
        json!({
            "error": ended,
            "new": new,
            "states": self.states(),
            "preflight": { "records": self.preflights.len(), "latest": latest },
            "unused_outcomes": outcomes.len(),
        })
    }

    fn walk(&mut self, pass: &Value, outcomes: &mut VecDeque<&str>) -> Result<(), Ended> {
        if !self.may_begin(&pass["preflight"])? {
            return Ok(());
        }
        let requested = pass["retry_failed"] == true;
        // Whoever asks for a pass has seen why the last one ended.
        self.slots.iter_mut().for_each(|filled| filled.slot.clear());
        let mut slots = self.slots.iter_mut();
        slots.try_for_each(|filled| filled.resume(requested, outcomes))
    }

    /// Looks at the arms that are executed here; says whether anything may start then.
    fn may_begin(&mut self, statuses: &Value) -> Result<bool, Ended> {
        let command = Command {
            at: Time(0),
            clock: Clock::default(),
            actor: "user".to_owned(),
            key: String::new(),
            action: Action::Session {},
        };
        let session = decide::decide(Some(&self.rules), &Slice::whole(), &command);
        if session == Err(Refusal::NoDirectCell {}) {
            return Err("no_direct_cell");
        }
        let direct = preflight::direct(self.rules.protocol());
        let found = direct.map(|arm| text(statuses, &arm.id));
        let overall = preflight::overall(found).unwrap();
        self.preflights.push(overall);
        match session {
            Ok(_) => Ok(overall == Status::Ready),
            Err(Refusal::ArmElsewhere { .. }) => Ok(false),
            Err(other) => panic!("{other:?}"),
        }
    }

    fn states(&self) -> BTreeMap<String, u64> {
        let states = [
            "cancelled",
            "failed",
            "interrupted",
            "running",
            "success",
            "timed_out",
        ];
        let mut counts: BTreeMap<String, u64> = states.map(|state| (state.to_owned(), 0)).into();
        for (_, _, fate) in self.slots.iter().flat_map(|filled| filled.slot.runs()) {
            *counts.get_mut(&told(fate)).unwrap() += 1;
        }
        counts
    }
}

impl Filled {
    /// Finds out what became of the last attempt, then starts the next one if it may start.
    fn resume(&mut self, requested: bool, outcomes: &mut VecDeque<&str>) -> Result<(), Ended> {
        let last = self.slot.runs().next_back();
        if let Some((run, _, Fate::Open)) = last {
            self.reconcile(run)?;
        }
        match self.slot.start(requested) {
            Err(Open) => Err("nonterminal_exists"),
            Ok(None) => Ok(()),
            Ok(Some(run)) => self.end(run, outcomes.pop_front().unwrap_or("success")),
        }
    }

    fn reconcile(&mut self, run: RunId) -> Result<(), Ended> {
        let fate = match self.recovers[&run].as_str() {
            "unverified" => return Err("unverified"),
            "stopped" | "interrupted_no_launch" => Fate::Unjudged(Cause::Lost),
            reason => fate(reason),
        };
        self.slot.close(run, fate);
        Ok(())
    }

    /// Ends an attempt as it is said, unless nobody knows how it ended.
    fn end(&mut self, run: RunId, outcome: &str) -> Result<(), Ended> {
        if let Some(recovers) = outcome.strip_prefix("lost:") {
            self.recovers.insert(run, recovers.to_owned());
            return Err("lost");
        }
        if outcome == "prepare_fails" {
            let stops = self.slot.fail_to_prepare(run);
            return if stops { Err("prepare_failed") } else { Ok(()) };
        }
        self.slot.close(run, fate(outcome));
        Ok(())
    }
}

fn fate(reason: &str) -> Fate {
    cause(reason).map_or(Fate::Scored, Fate::Unjudged)
}

fn told(fate: Fate) -> String {
    match fate {
        Fate::Open => "running".to_owned(),
        Fate::Scored => state(None),
        Fate::Unjudged(cause) => state(Some(cause)),
    }
}
