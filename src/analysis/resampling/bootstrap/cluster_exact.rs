//! The bootstrap over clusters when there are few: every draw is listed.
use std::cmp::Ordering;

use serde::Serialize;

use super::multisets::{UNITS_ENUMERATED_MAX, multisets};
use super::{QuantileInfo, TIE, end_levels};
use crate::analysis::Flag;
use crate::analysis::numerics::grouping::Grouping;
use crate::analysis::numerics::lattice::Lattice;

/// The bootstrap of a mean over G clusters from all G^G draws.
///
/// The statistic is the sum of the differences in the drawn clusters over the number of their tasks.
/// Intervals are null with flag `degenerate` when it has one value, `level_out_of_range`
/// unless 0 < alpha < 1, `invalid_value` when the scale is 0.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClusterExact {
    /// The number of clusters.
    #[serde(rename = "G")]
    pub clusters: usize,
    /// The percentile interval.
    pub percentile: Option<[f64; 2]>,
    /// The distribution function at the percentile ends; absent when the interval is null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percentile_info: Option<[QuantileInfo; 2]>,
    /// The percentile interval reflected about the mean.
    pub basic: Option<[f64; 2]>,
    /// Says why the intervals are null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flag: Option<Flag>,
}

/// Returns the exact bootstrap over clusters.
///
/// Undefined (`None`) with fewer than 2 or more than 9 clusters, and when there is not one
/// cluster id per task.
pub fn cluster_exact(
    differences: &Lattice,
    clusters: &[usize],
    alpha: f64,
) -> Option<ClusterExact> {
    let totals = cluster_totals(differences, clusters)?;
    if !(2..=UNITS_ENUMERATED_MAX).contains(&totals.len()) {
        return None;
    }
    let undefined = |flag| ClusterExact {
        clusters: totals.len(),
        percentile: None,
        percentile_info: None,
        basic: None,
        flag: Some(flag),
    };
    if differences.scale == 0 {
        return Some(undefined(Flag::InvalidValue));
    }
    let draws = all_draws(&totals);
    let Some((low, high)) = draws.first().zip(draws.last()) else {
        return Some(undefined(Flag::Degenerate));
    };
    if low.total.compare(&high.total) == Ordering::Equal {
        return Some(undefined(Flag::Degenerate));
    }
    let Some(levels) = end_levels(alpha) else {
        return Some(undefined(Flag::LevelOutOfRange));
    };
    let scale = differences.scale as f64;
    let ends = levels.map(|level| quantile(&draws, level, scale));
    let [low, high] = ends.each_ref().map(|end| end.value);
    let observed = Total::default().plus(&totals, 1).mean(scale);
    Some(ClusterExact {
        clusters: totals.len(),
        percentile: Some([low, high]),
        percentile_info: Some(ends),
        basic: Some([2.0 * observed - high, 2.0 * observed - low]),
        flag: None,
    })
}

/// A sum of differences, in units of the lattice, over a number of tasks.
#[derive(Clone, Copy, Debug, Default)]
struct Total {
    sum: i128,
    tasks: i128,
}

impl Total {
    fn plus(self, others: &[Self], times: i128) -> Self {
        others.iter().fold(self, |total, other| Self {
            sum: total.sum + times * other.sum,
            tasks: total.tasks + times * other.tasks,
        })
    }

    fn mean(&self, scale: f64) -> f64 {
        self.sum as f64 / (self.tasks as f64 * scale)
    }

    /// Compares the means exactly. Products of 64-bit values stay within 128 bits for under 2^28 tasks.
    fn compare(&self, other: &Self) -> Ordering {
        let left = self.sum.checked_mul(other.tasks);
        let right = other.sum.checked_mul(self.tasks);
        match left.zip(right) {
            Some((left, right)) => left.cmp(&right),
            None => self.mean(1.0).total_cmp(&other.mean(1.0)),
        }
    }
}

/// A multiset of drawn clusters, and how many of the G^G draws give it.
struct Draw {
    total: Total,
    ways: u64,
}

/// Sums the tasks of each cluster; undefined unless there is one cluster id per task.
fn cluster_totals(differences: &Lattice, clusters: &[usize]) -> Option<Vec<Total>> {
    let grouping = Grouping::new(clusters);
    (grouping.task_count() == differences.values.len()).then(|| {
        grouping.fold(&differences.values, |total: &mut Total, &value| {
            total.sum += i128::from(value);
            total.tasks += 1;
        })
    })
}

/// Lists all multisets of G draws from G clusters in ascending order of the mean.
fn all_draws(totals: &[Total]) -> Vec<Draw> {
    let mut draws = Vec::new();
    multisets(totals.len(), |times, ways| {
        let drawn = totals.iter().zip(times);
        let total = drawn.fold(Total::default(), |sum, (total, times)| {
            sum.plus(&[*total], i128::from(*times))
        });
        draws.push(Draw { total, ways });
    });
    draws.sort_by(|a, b| a.total.compare(&b.total));
    draws
}

/// Returns the smallest mean whose share of draws reaches the level.
fn quantile(draws: &[Draw], level: f64, scale: f64) -> QuantileInfo {
    let all = draws.iter().map(|draw| draw.ways).sum::<u64>() as f64;
    let (mut value, mut below, mut reached) = (0.0, 0, 0);
    for equal in draws.chunk_by(|a, b| a.total.compare(&b.total) == Ordering::Equal) {
        value = equal.first().map_or(value, |draw| draw.total.mean(scale));
        below = reached;
        reached += equal.iter().map(|draw| draw.ways).sum::<u64>();
        if reached as f64 >= level * all * (1.0 - TIE) {
            break;
        }
    }
    QuantileInfo {
        value,
        cdf: reached as f64 / all,
        cdf_below: below as f64 / all,
    }
}
