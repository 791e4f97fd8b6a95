//! Intervals of one proportion: Wilson, Clopper-Pearson, and a one-sided upper limit.

use serde::Serialize;

use crate::analysis::Flag;
use crate::analysis::numerics::special::{beta_quantile, beta_upper_quantile, normal_quantile};

/// Intervals of a proportion of `x` successes in `n` tasks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProportionIntervals {
    /// The successes.
    pub x: u64,
    /// The tasks.
    pub n: u64,
    /// The score interval (Wilson 1927).
    pub wilson: Option<[f64; 2]>,
    /// The exact interval (Clopper and Pearson 1934).
    pub clopper_pearson: Option<[f64; 2]>,
    /// Why there is no interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flag: Option<Flag>,
}

/// Returns the intervals of `x` successes in `n` tasks at level 1 - `alpha`.
///
/// Undefined when `n` is 0 (`no_task`), `x` exceeds `n` (`invalid_value`), or `alpha` is not
/// strictly between 0 and 1 (`level_out_of_range`).
pub fn proportion_intervals(x: u64, n: u64, alpha: f64) -> ProportionIntervals {
    let flag = if n == 0 {
        Some(Flag::NoTask)
    } else if x > n {
        Some(Flag::InvalidValue)
    } else {
        level_flag(alpha)
    };
    ProportionIntervals {
        x,
        n,
        wilson: wilson(x, n, alpha),
        clopper_pearson: clopper_pearson(x, n, alpha),
        flag,
    }
}

/// Returns Wilson's score interval at level 1 - `alpha` (Wilson 1927), or `None` where undefined.
pub fn wilson(x: u64, n: u64, alpha: f64) -> Option<[f64; 2]> {
    let failures = failures(x, n)?;
    let z = two_sided_z(alpha)?;
    let (x, failures, n) = (x as f64, failures as f64, n as f64);
    // Both roots of (x/n - p)^2 = z^2 p (1 - p)/n, the smaller one as a quotient, so that it does
    // not cancel.
    let half = 0.5 * z * z;
    let spread = z * (x * (failures / n) + 0.5 * half).sqrt();
    let upper = (x + half + spread) / (n + 2.0 * half);
    let lower = x * (x / n) / (x + half + spread);
    Some([lower.min(1.0), upper.min(1.0)])
}

/// Returns the exact interval at level 1 - `alpha` (Clopper and Pearson 1934), or `None` where
/// undefined.
pub fn clopper_pearson(x: u64, n: u64, alpha: f64) -> Option<[f64; 2]> {
    let tail = is_level(alpha).then_some(0.5 * alpha)?;
    Some([lower_limit(x, n, tail)?, upper_limit(x, n, tail)?])
}

/// Returns the exact one-sided upper limit at level 1 - `alpha` (Clopper and Pearson 1934).
///
/// 1 when all tasks succeeded; undefined when `n` is 0, `x` exceeds `n`, or `alpha` is not
/// strictly between 0 and 1.
pub fn upper_limit(x: u64, n: u64, alpha: f64) -> Option<f64> {
    let failures = failures(x, n)?;
    if failures == 0 {
        return is_level(alpha).then_some(1.0);
    }
    beta_upper_quantile(alpha, x as f64 + 1.0, failures as f64)
}

/// Returns the exact one-sided lower limit at level 1 - `alpha` (Clopper and Pearson 1934).
///
/// 0 when no task succeeded; undefined as in [`upper_limit`].
pub fn lower_limit(x: u64, n: u64, alpha: f64) -> Option<f64> {
    let failures = failures(x, n)?;
    if x == 0 {
        return is_level(alpha).then_some(0.0);
    }
    beta_quantile(alpha, x as f64, failures as f64 + 1.0)
}

/// Returns the z that a standard normal exceeds in size with probability `alpha`.
pub(in crate::analysis) fn two_sided_z(alpha: f64) -> Option<f64> {
    let lower = normal_quantile(0.5 * alpha).filter(|_| is_level(alpha))?;
    Some(-lower)
}

/// Returns why no interval has the level 1 - `alpha`, if none has.
pub(in crate::analysis) fn level_flag(alpha: f64) -> Option<Flag> {
    (!is_level(alpha)).then_some(Flag::LevelOutOfRange)
}

/// Returns n - x, or `None` without tasks or with more successes than tasks.
fn failures(x: u64, n: u64) -> Option<u64> {
    if n == 0 { None } else { n.checked_sub(x) }
}

/// Says whether an interval has the level 1 - `alpha`, half of it on each side.
fn is_level(alpha: f64) -> bool {
    0.5 * alpha > 0.0 && alpha < 1.0
}
