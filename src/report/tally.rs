//! Counts and rates by arm: what came out, over the slots that were registered.
//!
//! The denominator is fixed: every registered slot counts, and a slot without a value counts as the
//! outcome's `missing` says, or not at all where only available values count. Where the draw grows,
//! the slots are those of the tasks that are drawn by now.
//!
//! A run that stands at no slot (`seats`) is in no count; a slot whose block was voided too often has
//! ended without a score, by the cause `void`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::seats::{At, Seats};
use crate::engine::attempts::Fate;
use crate::engine::counts::Filled;
use crate::engine::event::Outcomes;
use crate::engine::rules::Rules;
use crate::engine::slice::{Lane, Row, Run, Seated, Standing};
use crate::protocol::model::{Expect, Outcome, OutcomeKind};

/// Everything that is counted.
#[derive(Debug, Serialize)]
pub struct Tally {
    /// How many slots there are.
    pub slots: u64,
    /// How many slots have a scored run.
    pub scored: u64,
    /// How many slots have ended without one.
    pub unjudged: u64,
    /// How many runs were a second or later attempt.
    pub reruns: u64,
    /// How many slots have ended without a score, by cause.
    pub causes: BTreeMap<&'static str, u64>,
    /// The outcomes, in the order of declaration.
    pub outcomes: Vec<OutcomeTally>,
    /// The controls.
    pub controls: Vec<ControlTally>,
}

/// An outcome by arm.
#[derive(Debug, Serialize)]
pub struct OutcomeTally {
    /// The outcome.
    pub id: String,
    /// Its type.
    pub kind: OutcomeKind,
    /// Each arm, in the listed order.
    pub arms: Vec<ArmTally>,
}

/// An outcome of an arm.
#[derive(Debug, Serialize)]
pub struct ArmTally {
    /// The arm.
    pub arm: String,
    /// How many slots the arm has.
    pub slots: u64,
    /// How many of them have a value.
    pub known: u64,
    /// What was counted or averaged.
    #[serde(flatten)]
    pub value: Figure,
}

/// What was counted or averaged.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", untagged)]
pub enum Figure {
    /// A count over a denominator.
    Count {
        /// How many are true, missing ones counted as the protocol says.
        count: u64,
        /// Of how many.
        of: u64,
    },
    /// A mean of the known values; none where there is none.
    Mean {
        /// The mean, in the outcome's unit: money in micro-dollars.
        mean: Option<f64>,
    },
}

/// A control.
#[derive(Debug, Serialize)]
pub struct ControlTally {
    /// The control.
    pub control: String,
    /// What its outcomes must be.
    pub expect: Expect,
    /// How many runs have the outcome true.
    pub count: u64,
    /// How many runs there are.
    pub of: u64,
    /// Whether it is as expected.
    pub verdict: ControlVerdict,
}

/// Whether a control is as expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlVerdict {
    /// It is, for every drawn task.
    Holds,
    /// It is so far; not every drawn task has been tried, or none is drawn.
    SoFar,
    /// It is not, or a run of it could not be judged.
    Fails,
}

/// Counts slots, row by row. Of a run it keeps what its slot needs and no outcomes.
#[derive(Debug)]
pub struct Counter<'a> {
    rules: &'a Rules,
    seats: Seats<'a>,
    /// Positions under an order by plan whose slot waits for an attempt, or has one under way.
    waiting: BTreeSet<u64>,
    /// Why the last attempt at a position under an order by plan is unjudged.
    unjudged: BTreeMap<u64, &'static str>,
    /// Slots that have ended without a score, by cause.
    causes: BTreeMap<&'static str, u64>,
    scored: u64,
    reruns: u64,
    /// The known values of each outcome and arm.
    known: Vec<Vec<Known>>,
    controls: BTreeMap<(usize, String), Option<bool>>,
}

/// The known values of an outcome of an arm.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    values: u32,
    /// How many are true.
    yes: u64,
    sum: f64,
}

/// The cause of a slot whose block was voided too often.
pub(super) const VOID: &str = "void";

