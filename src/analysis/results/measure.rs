//! The results of a numeric outcome.
use serde::Serialize;

use super::Settings;
use crate::analysis::mean::Mean;
use crate::analysis::numbers::{NumericOutcome, PairedNumbers};
use crate::analysis::quantiles::Quantiles;
use crate::analysis::ratio::Ratio;
use crate::analysis::signed_rank::{SignedRank, ZeroMethod};

/// A numeric outcome over the tasks with a number in each arm.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NumericResults {
    /// Tasks with a number in each arm.
    pub n_tasks: usize,
    /// Numbers recorded for the reference.
    pub runs_a: usize,
    /// Numbers recorded for the treatment.
    pub runs_b: usize,
    /// The two means, their difference and their ratio.
    #[serde(flatten)]
    pub effect: NumericEffect,
    /// The signed-rank test without zero differences.
    pub wilcoxon: SignedRank,
}

/// The means of a numeric outcome, compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NumericEffect {
    /// Quantiles of the task values of the reference.
    pub a: Quantiles,
    /// Quantiles of the task values of the treatment.
    pub b: Quantiles,
    /// Quantiles of the differences.
    pub d: Quantiles,
    /// The mean of treatment minus reference.
    pub diff: Mean,
    /// The ratio of the means, and the typical ratio of a task.
    pub ratio: Ratio,
}

impl NumericResults {
    /// Computes what is reported of every numeric outcome.
    pub fn new(outcome: &NumericOutcome, pairs: &PairedNumbers, settings: &Settings<'_>) -> Self {
        let (runs_a, runs_b) = outcome.recorded();
        Self {
            n_tasks: pairs.tasks.len(),
            runs_a,
            runs_b,
            effect: NumericEffect::new(pairs, settings.alpha),
            wilcoxon: SignedRank::of_values(&pairs.differences, ZeroMethod::Wilcoxon),
        }
    }
}

impl NumericEffect {
    /// Compares the means of paired numbers.
    pub fn new(pairs: &PairedNumbers, alpha: f64) -> Self {
        Self {
            a: Quantiles::new(&pairs.reference),
            b: Quantiles::new(&pairs.treatment),
            d: Quantiles::new(&pairs.differences),
            diff: Mean::of_values(&pairs.differences, pairs.clusters.as_deref(), alpha),
            ratio: Ratio::new(&pairs.reference, &pairs.treatment, alpha),
        }
    }
}
