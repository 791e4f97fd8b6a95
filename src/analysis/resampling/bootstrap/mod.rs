//! Resampling distributions: exact where they can be, drawn from the registered stream where not.
//!
//! The unit that is drawn is the task, or the cluster where one is declared; its repeats and both
//! arms move together. A quantile is the smallest value whose cumulative share reaches the level.
//! [`task_ideal`] is the limit of infinitely many resamples of the mean, [`enumerate`] lists all
//! G^G draws of up to nine units, [`cluster_exact`] those of a mean of whole numbers; [`resample`] draws any statistic of
//! column sums.
mod acceptability;
mod atoms;
mod cluster_exact;
mod draws;
mod enumeration;
mod law;
mod multisets;
mod quadrants;
mod resample;
mod sample;
mod statistics;
mod task_ideal;
mod waves;

pub use acceptability::{Acceptability, AcceptabilityPoint, acceptability};
pub use cluster_exact::{ClusterExact, cluster_exact};
pub use draws::{Plan, RESAMPLES_MAX, map_resamples};
pub use enumeration::{Enumerated, enumerate};

pub use quadrants::{Quadrants, quadrants};
pub use resample::{Resampled, resample};
pub use statistics::{cluster_rows, difference_of_rates, quotient, ratio_of_rates};
pub use task_ideal::{MeanLaw, QuantileInfo, TaskIdeal, task_ideal};

use crate::analysis::numerics::special::{normal_cdf, normal_quantile};

/// A share that misses a level by no more than rounding reaches it.
const TIE: f64 = 1e-12;

/// Returns the levels of the two ends of an interval; undefined unless 0 < alpha < 1.
fn end_levels(alpha: f64) -> Option<[f64; 2]> {
    (alpha > 0.0 && alpha < 1.0).then(|| [alpha / 2.0, 1.0 - alpha / 2.0])
}

/// Returns the levels of the two ends of the BCa interval (Efron 1987).
///
/// Undefined when an end lies beyond the pole of the acceleration.
fn bca_levels(levels: [f64; 2], z0: f64, acceleration: f64) -> Option<[f64; 2]> {
    let adjusted = |level| {
        let shifted = z0 + normal_quantile(level)?;
        let shrink = 1.0 - acceleration * shifted;
        (shrink > 0.0).then(|| normal_cdf(z0 + shifted / shrink))
    };
    let [low, high] = levels;
    Some([adjusted(low)?, adjusted(high)?])
}

/// Returns the bias correction of the BCa interval: the share of values below the estimate, with half of those at it,
/// as a normal quantile. Undefined when all values lie on one side.
fn bias_correction(share: f64) -> Option<f64> {
    let lies_between = share > 0.0 && share < 1.0;
    lies_between.then(|| normal_quantile(share)).flatten()
}

/// Returns the acceleration from the second and third central sums of influence values (Efron 1987).
///
/// Undefined when the values do not vary.
fn acceleration_of(square: f64, cube: f64) -> Option<f64> {
    let acceleration = cube / (6.0 * square * square.sqrt());
    acceleration.is_finite().then_some(acceleration)
}
