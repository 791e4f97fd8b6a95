//! How likely a treatment is worth its price, by what a success is worth.
use serde::Serialize;

use super::draws::{Plan, map_resamples};
use super::enumeration::listed;
use crate::analysis::Flag;

/// The acceptability curve (van Hout et al. 1994).
///
/// Its shares are null with a flag when there is no task (`no_task`) or B is out of range (`resamples_out_of_range`).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Acceptability {
    /// The number of resamples; null when there are so few units that all draws are listed.
    #[serde(rename = "B")]
    pub resamples: Option<u64>,
    /// The points of the curve, by ascending worth.
    pub points: Vec<AcceptabilityPoint>,
    /// Says why the shares are null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flag: Option<Flag>,
}

/// A point of the acceptability curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AcceptabilityPoint {
    /// What a success is worth.
    pub lambda: f64,
    /// The share of draws in which worth times effect is more than the cost.
    pub p_positive: Option<f64>,
}

/// Draws tasks or clusters and counts at each worth how often the net benefit is above 0.
///
/// Shape: one row per unit, its sum of effect differences and its sum of cost differences, treatment minus
/// reference.
pub fn acceptability(units: &[[f64; 2]], worths: &[f64], plan: Plan<'_>) -> Acceptability {
    let all = listed(units, |totals| *totals);
    let is_listed = all.is_some();
    let drawn = all.unwrap_or_else(|| {
        let drawn = map_resamples(units, plan, |totals| *totals);
        drawn.into_iter().map(|totals| (totals, 1)).collect()
    });
    let count: u64 = drawn.iter().map(|(_, ways)| ways).sum();
    let point = |&lambda: &f64| {
        let worth_it = drawn
            .iter()
            .filter(|([effect, cost], _)| lambda * effect - cost > 0.0);
        let share = worth_it.map(|(_, ways)| ways).sum::<u64>() as f64 / count as f64;
        AcceptabilityPoint {
            lambda,
            p_positive: share.is_finite().then_some(share),
        }
    };
    Acceptability {
        resamples: (!is_listed).then_some(plan.resamples),
        points: curve(worths).iter().map(point).collect(),
        flag: match (units.is_empty(), drawn.is_empty()) {
            (true, _) => Some(Flag::NoTask),
            (false, true) => Some(Flag::ResamplesOutOfRange),
            (false, false) => None,
        },
    }
}

/// Returns where the curve has points: at 0, at the given worths, and in steps of 1, 2 and 5 from a tenth of the
/// smallest of them to ten times the largest.
fn curve(worths: &[f64]) -> Vec<f64> {
    let mut points: Vec<f64> = worths.to_vec();
    points.push(0.0);
    let above = worths.iter().copied().filter(|worth| *worth > 0.0);
    let least = above.clone().fold(f64::INFINITY, f64::min) / 10.0;
    let most = above.fold(0.0, f64::max) * 10.0;
    if least > 0.0 && least <= most && most.is_finite() {
        let decade = |worth: f64| libm::log10(worth).floor() as i32;
        // A logarithm that is rounded down stands in the decade before.
        for exponent in decade(least)..=decade(most) + 1 {
            let steps = [1, 2, 5].map(|digit| format!("{digit}e{exponent}").parse::<f64>());
            let steps = steps.into_iter().flatten();
            points.extend(steps.filter(|step| (least..=most).contains(step)));
        }
    }
    points.sort_by(f64::total_cmp);
    points.dedup();
    points
}

#[cfg(test)]
mod tests {
    use super::curve;

    #[test]
    fn a_curve_goes_beyond_what_is_registered() {
        assert_eq!(
            curve(&[30.0, 1.0]),
            [
                0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 50.0, 100.0, 200.0
            ]
        );
        assert_eq!(curve(&[0.0]), [0.0]);
        assert_eq!(
            curve(&[1e-320]),
            [0.0, 1e-321, 2e-321, 5e-321, 1e-320, 2e-320, 5e-320, 1e-319]
        );
    }
}
