//! The rows of a binary outcome: one per estimand, the first in full.
use serde::Serialize;

use super::Settings;
use crate::analysis::means::equivalence::Equivalence;
use crate::analysis::means::mean::{Mean, StandardError};
use crate::analysis::paired::sign_flip::SignFlip;
use crate::analysis::paired::signed_rank::{SignedRank, ZeroMethod};
use crate::analysis::resampling::bootstrap::{
    ClusterExact, Resampled, TaskIdeal, cluster_exact, task_ideal,
};
use crate::analysis::sequential::confidence_sequence::{EmpiricalBernstein, prpl_eb};
use crate::analysis::sequential::evalue::{SignEvalue, sign_evalue};
use crate::analysis::sequential::{
    Differences, LookSummary, SequentialDesign, SequentialLook, Sided, Spending, UnderRun,
    look_summaries, sequential_looks,
};
use crate::analysis::values::binary::{BinaryOutcome, Estimand, PairedShares};
use crate::analysis::{Flag, Keyed, Lattice};

/// A binary outcome under every estimand.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BinaryResults<D> {
    /// Missing slots count 0; with everything that is computed of an outcome.
    pub as_drawn: D,
    /// Only judged slots count.
    pub available: EstimandRow,
    /// Only tasks judged in every slot.
    pub complete_blocks: EstimandRow,
    /// Missing slots count against the treatment's rate.
    pub bound_low: EstimandRow,
    /// Missing slots count towards the treatment's rate.
    pub bound_high: EstimandRow,
    /// The range between the bounds.
    pub bounds: Bounds,
}

/// The two rates and their difference under one estimand.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EstimandRow {
    /// Tasks that count.
    pub n_tasks: usize,
    /// Tasks where the treatment has the larger share.
    pub n_pos: usize,
    /// Tasks where the reference has the larger share.
    pub n_neg: usize,
    /// Tasks where the shares are equal.
    pub n_zero: usize,
    /// The rate of the reference.
    pub rate_a: Mean,
    /// The rate of the treatment.
    pub rate_b: Mean,
    /// Treatment minus reference, and the tests of its sign.
    #[serde(flatten)]
    pub effect: Effect,
}

/// The mean difference and its sign-flip tests.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Effect {
    /// The mean of treatment minus reference.
    pub diff: Mean,
    /// The exact test that flips tasks; `null` when the differences share no denominator of 64 bits.
    pub sign_flip_task: Option<SignFlip>,
    /// The exact test that flips whole clusters; absent without clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sign_flip_cluster: Option<SignFlip>,
    /// Why a test is `null`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flag: Option<Flag>,
}

/// The mean differences at the two bounds, and the interval from one to the other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bounds {
    /// The mean difference at `bound_low`.
    pub lower: Option<f64>,
    /// The mean difference at `bound_high`.
    pub upper: Option<f64>,
    /// The lower limit at `bound_low` and the upper at `bound_high`, with tasks as units.
    pub union_ci_iid: [Option<f64>; 2],
    /// The same with CR2; absent without clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub union_ci_cr2: Option<[Option<f64>; 2]>,
}

/// What is computed of the differences of the drawn tasks, whatever the outcome.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sensitivity {
    /// The signed-rank test without zero differences.
    pub wilcoxon: Option<SignedRank>,
    /// The signed-rank test that ranks zero differences.
    pub wilcoxon_pratt: Option<SignedRank>,
    /// The equivalence tests, one per margin, under `tost_` and the margin.
    #[serde(flatten)]
    pub equivalence: Keyed<Equivalence>,
    /// The e-value of the signs in draw order.
    pub sign_evalue: SignEvalue,
    /// The confidence sequence of the mean in draw order.
    pub prpl_eb: EmpiricalBernstein,
}

/// The bootstrap of the mean difference, as far as it is exact.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExactBootstrap {
    /// The limit of infinitely many resamples of tasks.
    pub bootstrap_task_ideal: Option<TaskIdeal>,
    /// All draws of whole clusters; absent without clusters, or with fewer than two or too many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootstrap_cluster_exact: Option<ClusterExact>,
}

