//! The looks of a trial: what the first tasks of the draw say, against the boundaries.

use serde::Serialize;

use super::boundaries::{SequentialDesign, Sided, boundaries};
use crate::analysis::Flag;
use crate::analysis::keyed::Keyed;
use crate::analysis::means::mean::{Mean, StandardError, probability, t_critical};
use crate::analysis::numerics::lattice::Lattice;
use crate::analysis::numerics::special::t_sf;
use crate::analysis::paired::sign_flip::SignFlip;

/// The differences of the closed tasks, in draw order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Differences<'a> {
    /// Of a binary outcome.
    Exact(&'a Lattice),
    /// Of a numeric outcome.
    Real(&'a [f64]),
}

/// One scheduled look.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SequentialLook {
    /// The share of the planned tasks it is scheduled at.
    pub fraction: f64,
    /// The number of tasks in it.
    pub n: usize,
    /// The statistic that stops here; None when none can.
    pub z_boundary: Option<f64>,
    /// The p-value that stops here; None when none can.
    pub nominal_p: Option<f64>,
    /// The t test with tasks as independent units.
    pub iid: LookTest,
    /// The t test on CR2; absent without clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cr2: Option<LookTest>,
    /// The exact sign-flip p over tasks; None for a numeric outcome.
    pub sign_flip_p: Option<f64>,
}

/// A t test at a look.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LookTest {
    /// The mean difference of the look's tasks.
    pub mean: Option<f64>,
    /// Its standard error.
    pub se: Option<f64>,
    /// Degrees of freedom.
    pub df: Option<f64>,
    /// Two-sided; for a positive difference where the design has one side. None also below the range
    /// of a double, which still rejects.
    pub p: Option<f64>,
    /// Whether p is at most the nominal p; false when none can stop, None when p is undefined.
    pub reject: Option<bool>,
    /// The interval that excludes 0 just when the test rejects; None when none can stop.
    pub repeated_ci: Option<[f64; 2]>,
    /// Why figures are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flag: Option<Flag>,
}

/// The mean of the first tasks of the draw, without a test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LookSummary {
    /// The number of tasks.
    pub n: usize,
    /// Their mean difference.
    pub mean: Option<f64>,
    /// The mean over its standard error, tasks as independent units.
    pub z_iid: Option<f64>,
}

/// Returns the looks of `design` that `differences` reach, when `planned` tasks were drawn.
///
/// A design on one side tests for a positive difference: differences of an outcome where lower is
/// better are negated before. Refuses as [`boundaries`](super::boundaries()) does.
pub fn sequential_looks(
    design: &SequentialDesign,
    differences: Differences<'_>,
    clusters: Option<&[usize]>,
    planned: usize,
) -> Result<Vec<SequentialLook>, Flag> {
    let found = boundaries(design)?;
    let thresholds = found.z.into_iter().zip(found.nominal_p);
    let looks = design
        .fractions
        .iter()
        .zip(thresholds)
        .map(|(fraction, (z_boundary, nominal_p))| (*fraction, z_boundary, nominal_p))
        .map_while(|(fraction, z_boundary, nominal_p)| {
            let n = look_size(fraction, planned);
            let look = differences.first(n)?;
            let mean = look.mean(
                clusters.map(|ids| ids.get(..n).unwrap_or(ids)),
                design.alpha,
            );
            let test = |error: &StandardError| look_test(mean.mean, error, nominal_p, design.sided);
            Some(SequentialLook {
                fraction,
                n,
                z_boundary,
                nominal_p,
                iid: test(&mean.iid),
                cr2: mean.clustered.as_ref().map(|errors| test(&errors.cr2)),
                sign_flip_p: look.sign_flip_p(design.sided),
            })
        });
    Ok(looks.collect())
}

