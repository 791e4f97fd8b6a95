//! Computes a registered comparison, all but what depends on the other tests of its family.

use std::collections::BTreeSet;
use std::num::{NonZeroU64, NonZeroUsize};

use super::answer::{AnsweredComparison, Beside, Effected, Row, Tipping};
use super::describe;
use super::hypothesis::{self, Tested};
use super::interval::{self, Drawing, Estimated, finite};
use super::pairs::{self, Cells, Contrast, Pairs};
use super::tipping;
use crate::analysis::Flag;
use crate::analysis::described::repeats::pass_k;
use crate::analysis::means::mean::Mean;
use crate::analysis::multiplicity::rejects;
use crate::analysis::paired::sign_flip::SignFlip;
use crate::analysis::resampling::stream::Streams;
use crate::analysis::values::binary::Estimand;
use crate::protocol::model::{Alternative, Comparison, Effect, Objective, Outcome, OutcomeKind};

/// What a comparison is made of.
pub(super) struct Made<'a> {
    pub(super) cells: &'a Cells<'a>,
    /// How many of the drawn tasks are analysed: all, or with looks the first ones whose slots have all ended.
    pub(super) tasks: usize,
    /// How it is called: `primary`, or the id of the secondary.
    pub(super) id: &'a str,
    pub(super) comparison: &'a Comparison,
    pub(super) compared: Contrast<'a>,
    pub(super) arms: [&'a str; 2],
    pub(super) alpha: f64,
    pub(super) resamples: NonZeroU64,
    pub(super) streams: Streams,
    pub(super) threads: NonZeroUsize,
    /// Whether no look and no other test of its family has a say in what it decides.
    pub(super) decides_alone: bool,
}

