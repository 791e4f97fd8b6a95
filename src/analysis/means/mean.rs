//! The mean of one value per task, with the standard errors that go with it.
//!
//! The primary one is CR2 with Satterthwaite's degrees of freedom (Bell and McCaffrey 2002), which
//! without shared clusters is the paired t test. The others are there to be compared with.

use serde::Serialize;

use crate::analysis::Flag;
use crate::analysis::numerics::grouping::Grouping;
use crate::analysis::numerics::lattice::Lattice;
use crate::analysis::numerics::moments::{Moments, square};
use crate::analysis::numerics::special::{t_quantile, t_two_sided};

/// A mean over tasks with one block per standard error.
///
/// Unit: that of the values. Without a task `mean` is `null`, with one task `sd` and all that follow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mean {
    /// The number of tasks.
    pub n: usize,
    /// The mean; `null` without tasks or when a value is not finite.
    pub mean: Option<f64>,
    /// The standard deviation (n - 1).
    pub sd: Option<f64>,
    /// Tasks as independent units: sd / sqrt(n), n - 1 degrees of freedom.
    pub iid: StandardError,
    /// Clusters as independent units; absent when the tasks have none.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub clustered: Option<ClusteredErrors>,
}

/// The standard errors of a mean whose tasks share clusters.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClusteredErrors {
    /// The number of clusters.
    pub clusters: usize,
    /// The plain sandwich (Liang and Zeger 1986), G - 1 degrees of freedom.
    pub cr0: StandardError,
    /// `cr0` times sqrt(G / (G - 1)), G - 1 degrees of freedom.
    pub cr1: StandardError,
    /// Bias-reduced linearisation with Satterthwaite's degrees of freedom (Bell and McCaffrey 2002).
    pub cr2: StandardError,
    /// The clustered standard error of Miller (2024, arXiv 2411.00640); `null` with fewer than two clusters.
    pub miller_se: Option<f64>,
}

/// A standard error with Student's t test of a zero mean and the interval it gives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StandardError {
    /// The standard error, in the unit of the values.
    pub se: Option<f64>,
    /// Degrees of freedom.
    pub df: Option<f64>,
    /// Mean over standard error.
    pub t: Option<f64>,
    /// Two-sided p of `t`.
    pub p: Option<f64>,
    /// The mean plus and minus the t quantile times the standard error.
    pub ci: Option<[f64; 2]>,
    /// Why something above is `null`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flag: Option<Flag>,
}

impl Mean {
    /// Returns the standard error that decides: CR2 where there are clusters, else that of unrelated tasks.
    pub fn deciding(&self) -> &StandardError {
        match &self.clustered {
            Some(errors) => &errors.cr2,
            None => &self.iid,
        }
    }

    /// Computes the mean of exact values and its standard errors, with intervals at level 1 - `alpha`.
    ///
    /// `clusters` holds one id per task. A variance of 0 is found exactly.
    pub fn of_lattice(lattice: &Lattice, clusters: Option<&[usize]>, alpha: f64) -> Self {
        let grouping = clusters.map(Grouping::new);
        let moments = Moments::of_lattice(lattice, grouping.as_ref());
        Self::new(lattice.values.len(), moments, grouping.as_ref(), alpha)
    }

    /// Computes the mean of doubles and its standard errors, with intervals at level 1 - `alpha`.
    ///
    /// A standard error up to 2^-50 of the largest value is rounding and counts as 0.
    pub fn of_values(values: &[f64], clusters: Option<&[usize]>, alpha: f64) -> Self {
        Self::of_values_from(values, 0.0, clusters, alpha)
    }

    /// Computes the mean of values that came from numbers up to `magnitude`, which bounds their rounding.
    pub(crate) fn of_values_from(
        values: &[f64],
        magnitude: f64,
        clusters: Option<&[usize]>,
        alpha: f64,
    ) -> Self {
        let grouping = clusters.map(Grouping::new);
        let moments = Moments::of_values(values, magnitude, grouping.as_ref());
        Self::new(values.len(), moments, grouping.as_ref(), alpha)
    }

    fn new(n: usize, moments: Option<Moments>, grouping: Option<&Grouping>, alpha: f64) -> Self {
        let Some(moments) = moments else {
            let flag = if n == 0 {
                Flag::FewerThanTwo
            } else {
                Flag::InvalidValue
            };
            return Self::undefined(n, grouping, flag);
        };
        if grouping.is_some_and(|grouping| grouping.task_count() != n) {
            return Self::undefined(n, grouping, Flag::LengthMismatch);
        }
        let spread = spread(&moments);
        let df = moments.task_count as f64 - 1.0;
        Self {
            n,
            mean: moments.in_unit(moments.mean),
            sd: spread.and_then(|sd| moments.in_unit(sd)),
            iid: match spread {
                None => StandardError::undefined(Some(df), Flag::FewerThanTwo),
                Some(sd) => StandardError::new(&moments, sd / (n as f64).sqrt(), df, alpha),
            },
            clustered: grouping
                .map(|grouping| ClusteredErrors::new(&moments, grouping.count(), alpha)),
        }
    }

