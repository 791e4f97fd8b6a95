//! The values of a statistic on its resamples, and the intervals read from them.
use super::{TIE, bca_levels, bias_correction};
use crate::analysis::numerics::moments::exponent_of;

/// Values that differ by less than this part of the standard error are equal but for rounding.
const ROUNDING_SE: f64 = 1e-10;
/// Values that differ by less than this part of their size are equal but for rounding.
const ROUNDING_VALUE: f64 = 1e-14;
/// Squares and cubes of doubles below this exponent and above its negative are doubles.
const EXPONENT_SAFE: i32 = 300;
const BATCHES: usize = 20;
const BATCH_MIN: usize = 50;

/// Defined values of a statistic in order of the replicates, and its value on the data.
pub(super) struct Sample {
    values: Vec<f64>,
    estimate: f64,
    se: Option<f64>,
}

/// The ends of the intervals of a sample.
pub(super) struct Ends {
    pub(super) percentile: Option<[f64; 2]>,
    pub(super) z0: Option<f64>,
    pub(super) bca_levels: Option<[f64; 2]>,
    pub(super) bca: Option<[f64; 2]>,
}

impl Sample {
    pub(super) fn new(values: Vec<f64>, estimate: f64) -> Self {
        Self {
            se: standard_deviation(&values),
            values,
            estimate,
        }
    }

    /// Returns the standard deviation of the values; undefined for fewer than two.
    pub(super) fn se(&self) -> Option<f64> {
        self.se
    }

    /// Says whether the values are one value, but for rounding.
    pub(super) fn is_constant(&self) -> bool {
        let fold = |pick: fn(f64, f64) -> f64| self.values.iter().copied().reduce(pick);
        let (Some(least), Some(most)) = (fold(f64::min), fold(f64::max)) else {
            return true;
        };
        is_constant(least, most)
    }

    /// Returns the share of values at or below 0.
    pub(super) fn share_not_positive(&self) -> Option<f64> {
        let slack = self.slack();
        let count = self.values.iter().filter(|&&value| value <= slack).count();
        let share = count as f64 / self.values.len() as f64;
        share.is_finite().then_some(share)
    }

    /// Reflects the ends of an interval about the estimate.
    pub(super) fn reflect(&self, [low, high]: [f64; 2]) -> Option<[f64; 2]> {
        let reflected = [high, low].map(|end| self.estimate - (end - self.estimate));
        reflected
            .iter()
            .all(|end| end.is_finite())
            .then_some(reflected)
    }

    /// Returns the intervals from all values.
    pub(super) fn ends(&self, levels: [f64; 2], acceleration: Option<f64>) -> Ends {
        self.ends_of(&self.values, levels, acceleration)
    }

    /// Returns the Monte Carlo standard errors of the percentile and the BCa ends by batch means.
    pub(super) fn ends_mcse(
        &self,
        levels: [f64; 2],
        acceleration: Option<f64>,
    ) -> (Option<[f64; 2]>, Option<[f64; 2]>) {
        let size = self.values.len() / BATCHES;
        if size < BATCH_MIN {
            return (None, None);
        }
        let batches: Vec<Ends> = self
            .values
            .chunks_exact(size)
            .take(BATCHES)
            .map(|batch| self.ends_of(batch, levels, acceleration))
            .collect();
        (
            batch_error(batches.iter().map(|ends| ends.percentile)),
            batch_error(batches.iter().map(|ends| ends.bca)),
        )
    }

    fn ends_of(&self, values: &[f64], levels: [f64; 2], acceleration: Option<f64>) -> Ends {
        let mut values = values.to_vec();
        let z0 = self.bias_correction(&values);
        let bca_levels = z0
            .zip(acceleration)
            .and_then(|(z0, acceleration)| bca_levels(levels, z0, acceleration));
        Ends {
            percentile: quantiles(&mut values, levels),
            z0,
            bca_levels,
            bca: bca_levels.and_then(|levels| quantiles(&mut values, levels)),
        }
    }