impl Made<'_> {
    fn outcome(&self) -> &Outcome {
        self.compared.outcome
    }

    fn is_binary(&self) -> bool {
        self.outcome().kind == OutcomeKind::Binary
    }

    /// Returns by how much the interval misses: twice alpha beside a test that looks on one side.
    pub(super) fn interval_alpha(&self, alpha: f64) -> f64 {
        if self.is_two_sided() {
            alpha
        } else {
            2.0 * alpha
        }
    }

    /// Returns whether the hypothesis lies on both sides.
    pub(super) fn is_two_sided(&self) -> bool {
        self.comparison.objective == Objective::Superiority
            && self.comparison.alternative == Alternative::TwoSided
    }

    /// Returns the estimand that decides.
    pub(super) fn estimand(&self) -> Estimand {
        pairs::estimand(self.comparison.estimand, self.outcome())
    }

    /// Returns the values of the first so many drawn tasks.
    pub(super) fn pairs(&self, estimand: Estimand, tasks: usize) -> Pairs {
        let pairs = Pairs::of(self.cells, self.compared, estimand, tasks);
        pairs.unwrap_or_else(Pairs::invalid)
    }

    /// Makes the registered test of values.
    pub(super) fn test(&self, pairs: &Pairs) -> Tested {
        let test = |pairs: &Pairs| {
            let better = self.outcome().better;
            let (resamples, streams) = (self.resamples, &self.streams);
            hypothesis::test(pairs, self.comparison, better, resamples, streams)
        };
        if self.comparison.effect != Effect::GeometricRatio {
            return test(pairs);
        }
        pairs.logarithms().map_or(
            Tested {
                flag: Some(Flag::RatioNotPositive),
                ..Tested::default()
            },
            |logarithms| test(&logarithms),
        )
    }

    /// Returns the registered effect of values, with its interval for a test at `alpha`.
    pub(super) fn effected(&self, pairs: &Pairs, alpha: f64) -> Effected {
        let alpha = self.interval_alpha(alpha);
        let drawing = Drawing {
            streams: &self.streams,
            resamples: self.resamples,
            threads: self.threads,
        };
        let comparison = self.comparison;
        let found = interval::estimate(
            pairs,
            comparison.effect,
            comparison.interval,
            alpha,
            drawing,
        );
        let found = Estimated {
            flag: pairs.fault.or(found.flag),
            ..found
        };
        found.at_level(alpha)
    }

    /// Computes the comparison; what depends on its family is filled in later.
    pub(super) fn answer(&self) -> AnsweredComparison {
        let all = self.tasks;
        let pairs = self.pairs(self.estimand(), all);
        let tested = self.test(&pairs);
        let result = self.effected(&pairs, self.alpha);
        let mean_of = |values: &[f64]| finite(Mean::of_values(values, None, self.alpha).mean);
        let groups = pairs.clusters.as_ref().map(|ids| {
            let distinct: BTreeSet<_> = ids.iter().collect();
            distinct.len()
        });
        let p = finite(tested.p);
        let rejects = rejects(p, self.alpha);
        let [reference, treatment] = self.arms.map(str::to_owned);
        AnsweredComparison {
            id: self.id.to_owned(),
            outcome: self.outcome().id.clone(),
            kind: self.outcome().kind,
            better: self.outcome().better,
            reference,
            treatment,
            estimand: self.comparison.estimand,
            effect: self.comparison.effect,
            test: self.comparison.test,
            interval: self.comparison.interval,
            alternative: self.comparison.alternative,
            objective: self.comparison.objective,
            margin: self.comparison.margin,
            tasks: pairs.tasks(),
            clusters: groups,
            signs: pairs.signs(),
            reference_mean: mean_of(&pairs.reference),
            treatment_mean: mean_of(&pairs.treatment),
            interval_agrees: self.agrees(&result, rejects).filter(|_| p.is_some()),
            result,
            statistic: finite(tested.statistic),
            df: finite(tested.df),
            p,
            p_floor: finite(tested.p_floor),
            p_adjusted: p,
            level: self.alpha,
            rejects,
            confirmatory: false,
            flag: pairs.fault.or(tested.flag),
            sensitivity: self.sensitivity(all),
            tipping_point: self.tipping(rejects),
            beside: self.beside(&pairs),
        }
    }

    /// Says whether the interval excludes what the test rejects; of superiority alone.
    fn agrees(&self, result: &Effected, rejects: bool) -> Option<bool> {
        let null = match self.comparison.effect {
            Effect::PairedDiff => 0.0,
            Effect::RatioOfMeans | Effect::GeometricRatio => 1.0,
        };
        let [low, high] = result.ci.filter(|_| self.is_two_sided())?;
        Some(rejects == (low > null || high < null))
    }

    /// Returns the effect under every estimand, without a test.
    fn sensitivity(&self, tasks: usize) -> Vec<Row> {
        let estimands: &[(&str, Estimand)] = match self.is_binary() {
            true => &[
                ("as_drawn", Estimand::AsDrawn),
                ("available", Estimand::Available),
                ("complete_blocks", Estimand::CompleteBlocks),
                ("bound_low", Estimand::BoundLow),
                ("bound_high", Estimand::BoundHigh),
            ],
            false => &[
                ("available", Estimand::Available),
                ("complete_blocks", Estimand::CompleteBlocks),
            ],
        };
        let filled = self.outcome().missing.is_some();
        let row = |(name, estimand): &(&'static str, Estimand)| {
            let estimand = match estimand {
                Estimand::AsDrawn if !filled => Estimand::Available,
                other => *other,
            };
            let pairs = self.pairs(estimand, tasks);
            Row {
                estimand: name,
                tasks: pairs.tasks(),
                result: self.effected(&pairs, self.alpha),
            }
        };
        estimands.iter().map(row).collect()
    }

    /// Returns how many missing slots must be successes to turn the decision; where one test decides at one level.
    fn tipping(&self, decided: bool) -> Option<Tipping> {
        if !self.is_binary() || !self.decides_alone {
            return None;
        }
        let decides = |pairs: &Pairs| rejects(self.test(pairs).p, self.alpha);
        tipping::point(self.cells, self.compared, decided, decides)
    }

    fn beside(&self, pairs: &Pairs) -> Beside {
        let mean = hypothesis::mean(pairs, self.alpha);
        let flips = pairs.lattice.as_ref();
        let tasks = flips.map(SignFlip::of_tasks);
        let clusters = flips.zip(pairs.clusters.as_deref());
        let clusters = clusters.map(|(flips, ids)| SignFlip::of_clusters(flips, ids));
        let clustered = mean.clustered.as_ref();
        Beside {
            se_iid: finite(mean.iid.se),
            se_cr1: clustered.and_then(|errors| finite(errors.cr1.se)),
            se_fixed_tasks: self.se_fixed_tasks(),
            p_sign_flip_task: tasks.and_then(|flip| finite(flip.p_two_sided)),
            p_sign_flip_cluster: clusters.and_then(|flip| finite(flip.p_two_sided)),
            few_clusters: clustered.is_some_and(|errors| {
                let few = errors.cr2.df.is_some_and(|df| df < 5.0);
                few || largest_share(pairs) > 1.0 / 3.0
            }),
        }
    }

    /// Returns the noise of repeats with the task set held fixed.
    fn se_fixed_tasks(&self) -> Option<f64> {
        let repeats = u64::from(self.cells.repeats());
        let success = describe::Success::of(self.compared);
        let successes = |arm| success.counts(self.cells, arm);
        let (a, b) = (
            successes(self.compared.reference),
            successes(self.compared.treatment),
        );
        let found = pass_k(&a, &b, repeats, &[], &[]);
        let found = found.filter(|_| self.is_binary())?.diff?;
        finite(Some(found.se_fixed_tasks))
    }
}

/// Returns the share of the tasks that lie in the largest cluster.
#[expect(clippy::cast_precision_loss, reason = "a count of tasks")]
fn largest_share(pairs: &Pairs) -> f64 {
    let ids = pairs.clusters.as_deref().unwrap_or_default();
    let mut sizes = vec![0_usize; ids.len()];
    for id in ids {
        if let Some(size) = sizes.get_mut(*id) {
            *size += 1;
        }
    }
    let largest = sizes.into_iter().max().unwrap_or(0);
    largest as f64 / ids.len().max(1) as f64
}
