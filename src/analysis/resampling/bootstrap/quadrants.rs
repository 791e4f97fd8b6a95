//! Where the resamples fall in the plane of effect and cost.
use serde::Serialize;

use super::draws::{Plan, map_resamples};
use crate::analysis::Flag;

/// The shares of resamples in the four quadrants of the cost-effectiveness plane.
///
/// An equal effect is not more effective, an equal cost is not cheaper. Null with a flag when there is
/// no task (`no_task`) or B is out of range (`resamples_out_of_range`).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Quadrants {
    /// The number of resamples.
    #[serde(rename = "B")]
    pub resamples: u64,
    /// The treatment resolves more and costs less.
    pub more_effective_cheaper: Option<f64>,
    /// The treatment resolves more and does not cost less.
    pub more_effective_dearer: Option<f64>,
    /// The treatment does not resolve more and costs less.
    pub less_effective_cheaper: Option<f64>,
    /// The treatment does not resolve more and does not cost less.
    pub less_effective_dearer: Option<f64>,
    /// Says why the shares are null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flag: Option<Flag>,
}

/// Resamples tasks or clusters and counts the quadrants.
///
/// Shape: one row per unit, its sum of effect differences and its sum of cost differences, treatment minus
/// reference.
pub fn quadrants(units: &[[f64; 2]], plan: Plan<'_>) -> Quadrants {
    let places = map_resamples(units, plan, |&[effect, cost]| (effect > 0.0, cost < 0.0));
    let share = |more_effective, cheaper| {
        let here = |&&place: &&(bool, bool)| place == (more_effective, cheaper);
        let share = places.iter().filter(here).count() as f64 / places.len() as f64;
        share.is_finite().then_some(share)
    };
    let flag = match (units.is_empty(), places.is_empty()) {
        (true, _) => Some(Flag::NoTask),
        (false, true) => Some(Flag::ResamplesOutOfRange),
        (false, false) => None,
    };
    Quadrants {
        resamples: plan.resamples,
        more_effective_cheaper: share(true, true),
        more_effective_dearer: share(true, false),
        less_effective_cheaper: share(false, true),
        less_effective_dearer: share(false, false),
        flag,
    }
}
