//! Paired tables of tasks, and the rates of the arms when every task has one slot.
use serde::Serialize;

use crate::analysis::paired::paired_table::{PairedCounts, PairedTable, Reduction};
use crate::analysis::paired::proportion::{ProportionIntervals, proportion_intervals};
use crate::analysis::values::binary::BinaryOutcome;

/// McNemar's table of tasks: `single` with one slot per task, else one table per reduction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct McNemarTables {
    /// One slot per task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub single: Option<PairedTable>,
    /// A task succeeds when more than half of its slots do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub majority: Option<PairedTable>,
    /// A task succeeds when a slot does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub any: Option<PairedTable>,
    /// A task succeeds when all slots do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all: Option<PairedTable>,
}

/// The intervals of the two rates.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RateIntervals {
    /// The reference.
    pub a: ProportionIntervals,
    /// The treatment.
    pub b: ProportionIntervals,
}

impl McNemarTables {
    /// Reduces the drawn tasks, missing slots counting 0, and tabulates them.
    pub fn new(outcome: &BinaryOutcome, alpha: f64) -> Self {
        let single = outcome.repeats() == 1;
        let table = |reduction, wanted: bool| {
            wanted.then(|| PairedTable::new(reduced(outcome, reduction), alpha))
        };
        Self {
            single: table(Reduction::All, single),
            majority: table(Reduction::Majority, !single),
            any: table(Reduction::Any, !single),
            all: table(Reduction::All, !single),
        }
    }
}

fn reduced(outcome: &BinaryOutcome, reduction: Reduction) -> PairedCounts {
    let holds = |successes: u64| reduction.holds(successes, outcome.repeats());
    let (a, b) = (outcome.reference_successes(), outcome.treatment_successes());
    PairedCounts::from_outcomes(a.into_iter().zip(b).map(|(a, b)| (holds(a), holds(b))))
}

impl RateIntervals {
    /// Computes the intervals of the drawn tasks; absent unless every task has one slot.
    pub fn new(outcome: &BinaryOutcome, alpha: f64) -> Option<Self> {
        let tasks = outcome.task_count() as u64;
        let rate = |successes: Vec<u64>| proportion_intervals(successes.iter().sum(), tasks, alpha);
        (outcome.repeats() == 1).then(|| Self {
            a: rate(outcome.reference_successes()),
            b: rate(outcome.treatment_successes()),
        })
    }
}