impl<'a> Counter<'a> {
    /// Starts counting.
    pub fn new(rules: &'a Rules) -> Self {
        let protocol = rules.protocol();
        Self {
            rules,
            seats: Seats::new(rules),
            waiting: BTreeSet::new(),
            unjudged: BTreeMap::new(),
            causes: BTreeMap::new(),
            scored: 0,
            reruns: 0,
            known: vec![vec![Known::default(); protocol.arms.len()]; protocol.outcomes.len()],
            controls: BTreeMap::new(),
        }
    }

    /// Counts a row: windows and lanes come before runs, and runs in the order of their numbers.
    /// Pilots are in no count.
    pub fn add(&mut self, row: Row) {
        match row {
            Row::Window(window, tally) => self.seats.window(window, &tally),
            Row::Lane(id, lane) if id.is_registered() => self.lane(&lane),
            Row::Lane(..) => {}
            Row::Run(run) => self.run(*run),
        }
    }

    fn lane(&mut self, lane: &Lane) {
        if self.rules.goes_by_counts() {
            return;
        }
        self.waiting
            .extend(lane.again.keys().copied().chain(lane.next));
        let voids_max = self.rules.protocol().attempts.voids_max;
        if voids_max.is_some_and(|most| lane.voids > most) {
            *self.causes.entry(VOID).or_default() +=
                self.rules.registered_plan().lane_len(lane.stage);
        }
    }

    fn run(&mut self, run: Run) {
        if run.place.is_none() {
            return self.run_of_control(run);
        }
        let Some(seat) = self.seats.seat(&Seated::of(&run)) else {
            return;
        };
        match seat.at {
            At::Position(position) => self.planned(position, seat.fate),
            At::Rank(_, filled) => self.counted(filled, seat.fate),
        }
        if seat.fate == Fate::Scored {
            self.score(seat.arm, run.outcomes);
        }
    }

    /// Counts a run whose slot its place names.
    fn planned(&mut self, position: u64, fate: Fate) {
        let before = self.unjudged.get(&position);
        self.reruns += u64::from(before.is_some());
        match fate {
            Fate::Scored => {
                self.unjudged.remove(&position);
            }
            Fate::Unjudged(cause) => {
                self.unjudged.insert(position, cause.text());
            }
            Fate::Open => {}
        }
    }

    /// Counts a run whose slot is its rank among those of its task and arm that count.
    fn counted(&mut self, filled: Filled, fate: Fate) {
        self.reruns += u64::from(filled.attempt > 1);
        match fate {
            Fate::Unjudged(cause) if !filled.waits => {
                *self.causes.entry(cause.text()).or_default() += 1;
            }
            _ => {}
        }
    }

    /// Counts a slot that has a scored run, and its outcomes.
    fn score(&mut self, arm: usize, outcomes: Option<Outcomes>) {
        self.scored += 1;
        let outcomes = outcomes.unwrap_or_default();
        for (outcome, known) in self.rules.protocol().outcomes.iter().zip(&mut self.known) {
            if let Some(value) = outcomes.get(&outcome.id).filter(|value| !value.is_null()) {
                known[arm].add(value);
            }
        }
    }

    fn run_of_control(&mut self, run: Run) {
        let controls = &self.rules.protocol().controls;
        let Some(control) = controls.iter().position(|control| control.id == run.arm) else {
            return;
        };
        if run.is_closed() {
            let outcome = &controls[control].outcome;
            let outcomes = run.outcomes.as_ref();
            let value = outcomes.and_then(|outcomes| outcomes.get(outcome)?.as_bool());
            // The first result stands; another run of the same control changes nothing.
            let first = self.controls.entry((control, run.task)).or_default();
            *first = first.or(value);
        }
    }