    /// Returns z0 from the mid-rank share of values below the estimate.
    fn bias_correction(&self, values: &[f64]) -> Option<f64> {
        let slack = self.slack();
        let (below, equal) = values.iter().fold((0, 0), |(below, equal), value| {
            let distance = value - self.estimate;
            (
                below + usize::from(distance < -slack),
                equal + usize::from(distance.abs() <= slack),
            )
        });
        bias_correction((2 * below + equal) as f64 / (2 * values.len()) as f64)
    }

    /// Returns the distance under which two values are equal but for rounding.
    fn slack(&self) -> f64 {
        rounding_slack(self.se)
    }
}

/// Says whether values from the least to the most are one value, but for rounding.
pub(super) fn is_constant(least: f64, most: f64) -> bool {
    most - least <= ROUNDING_VALUE * most.abs().max(least.abs())
}

/// Returns the distance under which two values of a statistic with a standard error are equal but for rounding.
pub(super) fn rounding_slack(se: Option<f64>) -> f64 {
    ROUNDING_SE * se.unwrap_or(0.0)
}

/// Returns the values of rank ceil(q B) for two ascending levels.
fn quantiles(values: &mut [f64], levels: [f64; 2]) -> Option<[f64; 2]> {
    let count = values.len();
    let rank = |level: f64| {
        let rank = (level * count as f64 * (1.0 - TIE)).ceil().max(1.0) as usize;
        rank.min(count).checked_sub(1)
    };
    let [low, high] = levels;
    let (low, high) = (rank(low)?, rank(high)?);
    let (_, _, above) = values.select_nth_unstable_by(low, f64::total_cmp);
    let upper = match high.checked_sub(low + 1) {
        Some(further) if further < above.len() => {
            Some(*above.select_nth_unstable_by(further, f64::total_cmp).1)
        }
        _ => None,
    };
    let lower = *values.get(low)?;
    Some([lower, upper.unwrap_or(lower)])
}

/// Returns the standard deviation with divisor n - 1; undefined for fewer than two values and beyond a double.
fn standard_deviation(values: &[f64]) -> Option<f64> {
    let (deviations, exponent) = scaled_deviations(values);
    let square = deviations.iter().map(|value| value * value).sum::<f64>();
    let scaled = (square / (values.len() as f64 - 1.0)).sqrt();
    let deviation = libm::scalbn(scaled, exponent);
    deviation.is_finite().then_some(deviation)
}

/// Returns the deviations from the mean, divided by 2^exponent so that no square or cube leaves a double.
pub(super) fn scaled_deviations(values: &[f64]) -> (Vec<f64>, i32) {
    let largest = |values: &[f64]| values.iter().fold(0.0, |most, value| value.abs().max(most));
    let scale = |values: &mut [f64]| {
        let exponent = exponent_of(largest(values));
        if exponent.abs() < EXPONENT_SAFE {
            return 0;
        }
        for value in values {
            *value = libm::scalbn(*value, -exponent);
        }
        exponent
    };
    let mut deviations = values.to_vec();
    let of_values = scale(&mut deviations);
    let mean = deviations.iter().sum::<f64>() / values.len() as f64;
    for value in &mut deviations {
        *value -= mean;
    }
    let of_deviations = scale(&mut deviations);
    (deviations, of_values + of_deviations)
}

/// Returns the standard errors of the mean of both ends over batches; undefined when an end of any batch is.
fn batch_error(batches: impl Iterator<Item = Option<[f64; 2]>>) -> Option<[f64; 2]> {
    let (lower, upper): (Vec<f64>, Vec<f64>) = batches
        .map(|ends| ends.map(|[low, high]| (low, high)))
        .collect::<Option<Vec<_>>>()?
        .into_iter()
        .unzip();
    let error = |ends: &[f64]| Some(standard_deviation(ends)? / (ends.len() as f64).sqrt());
    Some([error(&lower)?, error(&upper)?])
}
