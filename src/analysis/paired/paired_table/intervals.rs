//! Intervals of the difference of two paired success rates, treatment minus reference.

use serde::Serialize;

use super::PairedCounts;
use super::tango::tango;
use crate::analysis::paired::proportion::{two_sided_z, wilson};

/// The rates, their difference and its intervals, all clamped to [-1, 1].
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RiskDifference {
    /// The difference of the rates, (c - b)/n.
    pub rd: Option<f64>,
    /// The success rate of the reference.
    pub rate_a: Option<f64>,
    /// The success rate of the treatment.
    pub rate_b: Option<f64>,
    /// Wald's interval, for reference only: too narrow with few discordant tasks.
    pub ci_wald: Option<[f64; 2]>,
    /// The standard error of Wald's interval.
    pub se_wald: Option<f64>,
    /// The difference with 1/2 added to each cell.
    pub rd_agresti_min: Option<f64>,
    /// Wald's interval with 1/2 added to each cell (Agresti and Min 2005).
    pub ci_agresti_min: Option<[f64; 2]>,
    /// Wald's interval of (b + 1)/(n + 2) and (c + 1)/(n + 2) (Bonett and Price 2012).
    pub ci_bonett_price: Option<[f64; 2]>,
    /// From the Wilson limits of both rates (Newcombe 1998, method 10).
    pub ci_newcombe: Option<[f64; 2]>,
    /// The score interval (Tango 1998).
    pub ci_tango: Option<[f64; 2]>,
}

impl RiskDifference {
    /// Describes a table with at least one task.
    pub(super) fn of(counts: PairedCounts, alpha: f64) -> Self {
        let n = counts.tasks() as f64;
        let z = two_sided_z(alpha);
        let plain = Moments::of(counts, 0, 0);
        let agresti_min = Moments::of(counts, 2, 1);
        let bonett_price = Moments::of(counts, 2, 2);
        Self {
            rd: Some(plain.difference),
            rate_a: Some(counts.reference_successes() as f64 / n),
            rate_b: Some(counts.treatment_successes() as f64 / n),
            ci_wald: z.map(|z| plain.interval(z)),
            se_wald: Some(plain.standard_error),
            rd_agresti_min: Some(agresti_min.difference),
            ci_agresti_min: z.map(|z| agresti_min.interval(z)),
            ci_bonett_price: z.map(|z| bonett_price.interval(z)),
            ci_newcombe: newcombe(counts, alpha),
            ci_tango: z.map(|z| tango(counts, z)),
        }
    }
}

/// A difference of paired rates and its standard error.
struct Moments {
    difference: f64,
    standard_error: f64,
}

impl Moments {
    /// Takes the table with `tasks_added` more tasks, `discordant_added` of them discordant and
    /// balanced.
    fn of(counts: PairedCounts, tasks_added: u128, discordant_added: u128) -> Self {
        let n = u128::from(counts.tasks()) + tasks_added;
        let discordant = u128::from(counts.discordant()) + discordant_added;
        let distance = u128::from(counts.b.abs_diff(counts.c));
        // n^3 times the variance; in integers, as it cancels when nearly all tasks go one way.
        // It fits and is not negative, because distance <= discordant <= n < 2^64.
        let numerator = n * discordant - distance * distance;
        let scale = n as f64;
        Self {
            difference: signed_difference(counts) / scale,
            standard_error: (numerator as f64 / scale).sqrt() / scale,
        }
    }

    fn interval(&self, z: f64) -> [f64; 2] {
        let half = z * self.standard_error;
        clamped(self.difference - half, self.difference + half)
    }
}

/// Returns Newcombe's interval (Newcombe 1998, method 10).
fn newcombe(counts: PairedCounts, alpha: f64) -> Option<[f64; 2]> {
    let tasks = counts.tasks();
    let arm = |successes: u64| {
        // From the rarer outcome, whose small distances do not cancel against 1.
        let rarer = successes.min(tasks - successes);
        let [lower, upper] = wilson(rarer, tasks, alpha)?;
        let rate = rarer as f64 / tasks as f64;
        let distances = (rate - lower, upper - rate);
        Some(if rarer == successes {
            distances
        } else {
            (distances.1, distances.0)
        })
    };
    let (reference_below, reference_above) = arm(counts.reference_successes())?;
    let (treatment_below, treatment_above) = arm(counts.treatment_successes())?;
    let phi = correlation(counts);
    let joint = |x: f64, y: f64| (x * x + y * y - 2.0 * phi * (x * y)).max(0.0).sqrt();
    let difference = signed_difference(counts) / tasks as f64;
    Some(clamped(
        difference - joint(treatment_below, reference_above),
        difference + joint(treatment_above, reference_below),
    ))
}

/// Returns the correlation of the two outcomes, its numerator corrected for continuity towards 0
/// where it is positive; 0 when a margin is empty.
fn correlation(counts: PairedCounts) -> f64 {
    let PairedCounts { a, b, c, d } = counts;
    let root = |margin: u64| (margin as f64).sqrt();
    // Paired so that swapping the arms changes no bit.
    let scale = (root(a + b) * root(a + c)) * (root(c + d) * root(b + d));
    if scale <= 0.0 {
        return 0.0;
    }
    let (agreement, disagreement) = (u128::from(a) * u128::from(d), u128::from(b) * u128::from(c));
    // Twice the numerator, so that n/2 stays an integer.
    let tasks = u128::from(counts.tasks());
    let numerator = if agreement >= disagreement {
        (2 * (agreement - disagreement)).saturating_sub(tasks) as f64
    } else {
        -((2 * (disagreement - agreement)) as f64)
    };
    0.5 * numerator / scale
}

fn signed_difference(counts: PairedCounts) -> f64 {
    let distance = counts.b.abs_diff(counts.c) as f64;
    if counts.c >= counts.b {
        distance
    } else {
        -distance
    }
}

fn clamped(lower: f64, upper: f64) -> [f64; 2] {
    [lower.clamp(-1.0, 1.0), upper.clamp(-1.0, 1.0)]
}
