//! Two one-sided t tests against a margin (Schuirmann 1987).

use serde::Serialize;

use crate::analysis::Flag;
use crate::analysis::means::mean::{
    Mean, StandardError, missing_interval, probability, t_critical,
};
use crate::analysis::numerics::special::t_sf;

/// The two one-sided tests of a mean, once per standard error.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Equivalence {
    /// With tasks as independent units.
    pub iid: OneSidedTests,
    /// With CR2; absent when the tasks have no clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cr2: Option<OneSidedTests>,
}

/// The tests that a mean lies above -margin and below +margin.
///
/// `p_lower` alone is the non-inferiority p when more is better, `p_upper` when less is. All are
/// `null` where the standard error is 0 or undefined, for the reason that stands beside it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OneSidedTests {
    /// The margin, in the unit of the mean.
    pub margin: f64,
    /// (mean + margin) / se.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub t_lower: Option<f64>,
    /// (mean - margin) / se.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub t_upper: Option<f64>,
    /// P(T >= t_lower).
    pub p_lower: Option<f64>,
    /// P(T <= t_upper).
    pub p_upper: Option<f64>,
    /// The larger of the two.
    pub p: Option<f64>,
    /// The interval at level 1 - 2 alpha, which lies inside the margins when both tests reject.
    pub ci90: Option<[f64; 2]>,
    /// Why something above is `null`, unless the standard error says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flag: Option<Flag>,
}

impl Equivalence {
    /// Tests a mean against a positive, finite margin, each side at level `alpha`.
    pub fn new(mean: &Mean, margin: f64, alpha: f64) -> Self {
        let tests = |error: &StandardError| OneSidedTests::new(mean.mean, error, margin, alpha);
        Self {
            iid: tests(&mean.iid),
            cr2: mean.clustered.as_ref().map(|errors| tests(&errors.cr2)),
        }
    }
}

impl OneSidedTests {
    fn new(mean: Option<f64>, error: &StandardError, margin: f64, alpha: f64) -> Self {
        let known = error.se.filter(|&se| se > 0.0);
        let (Some(mean), Some(se), Some(df)) = (mean, known, error.df) else {
            return Self::undefined(margin, None);
        };
        let (lower, upper) = ((mean + margin) / se, (mean - margin) / se);
        if !lower.is_finite() || !upper.is_finite() {
            return Self::undefined(margin, Some(Flag::OutOfRange));
        }
        let (p_lower, below_lower) = probability(t_sf(lower, df));
        let (p_upper, below_upper) = probability(t_sf(-upper, df));
        let ci90 = interval(mean, se, t_critical(2.0 * alpha, df));
        let beyond = missing_interval(ci90, 2.0 * alpha);
        Self {
            margin,
            t_lower: Some(lower),
            t_upper: Some(upper),
            p_lower,
            p_upper,
            // A side below the range of a double is smaller than any that is not.
            p: p_lower.map_or(p_upper, |lower| {
                Some(p_upper.map_or(lower, |upper| upper.max(lower)))
            }),
            ci90,
            flag: below_lower.or(below_upper).or(beyond),
        }
    }

    fn undefined(margin: f64, flag: Option<Flag>) -> Self {
        Self {
            margin,
            t_lower: None,
            t_upper: None,
            p_lower: None,
            p_upper: None,
            p: None,
            ci90: None,
            flag,
        }
    }
}

fn interval(mean: f64, se: f64, critical: Option<f64>) -> Option<[f64; 2]> {
    let half = critical? * se;
    let ends = [mean - half, mean + half];
    ends.iter().all(|end| end.is_finite()).then_some(ends)
}
