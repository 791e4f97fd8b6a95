//! The bootstrap of a mean over tasks with infinitely many resamples.
use serde::Serialize;

use super::atoms::Atoms;
use super::law::SumLaw;
use super::{acceleration_of, bca_levels, end_levels};
use crate::analysis::Flag;
use crate::analysis::numerics::lattice::Lattice;
use crate::analysis::numerics::special::normal_quantile;

/// An end of an interval, and the distribution function at and below it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QuantileInfo {
    /// The end.
    pub value: f64,
    /// P(statistic <= value).
    pub cdf: f64,
    /// P(statistic < value).
    pub cdf_below: f64,
}

/// The bootstrap of a mean over n tasks, in the limit of infinitely many resamples.
///
/// Intervals are null with a flag when the law has one value (`degenerate`), when there is no task
/// (`no_task`), when the scale is 0 (`invalid_value`), unless 0 < alpha < 1 (`level_out_of_range`), and
/// when the differences share no denominator coarse enough for the law to be summed
/// (`lattice_too_fine`). Flag `below_range` concerns `p_le_zero` alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskIdeal {
    /// The common denominator of the differences.
    pub lattice: u64,
    /// The percentile interval.
    pub percentile: Option<[f64; 2]>,
    /// The percentile interval reflected about the mean.
    pub basic: Option<[f64; 2]>,
    /// The bias-corrected and accelerated interval (Efron 1987).
    pub bca: Option<[f64; 2]>,
    /// The rest, absent when the law has one value.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub law: Option<MeanLaw>,
    /// Says why something above is null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flag: Option<Flag>,
}

/// What the law of a bootstrapped mean says beside the intervals.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeanLaw {
    /// 1 / (lattice n), the distance of neighbouring means.
    pub step: f64,
    /// The distribution function at the percentile ends.
    pub percentile_info: [QuantileInfo; 2],
    /// The bias correction: the normal quantile of P(< mean) + P(= mean) / 2.
    pub z0: Option<f64>,
    /// The acceleration, by the jackknife over tasks.
    pub acceleration: Option<f64>,
    /// The levels of the BCa ends.
    pub bca_levels: Option<[f64; 2]>,
    /// The distribution function at the BCa ends.
    pub bca_info: Option<[QuantileInfo; 2]>,
    /// The standard deviation of the law.
    pub se: f64,
    /// P(mean <= 0); null when it is positive but no double.
    pub p_le_zero: Option<f64>,
}

/// Returns the bootstrap of the mean of exact differences over tasks, without resampling error.
pub fn task_ideal(differences: &Lattice, alpha: f64) -> TaskIdeal {
    let undefined = |flag| TaskIdeal {
        lattice: differences.scale,
        percentile: None,
        basic: None,
        bca: None,
        law: None,
        flag: Some(flag),
    };
    if differences.scale == 0 {
        return undefined(Flag::InvalidValue);
    }
    let Some(atoms) = Atoms::new(differences) else {
        return undefined(Flag::NoTask);
    };
    if atoms.span() == 0 {
        return undefined(Flag::Degenerate);
    }
    let Some(levels) = end_levels(alpha) else {
        return undefined(Flag::LevelOutOfRange);
    };
    let Some(law) = SumLaw::new(&atoms) else {
        return undefined(Flag::LatticeTooFine);
    };
    summarise(differences.scale, &atoms, &law, levels)
}

fn summarise(lattice: u64, atoms: &Atoms, law: &SumLaw, levels: [f64; 2]) -> TaskIdeal {
    let percentile = levels.map(|level| law.quantile(level));
    let (square, cube) = atoms.central_sums();
    // Rounding would leave a trace of asymmetry where there is none.
    let (z0, acceleration) = if atoms.is_symmetric() {
        (Some(0.0), Some(0.0))
    } else {
        (bias_correction(atoms, law), acceleration_of(square, cube))
    };
    let adjusted = z0
        .zip(acceleration)
        .and_then(|(z0, acceleration)| bca_levels(levels, z0, acceleration));
    let bca = adjusted.map(|levels| levels.map(|level| law.quantile(level)));
    let means = |ends: [u64; 2]| ends.map(|end| atoms.mean_at(end));
    let infos = |ends: [u64; 2]| {
        ends.map(|end| QuantileInfo {
            value: atoms.mean_at(end),
            cdf: law.at_most(end),
            cdf_below: law.below(end),
        })
    };
    let p_le_zero = match atoms.last_sum_not_positive() {
        Some(sum) => Some(law.at_most(sum)).filter(|&p| p > 0.0),
        None => Some(0.0),
    };
    let [low, high] = percentile;
    TaskIdeal {
        lattice,
        percentile: Some(means(percentile)),
        basic: Some([high, low].map(|end| atoms.reflected_mean_at(end))),
        bca: bca.map(means),
        law: Some(MeanLaw {
            step: atoms.resolution(),
            percentile_info: infos(percentile),
            z0,
            acceleration,
            bca_levels: adjusted,
            bca_info: bca.map(infos),
            se: square.sqrt() / atoms.tasks() as f64 * atoms.step_value(),
            p_le_zero,
        }),
        flag: p_le_zero.is_none().then_some(Flag::BelowRange),
    }
}

/// Returns z0; the observed mean is always a value of the law.
fn bias_correction(atoms: &Atoms, law: &SumLaw) -> Option<f64> {
    let observed = u64::try_from(atoms.offset_total()).ok()?;
    normal_quantile(0.5 * (law.below(observed) + law.at_most(observed)))
}