/// The row of the drawn tasks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Drawn {
    /// The rates and the difference.
    #[serde(flatten)]
    pub row: EstimandRow,
    /// The tests beside the primary one.
    #[serde(flatten)]
    pub sensitivity: Sensitivity,
    /// The mean difference of the first tasks of the draw.
    pub looks: Keyed<LookSummary>,
}

/// The row of the drawn tasks for the verdicts, which may be primary.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DrawnVerdicts {
    /// What is computed of every binary outcome.
    #[serde(flatten)]
    pub drawn: Drawn,
    /// The exact bootstraps.
    #[serde(flatten)]
    pub bootstrap: ExactBootstrap,
    /// The mean difference over resampled clusters; absent without clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootstrap_cluster_mc: Option<Resampled>,
    /// Two looks that share alpha by O'Brien and Fleming's rule; `null` when they cannot.
    #[serde(rename = "sequential_obf_0.5_1.0")]
    pub sequential: Option<Vec<SequentialLook>>,
}

/// The fractions of the draw that are summarised.
const LOOKS: [f64; 4] = [0.25, 0.5, 0.75, 1.0];
/// The fractions of the draw that are tested in turn.
const TESTED_LOOKS: [f64; 2] = [0.5, 1.0];

impl Drawn {
    pub(super) fn new(shares: &PairedShares, settings: &Settings<'_>) -> Self {
        let row = EstimandRow::new(shares, settings.alpha);
        let Settings { margins, alpha, .. } = *settings;
        Self {
            sensitivity: Sensitivity::new(shares, &row.effect.diff, margins, alpha),
            looks: with_differences(shares, |differences| look_summaries(differences, &LOOKS)),
            row,
        }
    }
}

impl DrawnVerdicts {
    pub(super) fn new(shares: &PairedShares, settings: &Settings<'_>) -> Self {
        let design = SequentialDesign {
            fractions: TESTED_LOOKS.to_vec(),
            spending: Spending::Obf,
            alpha: settings.alpha,
            sided: Sided::Two,
            under_run: UnderRun::SpendToT,
        };
        let (clusters, planned) = (shares.clusters(), shares.task_count());
        let looks = |differences: Differences<'_>| {
            sequential_looks(&design, differences, clusters, planned).ok()
        };
        let path = "resolved.as_drawn.bootstrap_cluster_mc";
        Self {
            drawn: Drawn::new(shares, settings),
            bootstrap: ExactBootstrap::new(shares, settings.alpha),
            bootstrap_cluster_mc: settings.resampling.shares_by_cluster(
                path,
                shares,
                settings.alpha,
            ),
            sequential: with_differences(shares, looks),
        }
    }
}

