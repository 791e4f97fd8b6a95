//! The bootstrap of any statistic of column sums, by resampling.
use serde::Serialize;

use super::draws::{Plan, map_resamples};
use super::sample::{Ends, Sample, scaled_deviations};
use super::statistics::add_row;
use super::{acceleration_of, end_levels};
use crate::analysis::Flag;

/// The bootstrap of a statistic over B resamples.
///
/// Resamples on which the statistic is undefined are dropped and counted; more than 1% of them make
/// every interval null (`undefined_resamples`). Other flags: `no_task`; `invalid_value` when the
/// statistic of the data is undefined; `degenerate` when the resamples have one value;
/// `level_out_of_range` unless 0 < alpha < 1; `resamples_out_of_range`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Resampled {
    /// The number of resamples.
    #[serde(rename = "B")]
    pub resamples: u64,
    /// How many of them were dropped because the statistic is undefined.
    pub undefined: u64,
    /// The statistic of the data.
    pub estimate: Option<f64>,
    /// The standard deviation over the resamples.
    pub se: Option<f64>,
    /// The percentile interval, its ends at the resamples of rank ceil(q B).
    pub percentile: Option<[f64; 2]>,
    /// The Monte Carlo standard errors of its ends from 20 batches; null under 1000 resamples.
    pub percentile_mcse: Option<[f64; 2]>,
    /// The percentile interval reflected about the estimate.
    pub basic: Option<[f64; 2]>,
    /// The bias correction from the mid-rank share of the estimate; null when all resamples lie on one side.
    pub z0: Option<f64>,
    /// The acceleration by the jackknife over units; null when it is undefined without some unit.
    pub acceleration: Option<f64>,
    /// The levels of the BCa ends.
    pub bca_levels: Option<[f64; 2]>,
    /// The bias-corrected and accelerated interval (Efron 1987).
    pub bca: Option<[f64; 2]>,
    /// The Monte Carlo standard errors of its ends, each batch with its own bias correction.
    pub bca_mcse: Option<[f64; 2]>,
    /// The share of resamples at or below 0.
    pub p_le_zero: Option<f64>,
    /// Says why the intervals are null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flag: Option<Flag>,
}

/// Resamples units and returns the distribution of a statistic of the column totals.
///
/// Shape: one row per unit (task, or cluster by [`super::cluster_rows`]), its contribution to each column.
/// The statistic is a function of the totals; what is not finite counts as undefined.
pub fn resample<const K: usize>(
    units: &[[f64; K]],
    statistic: impl Fn(&[f64; K]) -> Option<f64> + Sync,
    alpha: f64,
    plan: Plan<'_>,
) -> Resampled {
    let statistic = |totals: &[f64; K]| statistic(totals).filter(|value| value.is_finite());
    let total = total(units);
    let estimate = statistic(&total);
    let results = map_resamples(units, plan, statistic);
    let values: Vec<f64> = results.iter().copied().flatten().collect();
    let mut resampled = Resampled {
        resamples: plan.resamples,
        undefined: (results.len() - values.len()) as u64,
        estimate,
        se: None,
        percentile: None,
        percentile_mcse: None,
        basic: None,
        z0: None,
        acceleration: jackknife_acceleration(units, &total, statistic),
        bca_levels: None,
        bca: None,
        bca_mcse: None,
        p_le_zero: None,
        flag: None,
    };
    if units.is_empty() {
        resampled.flag = Some(Flag::NoTask);
    } else if results.is_empty() {
        resampled.flag = Some(Flag::ResamplesOutOfRange);
    } else if let Some(estimate) = estimate {
        resampled.describe(Sample::new(values, estimate), alpha);
    } else {
        resampled.flag = Some(Flag::InvalidValue);
    }
    resampled
}

impl Resampled {
    fn describe(&mut self, sample: Sample, alpha: f64) {
        if self.undefined.saturating_mul(100) > self.resamples {
            self.flag = Some(Flag::UndefinedResamples);
            return;
        }
        self.se = sample.se();
        self.p_le_zero = sample.share_not_positive();
        if sample.is_constant() {
            self.flag = Some(Flag::Degenerate);
            return;
        }
        let Some(levels) = end_levels(alpha) else {
            self.flag = Some(Flag::LevelOutOfRange);
            return;
        };
        let Ends {
            percentile,
            z0,
            bca_levels,
            bca,
        } = sample.ends(levels, self.acceleration);
        self.percentile = percentile;
        self.basic = percentile.and_then(|ends| sample.reflect(ends));
        (self.z0, self.bca_levels, self.bca) = (z0, bca_levels, bca);
        (self.percentile_mcse, self.bca_mcse) = sample.ends_mcse(levels, self.acceleration);
    }
}

pub(super) fn total<const K: usize>(units: &[[f64; K]]) -> [f64; K] {
    let mut total = [0.0; K];
    for unit in units {
        add_row(&mut total, unit);
    }
    total
}

/// Returns the acceleration from the statistic without each unit in turn (Efron 1987).
pub(super) fn jackknife_acceleration<const K: usize>(
    units: &[[f64; K]],
    total: &[f64; K],
    statistic: impl Fn(&[f64; K]) -> Option<f64>,
) -> Option<f64> {
    let without: Vec<f64> = units
        .iter()
        .map(|unit| {
            let mut rest = *total;
            for (sum, value) in rest.iter_mut().zip(unit) {
                *sum -= value;
            }
            statistic(&rest)
        })
        .collect::<Option<_>>()?;
    let (deviations, _) = scaled_deviations(&without);
    let (square, cube) = deviations.iter().fold((0.0, 0.0), |(square, cube), value| {
        let squared = value * value;
        (square + squared, cube - squared * value)
    });
    acceleration_of(square, cube)
}
