//! The bootstrap of any statistic of column sums when there are few units: every draw is listed.
use super::multisets::{UNITS_ENUMERATED_MAX, multisets};
use super::resample::{jackknife_acceleration, total};
use super::sample::{is_constant, rounding_slack};
use super::{TIE, bca_levels, bias_correction, end_levels};
use crate::analysis::Flag;

/// The exact bootstrap of a statistic; what is not defined is `None`, and `flag` says why, with the flags of
/// [`super::Resampled`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Enumerated {
    /// The statistic of the data.
    pub estimate: Option<f64>,
    /// The standard deviation over the draws on which the statistic is defined.
    pub se: Option<f64>,
    /// The percentile interval.
    pub percentile: Option<[f64; 2]>,
    /// The bias-corrected and accelerated interval (Efron 1987).
    pub bca: Option<[f64; 2]>,
    /// Says why there is no interval.
    pub flag: Option<Flag>,
}

/// Returns what the column totals of each multiset of draws are mapped to, and how many of the draws give it.
///
/// Undefined (`None`) without a unit, and with more of them than can be listed.
pub(super) fn listed<const K: usize, T>(
    units: &[[f64; K]],
    map: impl Fn(&[f64; K]) -> T,
) -> Option<Vec<(T, u64)>> {
    if !(1..=UNITS_ENUMERATED_MAX).contains(&units.len()) {
        return None;
    }
    let mut found = Vec::new();
    multisets(units.len(), |times, ways| {
        let mut totals = [0.0; K];
        for (unit, times) in units.iter().zip(times) {
            for (sum, value) in totals.iter_mut().zip(unit) {
                *sum += f64::from(*times) * value;
            }
        }
        found.push((map(&totals), ways));
    });
    Some(found)
}

/// Lists all G^G draws of G units and returns the distribution of a statistic of the column totals.
///
/// Shape: one row per unit, its contribution to each column. Undefined (`None`) without a unit, and with more of
/// them than can be listed.
pub fn enumerate<const K: usize>(
    units: &[[f64; K]],
    statistic: impl Fn(&[f64; K]) -> Option<f64>,
    alpha: f64,
) -> Option<Enumerated> {
    let statistic = |totals: &[f64; K]| statistic(totals).filter(|value| value.is_finite());
    let mut law = Law::default();
    for (value, ways) in listed(units, statistic)? {
        law.add(value, ways);
    }
    let all = total(units);
    let estimate = statistic(&all);
    let mut found = Enumerated {
        estimate,
        ..Enumerated::default()
    };
    match estimate {
        None => found.flag = Some(Flag::InvalidValue),
        Some(estimate) => {
            let acceleration = jackknife_acceleration(units, &all, statistic);
            found.describe(law, estimate, acceleration, alpha);
        }
    }
    Some(found)
}

impl Enumerated {
    fn describe(&mut self, mut law: Law, estimate: f64, acceleration: Option<f64>, alpha: f64) {
        if law.undefined.saturating_mul(100) > law.undefined + law.defined {
            self.flag = Some(Flag::UndefinedResamples);
            return;
        }
        law.values.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        self.se = law.se();
        let ends = law.values.first().zip(law.values.last());
        if ends.is_none_or(|((least, _), (most, _))| is_constant(*least, *most)) {
            self.flag = Some(Flag::Degenerate);
            return;
        }
        let Some(levels) = end_levels(alpha) else {
            self.flag = Some(Flag::LevelOutOfRange);
            return;
        };
        self.percentile = law.quantiles(levels);
        let z0 = bias_correction(law.middle(estimate, rounding_slack(self.se)));
        self.bca = z0
            .zip(acceleration)
            .and_then(|(z0, acceleration)| bca_levels(levels, z0, acceleration))
            .and_then(|levels| law.quantiles(levels));
    }
}

/// The values of a statistic, each with the number of draws that give it.
#[derive(Default)]
struct Law {
    values: Vec<(f64, u64)>,
    defined: u64,
    undefined: u64,
}

impl Law {
    fn add(&mut self, value: Option<f64>, ways: u64) {
        match value {
            Some(value) => {
                self.values.push((value, ways));
                self.defined += ways;
            }
            None => self.undefined += ways,
        }
    }

    /// Returns the weighted sum of a function of the values, per draw.
    fn mean(&self, of: impl Fn(f64) -> f64) -> f64 {
        let each = self.values.iter();
        let sum: f64 = each.map(|(value, ways)| *ways as f64 * of(*value)).sum();
        sum / self.defined as f64
    }

    fn se(&self) -> Option<f64> {
        let mean = self.mean(|value| value);
        let se = self.mean(|value| (value - mean) * (value - mean)).sqrt();
        se.is_finite().then_some(se)
    }

    /// Returns the share of draws below a value, and half of those at it.
    fn middle(&self, at: f64, slack: f64) -> f64 {
        let twice = |value: f64| match value - at {
            distance if distance < -slack => 2.0,
            distance if distance <= slack => 1.0,
            _ => 0.0,
        };
        self.mean(twice) / 2.0
    }

    /// Returns the smallest values whose shares of the draws reach two levels; the values are in ascending order.
    fn quantiles(&self, levels: [f64; 2]) -> Option<[f64; 2]> {
        let quantile = |level: f64| {
            let mut reached = 0;
            let mut each = self.values.iter();
            let found = each.find(|(_, ways)| {
                reached += ways;
                reached as f64 >= level * self.defined as f64 * (1.0 - TIE)
            });
            found.or(self.values.last()).map(|(value, _)| *value)
        };
        let [low, high] = levels;
        Some([quantile(low)?, quantile(high)?])
    }
}
