//! The results of a numeric outcome.
use serde::Serialize;

use super::{Settings, slots_do_not_fit};
use crate::analysis::means::mean::Mean;
use crate::analysis::means::ratio::MeanRatio;
use crate::analysis::numerics::quantiles::Quantiles;
use crate::analysis::paired::sign_flip_monte_carlo::SignFlipMonteCarlo;
use crate::analysis::paired::signed_rank::{SignedRank, ZeroMethod};
use crate::analysis::resampling::bootstrap::Resampled;
use crate::analysis::tables::defect::Defect;
use crate::analysis::values::comparison::{Comparison, Measure};
use crate::analysis::values::numbers::{NumericOutcome, PairedNumbers};

/// A measure of the runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeasureResults {
    /// What is computed of every measure.
    #[serde(flatten)]
    pub all: NumericResults,
    /// What is drawn at random, of costs and durations only.
    #[serde(flatten)]
    pub resampled: Option<ResampledNumbers>,
}

/// The resampled results of a measure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResampledNumbers {
    /// The sign-flip test of the mean difference.
    pub sign_flip_mc: SignFlipMonteCarlo,
    /// The ratio of the means, over resampled tasks.
    pub ratio_bootstrap_task: Resampled,
    /// The mean difference, over resampled tasks.
    pub diff_bootstrap_task: Resampled,
    /// The ratio of the means, over resampled clusters; absent without clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio_bootstrap_cluster: Option<Resampled>,
}

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
    pub ratio: MeanRatio,
}

impl MeasureResults {
    /// Computes the results of a measure; absent when no run records it.
    pub(super) fn new(
        comparison: &Comparison,
        measure: Measure,
        settings: &Settings<'_>,
    ) -> Result<Option<Self>, Defect> {
        let outcome = comparison
            .numbers(measure)
            .map_err(|_| slots_do_not_fit())?;
        if outcome.recorded() == (0, 0) {
            return Ok(None);
        }
        let pairs = outcome.paired();
        let spent = matches!(measure, Measure::Cost | Measure::Duration);
        Ok(Some(Self {
            all: NumericResults::new(&outcome, &pairs, settings.alpha),
            resampled: spent.then(|| ResampledNumbers::new(measure.column(), &pairs, settings)),
        }))
    }
}

impl ResampledNumbers {
    fn new(column: &str, pairs: &PairedNumbers, settings: &Settings<'_>) -> Self {
        let Settings {
            alpha, resampling, ..
        } = *settings;
        let path = |block: &str| format!("{column}.{block}");
        Self {
            sign_flip_mc: resampling.sign_flip(&path("sign_flip_mc"), pairs),
            ratio_bootstrap_task: resampling.ratio(&path("ratio_bootstrap_task"), pairs, alpha),
            diff_bootstrap_task: resampling.difference(&path("diff_bootstrap_task"), pairs, alpha),
            ratio_bootstrap_cluster: resampling.ratio_by_cluster(
                &path("ratio_bootstrap_cluster"),
                pairs,
                alpha,
            ),
        }
    }
}

impl NumericResults {
    fn new(outcome: &NumericOutcome, pairs: &PairedNumbers, alpha: f64) -> Self {
        let (runs_a, runs_b) = outcome.recorded();
        Self {
            n_tasks: pairs.tasks.len(),
            runs_a,
            runs_b,
            effect: NumericEffect::new(pairs, alpha),
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
            ratio: MeanRatio::new(&pairs.reference, &pairs.treatment, alpha),
        }
    }
}