/// Gives the differences exactly, or as doubles where 64 bits do not hold them.
fn with_differences<T>(shares: &PairedShares, read: impl FnOnce(Differences<'_>) -> T) -> T {
    match shares.differences() {
        Some(exact) => read(Differences::Exact(&exact)),
        None => read(Differences::Real(&shares.difference_values())),
    }
}

impl EstimandRow {
    /// Computes the row of an outcome under one estimand.
    pub fn new(shares: &PairedShares, alpha: f64) -> Self {
        let (n_pos, n_neg, n_zero) = shares.signs();
        let mean = |exact: Option<Lattice>, values: Vec<f64>| {
            mean_of(exact.as_ref(), &values, shares.clusters(), alpha)
        };
        Self {
            n_tasks: shares.task_count(),
            n_pos,
            n_neg,
            n_zero,
            rate_a: mean(shares.reference(), shares.reference_values()),
            rate_b: mean(shares.treatment(), shares.treatment_values()),
            effect: Effect::new(shares, alpha),
        }
    }
}

impl Effect {
    /// Computes the mean difference and the sign-flip tests.
    pub fn new(shares: &PairedShares, alpha: f64) -> Self {
        let exact = shares.differences();
        let clusters = shares.clusters();
        let by_cluster =
            |exact: &Lattice| clusters.map(|clusters| SignFlip::of_clusters(exact, clusters));
        Self {
            diff: mean_of(exact.as_ref(), &shares.difference_values(), clusters, alpha),
            sign_flip_task: exact.as_ref().map(SignFlip::of_tasks),
            sign_flip_cluster: exact.as_ref().and_then(by_cluster),
            flag: exact.is_none().then_some(Flag::LatticeTooFine),
        }
    }
}

impl Bounds {
    fn new(low: &Mean, high: &Mean) -> Self {
        let union = |read: fn(&Mean) -> Option<&StandardError>| {
            let ends = |mean| read(mean).map(|block: &StandardError| block.ci);
            Some([
                ends(low)?.map(|[lower, _]| lower),
                ends(high)?.map(|[_, upper]| upper),
            ])
        };
        Self {
            lower: low.mean,
            upper: high.mean,
            union_ci_iid: union(|mean| Some(&mean.iid)).unwrap_or_default(),
            union_ci_cr2: union(|mean| mean.clustered.as_ref().map(|blocks| &blocks.cr2)),
        }
    }
}

impl Sensitivity {
    /// Computes the tests beside the primary one of the differences of the drawn tasks.
    pub fn new(shares: &PairedShares, diff: &Mean, margins: &[f64], alpha: f64) -> Self {
        let exact = shares.differences();
        let differences = shares.difference_values();
        let ranked = |zeros| {
            exact
                .as_ref()
                .map(|exact| SignedRank::of_lattice(exact, zeros))
        };
        let equivalence = |&margin: &f64| {
            (
                format!("tost_{}", margin_name(margin)),
                Equivalence::new(diff, margin, alpha),
            )
        };
        Self {
            wilcoxon: ranked(ZeroMethod::Wilcoxon),
            wilcoxon_pratt: ranked(ZeroMethod::Pratt),
            equivalence: Keyed(margins.iter().map(equivalence).collect()),
            sign_evalue: sign_evalue(&differences, alpha),
            prpl_eb: prpl_eb(&differences, alpha),
        }
    }
}

impl ExactBootstrap {
    /// Computes the exact bootstraps of the mean difference.
    pub fn new(shares: &PairedShares, alpha: f64) -> Self {
        let exact = shares.differences();
        Self {
            bootstrap_task_ideal: exact.as_ref().map(|exact| task_ideal(exact, alpha)),
            bootstrap_cluster_exact: exact
                .as_ref()
                .zip(shares.clusters())
                .and_then(|(exact, clusters)| cluster_exact(exact, clusters, alpha)),
        }
    }
}

impl<D> BinaryResults<D> {
    /// Computes every row of an outcome; `drawn` makes the row of the drawn tasks.
    pub fn new(
        outcome: &BinaryOutcome,
        alpha: f64,
        drawn: impl FnOnce(&PairedShares) -> D,
    ) -> Self {
        let row = |estimand| EstimandRow::new(&outcome.paired(estimand), alpha);
        let (bound_low, bound_high) = (row(Estimand::BoundLow), row(Estimand::BoundHigh));
        Self {
            as_drawn: drawn(&outcome.paired(Estimand::AsDrawn)),
            available: row(Estimand::Available),
            complete_blocks: row(Estimand::CompleteBlocks),
            bounds: Bounds::new(&bound_low.effect.diff, &bound_high.effect.diff),
            bound_low,
            bound_high,
        }
    }
}

/// Returns the mean of exact values, or of their doubles where 64 bits do not hold them.
fn mean_of(
    exact: Option<&Lattice>,
    values: &[f64],
    clusters: Option<&[usize]>,
    alpha: f64,
) -> Mean {
    match exact {
        Some(exact) => Mean::of_lattice(exact, clusters, alpha),
        None => Mean::of_values(values, clusters, alpha),
    }
}

/// Returns a margin with at least two decimals, as the keys of results have it.
fn margin_name(margin: f64) -> String {
    let short = format!("{margin:.2}");
    if short.parse() == Ok(margin) {
        short
    } else {
        margin.to_string()
    }
}
