//! Deviations from the mean, summed over tasks and over clusters.
//!
//! Differences on a lattice are summed as integers, so a variance of 0 is exactly 0. Doubles are
//! brought to a common power of two first, so neither 1e300 nor 1e-310 leaves the range, and what
//! cannot be told from rounding counts as 0.

use crate::analysis::numerics::grouping::Grouping;
use crate::analysis::numerics::lattice::Lattice;
use crate::analysis::numerics::summation::{CompensatedSum, sum};

/// A standard error at or below this share of the largest value is rounding: eight units in the last place.
pub(crate) const ROUNDING: f64 = 1.0 / (1_u64 << 50) as f64;

/// The mean of the tasks, the sum of squared deviations, and each cluster's size and sum of deviations.
#[derive(Clone, Debug)]
pub(crate) struct Moments {
    /// The number of tasks, at least 1.
    pub(crate) task_count: usize,
    /// The mean, in units of 2^exponent.
    pub(crate) mean: f64,
    /// The sum of squared deviations, in units of 4^exponent.
    pub(crate) squares: f64,
    /// Size and sum of deviations of each cluster, in units of 2^exponent; empty without clusters.
    pub(crate) clusters: Vec<ClusterSum>,
    /// The power of two that the other numbers are in units of.
    pub(crate) exponent: i32,
    /// The largest standard error that is still rounding, in units of 2^exponent.
    pub(crate) rounding: f64,
}

/// The tasks of one cluster and the sum of their deviations from the mean of all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClusterSum {
    pub(crate) size: f64,
    pub(crate) deviation: f64,
}

impl Moments {
    /// Takes exact values; undefined when there are none or the scale is 0.
    pub(crate) fn of_lattice(lattice: &Lattice, grouping: Option<&Grouping>) -> Option<Self> {
        let values = &lattice.values;
        let task_count = values.len();
        let n = i128::try_from(task_count).ok().filter(|&n| n > 0)?;
        let total: i128 = values.iter().map(|&value| i128::from(value)).sum();
        // INVARIANT: |n v - S| < 2^31 * 2^64 for any slice that fits in memory.
        let unit = task_count as f64 * lattice.scale as f64;
        let deviation = |sum: i128, size: i128| (n * sum - size * total) as f64 / unit;
        let squares = values
            .iter()
            .map(|&value| square(deviation(i128::from(value), 1)))
            .sum();
        let clusters = grouping.map_or_else(Vec::new, |grouping| {
            grouping
                .fold(values, |(size, sum): &mut (i128, i128), &value| {
                    *size += 1;
                    *sum += i128::from(value);
                })
                .into_iter()
                .map(|(size, sum)| ClusterSum {
                    size: size as f64,
                    deviation: deviation(sum, size),
                })
                .collect()
        });
        (lattice.scale > 0).then(|| Self {
            task_count,
            mean: total as f64 / unit,
            squares,
            clusters,
            exponent: 0,
            rounding: 0.0,
        })
    }

    /// Takes doubles computed from numbers up to `magnitude`; undefined when there are none or one is not finite.
    pub(crate) fn of_values(
        values: &[f64],
        magnitude: f64,
        grouping: Option<&Grouping>,
    ) -> Option<Self> {
        let largest = values
            .iter()
            .fold(0.0_f64, |largest, value| largest.max(value.abs()));
        let finite = values.iter().all(|value| value.is_finite()) && magnitude.is_finite();
        if values.is_empty() || !finite {
            return None;
        }
        let exponent = exponent_of(largest);
        let scaled: Vec<f64> = values
            .iter()
            .map(|&value| libm::scalbn(value, -exponent))
            .collect();
        let n = scaled.len() as f64;
        let centre = sum(scaled.iter().copied()) / n;
        // The mean's own rounding is taken out of the deviations.
        let correction = sum(scaled.iter().map(|value| value - centre)) / n;
        let deviations: Vec<f64> = scaled
            .iter()
            .map(|value| (value - centre) - correction)
            .collect();
        let clusters = grouping.map_or_else(Vec::new, |grouping| {
            grouping
                .fold(
                    &deviations,
                    |(size, sum): &mut (f64, CompensatedSum), &e| {
                        *size += 1.0;
                        sum.add(e);
                    },
                )
                .into_iter()
                .map(|(size, sum)| ClusterSum {
                    size,
                    deviation: sum.value(),
                })
                .collect()
        });
        Some(Self {
            task_count: scaled.len(),
            mean: centre + correction,
            squares: sum(deviations.iter().map(|&e| square(e))),
            clusters,
            exponent,
            rounding: ROUNDING * libm::scalbn(largest.max(magnitude), -exponent),
        })
    }

    /// Returns a standard deviation or error of these values as 0 when it is no more than rounding.
    pub(crate) fn without_rounding(&self, spread: f64) -> f64 {
        if spread <= self.rounding { 0.0 } else { spread }
    }

    /// Returns a number in the unit of the values; undefined beyond the range of a double.
    pub(crate) fn in_unit(&self, scaled: f64) -> Option<f64> {
        Some(libm::scalbn(scaled, self.exponent)).filter(|value| value.is_finite())
    }
}

/// Returns the power of two just below a finite magnitude; 0 for 0.
pub(crate) fn exponent_of(magnitude: f64) -> i32 {
    if magnitude > 0.0 {
        libm::ilogb(magnitude)
    } else {
        0
    }
}

/// Returns x times x.
pub(crate) fn square(x: f64) -> f64 {
    x * x
}
