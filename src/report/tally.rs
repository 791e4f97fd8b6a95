//! Counts and rates by arm: what came out, over the slots that were registered.
//!
//! The denominator is fixed: every registered slot counts, and a slot without a value counts as the
//! outcome's `missing` says, or not at all where only available values count. Where the draw grows,
//! the slots are those of the tasks that are drawn by now.
//!
//! What came out of runs is kept as commands are granted (`totals`): no run is looked at. A slot whose
//! block was voided too often has ended without a score, by the cause `void`.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::engine::exact::Exact;
use crate::engine::facts::{Fact, FactKey};
use crate::engine::rules::Rules;
use crate::engine::slice::Slice;
use crate::engine::totals::{ControlTotals, Totals, Values};
use crate::protocol::model::{Control, Expect, Outcome, OutcomeKind};

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
    /// On how many tasks the outcome is true.
    pub count: u64,
    /// On how many there is a verdict.
    pub of: u64,
    /// On how many there is none.
    pub unjudged: u64,
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
    /// It is not, or no run of it could be judged.
    Fails,
}

/// The cause of a slot whose block was voided too often.
pub(super) const VOID: &str = "void";

impl Tally {
    /// Says what became of the slots of a study so far, over the tasks that are drawn by now.
    pub fn of(rules: &Rules, slice: &Slice) -> Self {
        let protocol = rules.protocol();
        let tasks = rules.drawn(&slice.standing);
        let slots = tasks * rules.registered_plan().repeats();
        let totals = |arm: &str| match slice.fact(&FactKey::Totals(arm.to_owned())) {
            Some(Fact::Totals(totals)) => totals.clone(),
            _ => Totals::default(),
        };
        let arms: Vec<(&str, Totals)> = protocol
            .arms
            .iter()
            .map(|arm| (arm.id.as_str(), totals(&arm.id)))
            .collect();
        let causes = causes(&arms, slice.standing.slots_void);
        let outcomes = protocol.outcomes.iter();
        let controls = protocol.controls.iter();
        Self {
            slots: rules.slots(&slice.standing),
            scored: arms.iter().map(|(_, totals)| totals.scored).sum(),
            unjudged: causes.values().sum(),
            reruns: arms.iter().map(|(_, totals)| totals.reruns).sum(),
            causes,
            outcomes: outcomes
                .map(|outcome| of_outcome(outcome, &arms, slots))
                .collect(),
            controls: controls
                .map(|control| of_control(control, slice, tasks))
                .collect(),
        }
    }
}

fn causes(arms: &[(&str, Totals)], void: u64) -> BTreeMap<&'static str, u64> {
    let mut causes = BTreeMap::new();
    let unjudged = arms.iter().flat_map(|(_, totals)| &totals.unjudged);
    let unjudged = unjudged.map(|(cause, slots)| (cause.text(), *slots));
    let void = (void > 0).then_some((VOID, void));
    for (cause, slots) in unjudged.chain(void) {
        *causes.entry(cause).or_default() += slots;
    }
    causes
}

fn of_outcome(outcome: &Outcome, arms: &[(&str, Totals)], slots: u64) -> OutcomeTally {
    let nothing = Values::default();
    let of_arm = |(arm, totals): &(&str, Totals)| {
        let values = totals.outcomes.get(&outcome.id).unwrap_or(&nothing);
        ArmTally {
            arm: (*arm).to_owned(),
            slots,
            known: values.known,
            value: figure(outcome, values, slots),
        }
    };
    OutcomeTally {
        id: outcome.id.clone(),
        kind: outcome.kind,
        arms: arms.iter().map(of_arm).collect(),
    }
}

/// Returns what a control came to.
pub(super) fn control_totals(slice: &Slice, control: &str) -> ControlTotals {
    match slice.fact(&FactKey::Control(control.to_owned())) {
        Some(Fact::Control(totals)) => totals.clone(),
        _ => ControlTotals::default(),
    }
}

fn of_control(control: &Control, slice: &Slice, tasks: u64) -> ControlTally {
    let totals = control_totals(slice, &control.id);
    let (yes, no) = totals.of(&control.outcome);
    let (violations, judged) = match control.expect {
        Expect::AllResolved => (no, yes + no),
        Expect::NoneResolved => (yes, yes + no),
    };
    // A task without a verdict violates nothing; none with one shows nothing.
    let shows_nothing = judged == 0 && totals.tasks > 0;
    let verdict = if violations > 0 || shows_nothing {
        ControlVerdict::Fails
    } else if tasks > 0 && totals.tasks == tasks {
        ControlVerdict::Holds
    } else {
        ControlVerdict::SoFar
    };
    ControlTally {
        control: control.id.clone(),
        expect: control.expect,
        count: yes,
        of: judged,
        unjudged: totals.tasks.saturating_sub(judged),
        verdict,
    }
}

fn figure(outcome: &Outcome, values: &Values, slots: u64) -> Figure {
    if outcome.kind != OutcomeKind::Binary {
        let mean = (values.known > 0).then(|| mean(&values.sum, values.known));
        return Figure::Mean { mean };
    }
    // A slot that counts has one value at most, so this is no less than 0 but in a record that lies.
    let missing = slots.saturating_sub(values.known);
    match outcome.missing {
        None => Figure::Count {
            count: values.yes,
            of: values.known,
        },
        Some(0) => Figure::Count {
            count: values.yes,
            of: slots,
        },
        Some(_) => Figure::Count {
            count: values.yes + missing,
            of: slots,
        },
    }
}

/// Returns the mean of so many numbers.
#[expect(
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    reason = "a mean is reported, never decided upon"
)]
fn mean(sum: &Exact, known: u64) -> f64 {
    let (is_negative, digits) = sum.digits();
    let parts = digits.into_iter().rev();
    // From the smallest part to the greatest: what is small is not lost before it adds up.
    let sum: f64 = parts
        .map(|(place, digit)| libm::scalbn(f64::from(digit), place * 32))
        .sum();
    let sum = if is_negative { -sum } else { sum };
    sum / known as f64
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
