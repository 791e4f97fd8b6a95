//! Quantiles of one value per task: type 7, linear between order statistics (Hyndman and Fan 1996).

use serde::Serialize;

use crate::analysis::Flag;
use crate::analysis::numerics::moments::Moments;

/// Mean, extremes and quantiles, in the unit of the values; all `null` without tasks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Quantiles {
    /// The number of tasks.
    pub n: usize,
    /// The mean.
    pub mean: Option<f64>,
    /// The smallest value.
    pub min: Option<f64>,
    /// The 10% quantile.
    pub q10: Option<f64>,
    /// The 25% quantile.
    pub q25: Option<f64>,
    /// The 50% quantile.
    pub median: Option<f64>,
    /// The 75% quantile.
    pub q75: Option<f64>,
    /// The 90% quantile.
    pub q90: Option<f64>,
    /// The largest value.
    pub max: Option<f64>,
    /// Why something above is `null`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flag: Option<Flag>,
}

impl Quantiles {
    /// Computes the quantiles of values in any order; undefined when one is not finite.
    pub fn new(values: &[f64]) -> Self {
        let finite = values.iter().all(|value| value.is_finite());
        let mut sorted = if finite { values.to_vec() } else { Vec::new() };
        sorted.sort_unstable_by(f64::total_cmp);
        let mean = Moments::of_values(&sorted, 0.0, None)
            .and_then(|moments| moments.in_unit(moments.mean));
        Self {
            n: values.len(),
            mean,
            min: sorted.first().copied(),
            q10: percentile(&sorted, 10),
            q25: percentile(&sorted, 25),
            median: percentile(&sorted, 50),
            q75: percentile(&sorted, 75),
            q90: percentile(&sorted, 90),
            max: sorted.last().copied(),
            flag: match (values.is_empty(), finite) {
                (true, _) => Some(Flag::NoTask),
                (false, false) => Some(Flag::InvalidValue),
                (false, true) => None,
            },
        }
    }
}

/// Returns the value at the given percent of the way through sorted values; undefined when there are none.
fn percentile(sorted: &[f64], percent: usize) -> Option<f64> {
    let steps = sorted.len().checked_sub(1)?;
    // Whole and hundredth steps apart, so the place is exact.
    let hundredths = (steps % 100) * percent;
    let place = (steps / 100) * percent + hundredths / 100;
    let share = (hundredths % 100) as f64 / 100.0;
    let low = *sorted.get(place)?;
    let high = sorted.get(place + 1).copied().unwrap_or(low);
    let gap = high - low;
    Some(if gap.is_finite() {
        low + share * gap
    } else {
        low * (1.0 - share) + high * share
    })
}