/// Returns the mean difference of the first tasks at each fraction of the draw, keyed by it.
pub fn look_summaries(differences: Differences<'_>, fractions: &[f64]) -> Keyed<LookSummary> {
    let within_draw = fractions
        .iter()
        .filter(|fraction| (0.0..=1.0).contains(*fraction));
    let summaries = within_draw.filter_map(|fraction| {
        let n = look_size(*fraction, differences.count());
        let mean = differences.first(n)?.mean(None, ALPHA_UNUSED);
        let summary = LookSummary {
            n,
            mean: mean.mean,
            z_iid: mean.iid.t,
        };
        Some((format!("{fraction:?}"), summary))
    });
    summaries.collect()
}

// Only intervals depend on it, and summaries have none.
const ALPHA_UNUSED: f64 = 0.05;

/// Returns the number of tasks in the look at `fraction` of `planned`: their product, rounded down.
///
/// A product that rounding alone keeps from being a whole number is that number: 0.29 of 100 is 29.
pub fn look_size(fraction: f64, planned: usize) -> usize {
    let product = fraction * planned as f64;
    let nearest = product.round();
    let whole = (product - nearest).abs() <= 2.0 * f64::EPSILON * nearest;
    if whole {
        nearest as usize
    } else {
        product.floor() as usize
    }
}

/// Exactly the first tasks.
enum Look<'a> {
    Exact(Lattice),
    Real(&'a [f64]),
}

impl<'a> Differences<'a> {
    fn count(self) -> usize {
        match self {
            Self::Exact(lattice) => lattice.values.len(),
            Self::Real(values) => values.len(),
        }
    }

    /// Returns the first `n` differences; None when there are fewer.
    fn first(self, n: usize) -> Option<Look<'a>> {
        match self {
            Self::Exact(lattice) if n <= lattice.values.len() => lattice.prefix(n).map(Look::Exact),
            Self::Exact(_) => None,
            Self::Real(values) => values.get(..n).map(Look::Real),
        }
    }
}

impl Look<'_> {
    fn mean(&self, clusters: Option<&[usize]>, alpha: f64) -> Mean {
        match self {
            Self::Exact(lattice) => Mean::of_lattice(lattice, clusters, alpha),
            Self::Real(values) => Mean::of_values(values, clusters, alpha),
        }
    }

    fn sign_flip_p(&self, sided: Sided) -> Option<f64> {
        let Self::Exact(lattice) = self else {
            return None;
        };
        let exact = SignFlip::of_tasks(lattice);
        match sided {
            Sided::One => exact.p_greater,
            Sided::Two => exact.p_two_sided,
        }
    }
}

fn look_test(
    mean: Option<f64>,
    error: &StandardError,
    nominal_p: Option<f64>,
    sided: Sided,
) -> LookTest {
    let tested = error.t.zip(error.df);
    let (p, below_range) = match (sided, tested) {
        (Sided::One, Some((t, df))) => probability(t_sf(t, df)),
        _ => (error.p, None),
    };
    // A p below the range of a double is below every nominal p.
    let rejects = nominal_p.is_some_and(|nominal_p| p.is_none_or(|p| p <= nominal_p));
    let repeated_ci = tested.and_then(|_| repeated_interval(mean?, error, nominal_p?, sided));
    let beyond_range = tested.is_some() && nominal_p.is_some() && repeated_ci.is_none();
    LookTest {
        mean,
        se: error.se,
        df: error.df,
        p,
        reject: tested.map(|_| rejects),
        repeated_ci,
        flag: error
            .flag
            .or(below_range)
            .or(beyond_range.then_some(Flag::OutOfRange)),
    }
}

/// Returns the mean plus and minus the t quantile that leaves a side's share of the nominal p.
fn repeated_interval(
    mean: f64,
    error: &StandardError,
    nominal_p: f64,
    sided: Sided,
) -> Option<[f64; 2]> {
    let both_sides = nominal_p * 2.0 / f64::from(sided.count());
    let half_width = t_critical(both_sides, error.df?)? * error.se?;
    let limits = [mean - half_width, mean + half_width];
    limits
        .iter()
        .all(|limit| limit.is_finite())
        .then_some(limits)
}
