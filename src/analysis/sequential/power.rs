//! What a group sequential design yields: power, inflation, expected size.

use std::cmp::Ordering;

use serde::Serialize;

use super::boundaries::{Boundaries, SequentialDesign, Sided, Solved, solve};
use super::spending::Spending;
use crate::analysis::Flag;
use crate::analysis::numerics::special::normal_quantile;

// A drift beyond it would ask for an information the design cannot mean.
const DRIFT_MAX: f64 = 1e100;
const ROOT_STEPS_MAX: u32 = 200;

/// The operating characteristics of a design, with its boundaries.
///
/// Drift is the mean of the statistic at fraction 1. Power is the probability to stop on the
/// upper side. Each is None when no drift below 1e100 gives that power: no look can reject, or a
/// first look that nearly no information reaches stops on the other side too often.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SequentialOperation {
    /// The spending function, and its rho (null where it has none).
    #[serde(flatten)]
    pub spending: SpendingName,
    /// The error rate of the schedule.
    pub alpha: f64,
    /// On how many sides it may stop.
    pub sided: Sided,
    /// The boundaries.
    #[serde(flatten)]
    pub boundaries: Boundaries,
    /// The drift at which power is 0.8.
    pub drift_power80: Option<f64>,
    /// The drift at which power is 0.9.
    pub drift_power90: Option<f64>,
    /// How much more information than one look at the end needs for power 0.8, as a ratio.
    pub inflation80: Option<f64>,
    /// The probability to stop on the upper side at each look, at `drift_power80`.
    pub exit_upper_power80: Option<Vec<f64>>,
    /// The mean fraction at which the trial ends, at `drift_power80`.
    pub expected_information_power80: Option<f64>,
    /// Why figures are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flag: Option<Flag>,
}

/// A spending function as two keys.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SpendingName {
    /// `obf`, `pocock` or `power`.
    pub spending: &'static str,
    /// The exponent of `power`.
    pub rho: Option<f64>,
}

impl From<Spending> for SpendingName {
    fn from(spending: Spending) -> Self {
        match spending {
            Spending::Obf => Self {
                spending: "obf",
                rho: None,
            },
            Spending::Pocock => Self {
                spending: "pocock",
                rho: None,
            },
            Spending::Power(rho) => Self {
                spending: "power",
                rho: Some(rho),
            },
        }
    }
}

/// Returns what a design yields.
///
/// Refuses as [`boundaries`](super::boundaries()) does.
pub fn operation(design: &SequentialDesign) -> Result<SequentialOperation, Flag> {
    let solved = solve(design)?;
    let drift80 = drift_for_power(&solved, 0.8);
    let drift90 = drift_for_power(&solved, 0.9);
    let exits = drift80.map(|drift| solved.exits(drift));
    let expected = exits.as_ref().and_then(|exits| {
        let last = solved.boundaries.fractions.last()?;
        let saved: f64 = exits
            .iter()
            .zip(&solved.boundaries.fractions)
            .map(|(exit, fraction)| (exit.upper + exit.lower) * (last - fraction))
            .sum();
        Some(last - saved)
    });
    Ok(SequentialOperation {
        spending: design.spending.into(),
        alpha: design.alpha,
        sided: design.sided,
        drift_power80: drift80,
        drift_power90: drift90,
        inflation80: drift80.and_then(|drift| inflation(drift, solved.alpha_per_side, 0.8)),
        exit_upper_power80: exits.map(|exits| exits.iter().map(|exit| exit.upper).collect()),
        expected_information_power80: expected,
        flag: drift80
            .and(drift90)
            .is_none()
            .then_some(Flag::UnreachablePower),
        boundaries: solved.boundaries,
    })
}

/// Returns the drift at which the probability to stop on the upper side is `power`.
fn drift_for_power(solved: &Solved, power: f64) -> Option<f64> {
    let excess = |drift: f64| -> f64 {
        solved
            .exits(drift)
            .iter()
            .map(|exit| exit.upper)
            .sum::<f64>()
            - power
    };
    let mut low = (0.0, excess(0.0));
    let mut high = (1.0, excess(1.0));
    while high.1 < 0.0 {
        low = high;
        high = (2.0 * high.0, excess(2.0 * high.0));
        if high.0 > DRIFT_MAX {
            return None;
        }
    }
    (low.1 <= 0.0).then(|| root_between(excess, low, high))
}

/// Returns the root of an increasing function between two of its points: false position, halving
/// the value at an end that stays twice (the Illinois rule, Dowell and Jarratt 1971).
fn root_between(function: impl Fn(f64) -> f64, low: (f64, f64), high: (f64, f64)) -> f64 {
    let (mut low, mut high) = (low, high);
    let mut moved = Ordering::Equal;
    for _ in 0..ROOT_STEPS_MAX {
        let width = high.0 - low.0;
        if width <= 1e-14 * high.0.abs() || high.1 == low.1 {
            break;
        }
        let x = high.0 - high.1 * width / (high.1 - low.1);
        let value = function(x);
        if value == 0.0 || x <= low.0 || x >= high.0 {
            return x.clamp(low.0, high.0);
        }
        let move_of = value.total_cmp(&0.0);
        if value < 0.0 {
            low = (x, value);
            high.1 *= if moved == move_of { 0.5 } else { 1.0 };
        } else {
            high = (x, value);
            low.1 *= if moved == move_of { 0.5 } else { 1.0 };
        }
        moved = move_of;
    }
    0.5 * (low.0 + high.0)
}

/// Returns the information of the design relative to that of a single look at the end.
fn inflation(drift: f64, alpha_per_side: f64, power: f64) -> Option<f64> {
    let fixed = normal_quantile(power)? - normal_quantile(alpha_per_side)?;
    let ratio = drift / fixed;
    Some(ratio * ratio)
}
