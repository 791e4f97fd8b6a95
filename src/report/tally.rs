//! Counts and rates by arm: what came out, over the slots that were registered.
//!
//! The denominator is fixed: every registered slot counts, and a slot without a value counts as the
//! outcome's `missing` says, or not at all where only available values count.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::engine::command::Cause;
use crate::engine::event::Outcomes;
use crate::engine::rules::Rules;
use crate::engine::slice::{Run, State};
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
    /// It is so far; not every drawn task has been tried.
    SoFar,
    /// It is not, or a run of it could not be judged.
    Fails,
}

/// Counts runs one after another.
#[derive(Debug)]
pub struct Counter<'a> {
    rules: &'a Rules,
    slots: BTreeMap<u64, Last>,
    controls: BTreeMap<(usize, String), Option<bool>>,
    reruns: u64,
}

/// The last attempt at a slot.
#[derive(Debug)]
struct Last {
    arm: usize,
    state: State,
    cause: Option<&'static str>,
    outcomes: Option<Outcomes>,
}

impl<'a> Counter<'a> {
    /// Starts counting.
    pub fn new(rules: &'a Rules) -> Self {
        Self {
            rules,
            slots: BTreeMap::new(),
            controls: BTreeMap::new(),
            reruns: 0,
        }
    }

    /// Counts a run; runs come in the order of their numbers. Pilots are in no count.
    pub fn add(&mut self, run: Run) {
        let protocol = self.rules.protocol();
        match run.place {
            Some(place) if place.lane.is_registered() => {
                let Some(arm) = protocol.arm(&run.arm) else {
                    return;
                };
                self.reruns += u64::from(place.attempt > 1);
                let cause = run.cause.map(Cause::text);
                self.slots.insert(
                    place.position,
                    Last {
                        arm,
                        state: run.state,
                        cause,
                        outcomes: run.outcomes,
                    },
                );
            }
            Some(_) => {}
            None => {
                let Some(control) = protocol
                    .controls
                    .iter()
                    .position(|control| control.id == run.arm)
                else {
                    return;
                };
                if run.is_closed() {
                    let outcome = &protocol.controls[control].outcome;
                    let value = run
                        .outcomes
                        .as_ref()
                        .and_then(|outcomes| outcomes.get(outcome)?.as_bool());
                    // The first result stands; another run of the same control changes nothing.
                    let first = self.controls.entry((control, run.task)).or_default();
                    *first = first.or(value);
                }
            }
        }
    }

    /// Ends counting.
    pub fn finish(self) -> Tally {
        let protocol = self.rules.protocol();
        let plan = self.rules.registered_plan();
        let in_state = |state| {
            self.slots
                .values()
                .filter(|last| last.state == state)
                .count() as u64
        };
        let mut causes = BTreeMap::new();
        for cause in self.slots.values().filter_map(|last| last.cause) {
            *causes.entry(cause).or_default() += 1;
        }
        Tally {
            slots: plan.len(),
            scored: in_state(State::Scored),
            unjudged: in_state(State::Unjudged),
            reruns: self.reruns,
            causes,
            outcomes: protocol
                .outcomes
                .iter()
                .map(|outcome| self.outcome(outcome))
                .collect(),
            controls: (0..protocol.controls.len())
                .map(|control| self.control(control))
                .collect(),
        }
    }

    fn outcome(&self, outcome: &Outcome) -> OutcomeTally {
        let plan = self.rules.registered_plan();
        let slots = plan.tasks() * plan.repeats();
        let arms = self
            .rules
            .protocol()
            .arms
            .iter()
            .enumerate()
            .map(|(index, arm)| {
                let lasts = self.slots.values().filter(|last| last.arm == index);
                let values = lasts.filter_map(|last| last.outcomes.as_ref()?.get(&outcome.id));
                let known: Vec<&Value> = values.filter(|value| !value.is_null()).collect();
                let value = figure(outcome, &known, slots);
                ArmTally {
                    arm: arm.id.clone(),
                    slots,
                    known: known.len() as u64,
                    value,
                }
            });
        OutcomeTally {
            id: outcome.id.clone(),
            kind: outcome.kind,
            arms: arms.collect(),
        }
    }

    fn control(&self, index: usize) -> ControlTally {
        let control = &self.rules.protocol().controls[index];
        let of_control = self.controls.iter().filter(|((of, _), _)| *of == index);
        let results: Vec<Option<bool>> = of_control.map(|(_, result)| *result).collect();
        let expected = Some(control.expect == Expect::AllResolved);
        let verdict = if results.iter().any(|result| *result != expected) {
            ControlVerdict::Fails
        } else if results.len() as u64 == self.rules.registered_plan().tasks() {
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

fn figure(outcome: &Outcome, known: &[&Value], slots: u64) -> Figure {
    if outcome.kind != OutcomeKind::Binary {
        return Figure::Mean { mean: mean(known) };
    }
    let yes = known
        .iter()
        .filter(|value| value.as_bool() == Some(true))
        .count() as u64;
    let missing = slots - known.len() as u64;
    match outcome.missing {
        None => Figure::Count {
            count: yes,
            of: known.len() as u64,
        },
        Some(0) => Figure::Count {
            count: yes,
            of: slots,
        },
        Some(_) => Figure::Count {
            count: yes + missing,
            of: slots,
        },
    }
}

#[expect(
    clippy::float_arithmetic,
    reason = "a mean is reported, never decided upon"
)]
fn mean(known: &[&Value]) -> Option<f64> {
    let count = u32::try_from(known.len()).ok().filter(|count| *count > 0)?;
    let sum: f64 = known.iter().filter_map(|value| value.as_f64()).sum();
    Some(sum / f64::from(count))
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