    /// Ends counting, over the tasks that are drawn by now.
    pub fn finish(mut self, standing: &Standing) -> Tally {
        let protocol = self.rules.protocol();
        let tasks = self.rules.drawn(standing);
        let ended = std::mem::take(&mut self.unjudged).into_iter();
        for (_, cause) in ended.filter(|(position, _)| !self.waiting.contains(position)) {
            *self.causes.entry(cause).or_default() += 1;
        }
        let outcomes = protocol.outcomes.iter().zip(&self.known);
        let controls = 0..protocol.controls.len();
        Tally {
            slots: self.rules.slots(standing),
            scored: self.scored,
            unjudged: self.causes.values().sum(),
            reruns: self.reruns,
            outcomes: outcomes
                .map(|(outcome, known)| self.outcome(outcome, known, tasks))
                .collect(),
            controls: controls
                .map(|control| self.control(control, tasks))
                .collect(),
            causes: self.causes,
        }
    }

    fn outcome(&self, outcome: &Outcome, known: &[Known], tasks: u64) -> OutcomeTally {
        let slots = tasks * self.rules.registered_plan().repeats();
        let arms = self.rules.protocol().arms.iter().zip(known);
        let arms = arms.map(|(arm, known)| ArmTally {
            arm: arm.id.clone(),
            slots,
            known: u64::from(known.values),
            value: figure(outcome, known, slots),
        });
        OutcomeTally {
            id: outcome.id.clone(),
            kind: outcome.kind,
            arms: arms.collect(),
        }
    }

    fn control(&self, index: usize, tasks: u64) -> ControlTally {
        let control = &self.rules.protocol().controls[index];
        let of_control = self.controls.iter().filter(|((of, _), _)| *of == index);
        let results: Vec<Option<bool>> = of_control.map(|(_, result)| *result).collect();
        let expected = Some(control.expect == Expect::AllResolved);
        let verdict = if results.iter().any(|result| *result != expected) {
            ControlVerdict::Fails
        } else if tasks > 0 && results.len() as u64 == tasks {
            ControlVerdict::Holds
        } else {
            ControlVerdict::SoFar
        };
        ControlTally {
            control: control.id.clone(),
            expect: control.expect,
            count: results
                .iter()
                .filter(|result| **result == Some(true))
                .count() as u64,
            of: results.len() as u64,
            verdict,
        }
    }
}

fn figure(outcome: &Outcome, known: &Known, slots: u64) -> Figure {
    if outcome.kind != OutcomeKind::Binary {
        return Figure::Mean { mean: known.mean() };
    }
    let values = u64::from(known.values);
    // A slot that counts has one value at most, so this is no less than 0 but in a record that lies.
    let missing = slots.saturating_sub(values);
    match outcome.missing {
        None => Figure::Count {
            count: known.yes,
            of: values,
        },
        Some(0) => Figure::Count {
            count: known.yes,
            of: slots,
        },
        Some(_) => Figure::Count {
            count: known.yes + missing,
            of: slots,
        },
    }
}

#[expect(
    clippy::float_arithmetic,
    reason = "a mean is reported, never decided upon"
)]
impl Known {
    fn add(&mut self, value: &Value) {
        self.values = self.values.saturating_add(1);
        self.yes += u64::from(value.as_bool() == Some(true));
        self.sum += value.as_f64().unwrap_or_default();
    }

    fn mean(&self) -> Option<f64> {
        (self.values > 0).then(|| self.sum / f64::from(self.values))
    }
}

/// Returns an amount of micro-dollars in dollars.
#[expect(
    clippy::float_arithmetic,
    reason = "a mean is reported, never decided upon"
)]
pub fn dollars(micros: f64) -> f64 {
    micros / 1_000_000.0
}

/// Returns a share as a percentage with one decimal, rounded half up on integers.
pub fn percent(count: u64, of: u64) -> String {
    match (u128::from(count) * 2000 + u128::from(of)).checked_div(u128::from(of) * 2) {
        Some(permille) => format!("{}.{} %", permille / 10, permille % 10),
        None => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn percentages_round_half_up() {
        for (count, of, text) in [
            (0, 24, "0.0 %"),
            (6, 24, "25.0 %"),
            (22, 24, "91.7 %"),
            (1, 2000, "0.1 %"),
            (1, 0, "-"),
        ] {
            assert_eq!(percent(count, of), text);
        }
    }
}
