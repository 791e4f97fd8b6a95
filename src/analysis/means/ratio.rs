//! The ratio of treatment to reference: of the means (what a bill shows) and of the typical task.

use serde::Serialize;

use crate::analysis::Flag;
use crate::analysis::means::mean::{Mean, missing_interval};
use crate::analysis::means::ratio_intervals::{Fieller, RatioOfMeans};
use crate::analysis::numerics::moments::Moments;

/// The ratio of the means of two arms, paired by task, with the geometric mean of the tasks' ratios.
///
/// Without tasks, or when the reference mean is 0, there is no ratio and what follows it is absent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeanRatio {
    /// The number of tasks.
    pub n: usize,
    /// The mean of the reference.
    pub mean_a: Option<f64>,
    /// The mean of the treatment.
    pub mean_b: Option<f64>,
    /// The sum of the reference.
    pub total_a: Option<f64>,
    /// The sum of the treatment.
    pub total_b: Option<f64>,
    /// Mean of the treatment over mean of the reference.
    pub ratio: Option<f64>,
    /// Intervals of `ratio`.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub intervals: Option<RatioIntervals>,
    /// The geometric mean ratio; absent with fewer than two tasks.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub typical: Option<GeometricRatio>,
    /// Why something above is `null`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flag: Option<Flag>,
}

/// Two intervals of a ratio of means; both `null` with one task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RatioIntervals {
    /// Fieller's interval with Student's t and n - 1 degrees of freedom (Fieller 1954).
    pub fieller: Option<[f64; 2]>,
    /// `unbounded` when the reference mean does not differ from 0 at the same level.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fieller_flag: Option<Flag>,
    /// The standard error of the logarithm of the ratio by the delta method; absent when the ratio is not positive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_ratio_se: Option<f64>,
    /// The interval of the logarithm, transformed back.
    pub delta_log: Option<[f64; 2]>,
}

/// The geometric mean of the ratio of each task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GeometricRatio {
    /// How many of the 2n values are 0 or less, and so have no logarithm.
    pub nonpositive: usize,
    /// exp(mean log(b / a)); `null` when a value is not positive.
    pub geo_ratio: Option<f64>,
    /// The mean and the standard error behind it.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub logarithm: Option<LogRatio>,
}

/// The mean of log(b / a) over tasks, with its t test and interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LogRatio {
    /// The t interval of the mean, transformed back.
    pub geo_ratio_ci: Option<[f64; 2]>,
    /// The mean of log(b / a).
    pub geo_log_mean: Option<f64>,
    /// Its standard error.
    pub geo_log_se: Option<f64>,
    /// Two-sided p of a ratio of 1; absent when the standard error is 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub geo_p: Option<f64>,
}

impl MeanRatio {
    /// Compares two lists of one value per task, in the same order, with intervals at level 1 - `alpha`.
    pub fn new(reference: &[f64], treatment: &[f64], alpha: f64) -> Self {
        let n = reference.len().min(treatment.len());
        if reference.len() != treatment.len() {
            return Self::undefined(n, Flag::LengthMismatch);
        }
        let moments = |values| Moments::of_values(values, 0.0, None);
        let (Some(a), Some(b)) = (moments(reference), moments(treatment)) else {
            let flag = if n == 0 {
                Flag::NoTask
            } else {
                Flag::InvalidValue
            };
            return Self::undefined(n, flag);
        };
        let without_ratio = Self {
            mean_a: a.in_unit(a.mean),
            mean_b: b.in_unit(b.mean),
            total_a: a.in_unit(a.mean * n as f64),
            total_b: b.in_unit(b.mean * n as f64),
            ..Self::undefined(n, Flag::ZeroDenominator)
        };
        if a.without_rounding(a.mean.abs()) == 0.0 {
            return without_ratio;
        }
        let means = RatioOfMeans::new(reference, treatment, &a, &b);
        let Some(ratio) = means.value() else {
            return Self {
                flag: Some(Flag::OutOfRange),
                ..without_ratio
            };
        };
        let (intervals, flag) = RatioIntervals::new(&means, alpha);
        Self {
            ratio: Some(ratio),
            intervals: Some(intervals),
            typical: (n > 1).then(|| GeometricRatio::new(reference, treatment, alpha)),
            flag: flag.filter(|_| n > 1),
            ..without_ratio
        }
    }

    fn undefined(n: usize, flag: Flag) -> Self {
        Self {
            n,
            mean_a: None,
            mean_b: None,
            total_a: None,
            total_b: None,
            ratio: None,
            intervals: None,
            typical: None,
            flag: Some(flag),
        }
    }
}

impl RatioIntervals {
    fn new(means: &RatioOfMeans, alpha: f64) -> (Self, Option<Flag>) {
        let fieller = means.fieller(alpha);
        let (ends, fieller_flag) = match fieller {
            Fieller::Ends([Some(low), Some(high)]) => (Some([low, high]), None),
            Fieller::Ends(_) => (None, Some(Flag::OutOfRange)),
            Fieller::Unbounded => (None, Some(Flag::Unbounded)),
            Fieller::Undefined => (None, None),
        };
        let log_ratio_se = means.log_standard_error();
        let delta_log = means.delta_log(alpha);
        let flag = match delta_log {
            Some(_) => None,
            None if means.is_positive() => missing_interval(delta_log, alpha),
            None => Some(Flag::RatioNotPositive),
        };
        let intervals = Self {
            fieller: ends,
            fieller_flag,
            log_ratio_se,
            delta_log,
        };
        (intervals, flag)
    }
}

impl GeometricRatio {
    fn new(reference: &[f64], treatment: &[f64], alpha: f64) -> Self {
        let nonpositive = reference
            .iter()
            .chain(treatment)
            .filter(|&&value| value <= 0.0)
            .count();
        let logs: Vec<f64> = reference
            .iter()
            .zip(treatment)
            .map(|(&a, &b)| log_ratio(a, b))
            .collect();
        // A logarithm is as uncertain as the last place of the ratio, however small it is itself.
        let mean = Mean::of_values_from(&logs, 1.0, None, alpha);
        let logarithm = (nonpositive == 0).then(|| LogRatio::new(&mean));
        Self {
            nonpositive,
            geo_ratio: logarithm
                .as_ref()
                .and_then(|log| exponential(log.geo_log_mean)),
            logarithm,
        }
    }
}

impl LogRatio {
    fn new(mean: &Mean) -> Self {
        let ends = match (mean.iid.ci, mean.iid.flag) {
            (None, Some(Flag::ZeroVariance)) => mean.mean.map(|mean| [mean, mean]),
            (ends, _) => ends,
        };
        Self {
            geo_ratio_ci: ends
                .and_then(|[low, high]| Some([exponential(Some(low))?, exponential(Some(high))?])),
            geo_log_mean: mean.mean,
            geo_log_se: mean.iid.se,
            geo_p: mean.iid.p,
        }
    }
}

/// Returns log(b / a) of positive values, also where the quotient is beyond the range of a double.
fn log_ratio(a: f64, b: f64) -> f64 {
    let quotient = b / a;
    if quotient.is_normal() {
        libm::log(quotient)
    } else {
        libm::log(b) - libm::log(a)
    }
}

/// Returns the exponential; undefined beyond the range of a double.
fn exponential(log: Option<f64>) -> Option<f64> {
    log.map(libm::exp)
        .filter(|value| value.is_finite() && *value > 0.0)
}