    fn undefined(n: usize, grouping: Option<&Grouping>, flag: Flag) -> Self {
        let undefined = || StandardError::undefined(None, flag);
        Self {
            n,
            mean: None,
            sd: None,
            iid: undefined(),
            clustered: grouping.map(|grouping| ClusteredErrors {
                clusters: grouping.count(),
                cr0: undefined(),
                cr1: undefined(),
                cr2: undefined(),
                miller_se: None,
            }),
        }
    }
}

impl ClusteredErrors {
    fn new(moments: &Moments, clusters: usize, alpha: f64) -> Self {
        if clusters < 2 {
            let undefined = || StandardError::undefined(Some(0.0), Flag::OneCluster);
            return Self {
                clusters,
                cr0: undefined(),
                cr1: undefined(),
                cr2: undefined(),
                miller_se: None,
            };
        }
        let n = moments.task_count as f64;
        let count = clusters as f64;
        let squares: f64 = moments
            .clusters
            .iter()
            .map(|cluster| square(cluster.deviation))
            .sum();
        let reduced: f64 = moments
            .clusters
            .iter()
            .map(|cluster| square(cluster.deviation) / (1.0 - cluster.size / n))
            .sum();
        let cr0 = squares.sqrt() / n;
        let cr1 = cr0 * (count / (count - 1.0)).sqrt();
        // The sum of within-cluster products of the paper, with its cancelling terms taken together.
        let miller = (moments.squares / (n - 1.0) + squares).sqrt() / n;
        let block = |se, df| StandardError::new(moments, se, df, alpha);
        Self {
            clusters,
            cr0: block(cr0, count - 1.0),
            cr1: block(cr1, count - 1.0),
            cr2: block(reduced.sqrt() / n, satterthwaite(moments)),
            miller_se: moments.in_unit(moments.without_rounding(miller)),
        }
    }
}

impl StandardError {
    fn new(moments: &Moments, se: f64, df: f64, alpha: f64) -> Self {
        let se = moments.without_rounding(se);
        let Some(reported) = moments.in_unit(se) else {
            return Self::undefined(Some(df), Flag::OutOfRange);
        };
        if se == 0.0 {
            return Self {
                se: Some(reported),
                ..Self::undefined(Some(df), Flag::ZeroVariance)
            };
        }
        let t = moments.mean / se;
        let (p, below) = probability(t_two_sided(t, df));
        let ci = t_interval(moments, se, df, alpha);
        Self {
            se: Some(reported),
            df: Some(df),
            t: Some(t),
            p,
            ci,
            flag: below.or_else(|| missing_interval(ci, alpha)),
        }
    }

    fn undefined(df: Option<f64>, flag: Flag) -> Self {
        Self {
            se: None,
            df,
            t: None,
            p: None,
            ci: None,
            flag: Some(flag),
        }
    }
}

/// Returns a probability, or why it is none: below the normal doubles it would be reported wrongly or as 0.
pub(crate) fn probability(p: f64) -> (Option<f64>, Option<Flag>) {
    if p >= f64::MIN_POSITIVE {
        (Some(p.min(1.0)), None)
    } else {
        (None, Some(Flag::BelowRange))
    }
}

/// Returns the upper alpha / 2 point of Student's t; undefined for a level outside (0, 1).
pub(crate) fn t_critical(alpha: f64, df: f64) -> Option<f64> {
    t_quantile(alpha / 2.0, df)
        .map(|quantile| -quantile)
        .filter(|critical| critical.is_finite())
}

/// Returns why there is no interval.
pub(crate) fn missing_interval(interval: Option<[f64; 2]>, alpha: f64) -> Option<Flag> {
    let level = alpha > 0.0 && alpha < 1.0;
    match interval {
        Some(_) => None,
        None if level => Some(Flag::OutOfRange),
        None => Some(Flag::LevelOutOfRange),
    }
}

fn t_interval(moments: &Moments, se: f64, df: f64, alpha: f64) -> Option<[f64; 2]> {
    let half = t_critical(alpha, df)? * se;
    let low = moments.in_unit(moments.mean - half)?;
    let high = moments.in_unit(moments.mean + half)?;
    Some([low, high])
}

/// Returns the standard deviation (n - 1) in units of the moments; undefined for one task.
fn spread(moments: &Moments) -> Option<f64> {
    let df = moments.task_count.checked_sub(1).filter(|&df| df > 0)?;
    let sd = (moments.squares / df as f64).sqrt();
    Some(moments.without_rounding(sd))
}

/// Returns the degrees of freedom of CR2 for a mean, n^2 / (S2 + (Q1^2 - Q2) / n^2).
///
/// Q1^2 - Q2 is twice the sum of products of pairs, which does not cancel.
fn satterthwaite(moments: &Moments) -> f64 {
    let n = moments.task_count as f64;
    let (mut squares, mut before, mut pairs) = (0.0, 0.0, 0.0);
    for cluster in &moments.clusters {
        let weighted = square(cluster.size) / (1.0 - cluster.size / n);
        squares += square(cluster.size);
        pairs += 2.0 * weighted * before;
        before += weighted;
    }
    square(n) / (squares + pairs / square(n))
}
