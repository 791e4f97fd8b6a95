//! Results of task values given directly: slots of tasks, or paired numbers.
use serde::Serialize;

use super::measure::NumericEffect;
use super::outcome::{Effect, EstimandRow, ExactBootstrap, Sensitivity};
use super::tables::{McNemarTables, RateIntervals};
use crate::analysis::described::repeats::Repeats;
use crate::analysis::paired::paired_table::{PairedCounts, PairedTable};
use crate::analysis::paired::proportion::proportion_intervals;
use crate::analysis::paired::signed_rank::{SignedRank, ZeroMethod};
use crate::analysis::values::binary::{BinaryOutcome, Estimand, PairedShares};
use crate::analysis::values::numbers::PairedNumbers;

/// The results of slots of tasks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskResults {
    /// Missing slots count 0.
    pub as_drawn: TaskDrawn,
    /// Only judged slots count.
    pub available: TaskRow,
    /// Only tasks judged in every slot.
    pub complete_blocks: TaskRow,
    /// Missing slots count against the treatment's rate.
    pub bound_low: TaskRow,
    /// Missing slots count towards the treatment's rate.
    pub bound_high: TaskRow,
    /// The paired tables.
    pub mcnemar: McNemarTables,
    /// What k repeats of a task say; `null` when a task has more successes than slots.
    pub pass_k: Option<Repeats>,
}

/// The rates and the difference under one estimand.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskRow {
    /// Tasks that count.
    pub n_tasks: usize,
    /// The mean share of the reference; `null` without tasks.
    pub rate_a: Option<f64>,
    /// The mean share of the treatment; `null` without tasks.
    pub rate_b: Option<f64>,
    /// Treatment minus reference.
    #[serde(flatten)]
    pub effect: Effect,
}

/// The row of the drawn tasks, with the tests beside the primary one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskDrawn {
    /// The rates and the difference.
    #[serde(flatten)]
    pub row: TaskRow,
    /// The tests beside the primary one.
    #[serde(flatten)]
    pub sensitivity: Sensitivity,
    /// The exact bootstraps.
    #[serde(flatten)]
    pub bootstrap: ExactBootstrap,
}

/// The results of paired numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairResults {
    /// The means, compared.
    #[serde(flatten)]
    pub effect: NumericEffect,
    /// The signed-rank test without zero differences.
    pub wilcoxon: SignedRank,
    /// The signed-rank test that ranks zero differences.
    pub wilcoxon_pratt: SignedRank,
}

/// The results of a paired table given by its counts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CountResults {
    /// The tests and intervals of the table.
    #[serde(flatten)]
    pub table: PairedTable,
    /// The intervals of the two rates.
    pub rate_ci: RateIntervals,
}

impl CountResults {
    /// Computes the results of tasks on which both succeed, only the reference, only the treatment,
    /// and neither. `None` when they are more than 2^63 - 1 together.
    pub fn new(counts: [u64; 4], alpha: f64) -> Option<Self> {
        let [both, reference_only, treatment_only, neither] = counts;
        let table = PairedTable::new(
            PairedCounts::new(both, reference_only, treatment_only, neither)?,
            alpha,
        );
        let rate = |alone| proportion_intervals(both + alone, table.n, alpha);
        let rate_ci = RateIntervals {
            a: rate(reference_only),
            b: rate(treatment_only),
        };
        Some(Self { table, rate_ci })
    }
}

impl TaskResults {
    /// Computes every row of slots of tasks.
    pub fn new(outcome: &BinaryOutcome, margins: &[f64], alpha: f64) -> Self {
        let row = |estimand| TaskRow::new(&outcome.paired(estimand), alpha);
        let drawn = outcome.paired(Estimand::AsDrawn);
        let drawn_row = TaskRow::new(&drawn, alpha);
        Self {
            as_drawn: TaskDrawn {
                sensitivity: Sensitivity::new(&drawn, &drawn_row.effect.diff, margins, alpha),
                bootstrap: ExactBootstrap::new(&drawn, alpha),
                row: drawn_row,
            },
            available: row(Estimand::Available),
            complete_blocks: row(Estimand::CompleteBlocks),
            bound_low: row(Estimand::BoundLow),
            bound_high: row(Estimand::BoundHigh),
            mcnemar: McNemarTables::new(outcome, alpha),
            pass_k: super::repeats(outcome),
        }
    }
}

impl TaskRow {
    fn new(shares: &PairedShares, alpha: f64) -> Self {
        let rates = EstimandRow::new(shares, alpha);
        Self {
            n_tasks: rates.n_tasks,
            rate_a: rates.rate_a.mean,
            rate_b: rates.rate_b.mean,
            effect: rates.effect,
        }
    }
}

impl PairResults {
    /// Computes what is reported of paired numbers.
    pub fn new(pairs: &PairedNumbers, alpha: f64) -> Self {
        let ranked = |zeros| SignedRank::of_values(&pairs.differences, zeros);
        Self {
            effect: NumericEffect::new(pairs, alpha),
            wilcoxon: ranked(ZeroMethod::Wilcoxon),
            wilcoxon_pratt: ranked(ZeroMethod::Pratt),
        }
    }
}
