//! What a resolved task costs, and what more resolved tasks cost more.

use serde::Serialize;

use crate::analysis::Flag;
use crate::analysis::Keyed;
use crate::analysis::means::mean::{Mean, probability};
use crate::analysis::numerics::special::normal_cdf;
use crate::analysis::numerics::summation::sum;

/// A task with a cost in both arms. Costs are means over the recorded runs, in any one currency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostTask {
    /// The mean cost of a run of the reference.
    pub cost_a: f64,
    /// The mean cost of a run of the treatment.
    pub cost_b: f64,
    /// Successes of the reference, of k slots.
    pub successes_a: u64,
    /// Successes of the treatment, of k slots.
    pub successes_b: u64,
}

/// Costs and effects of two arms.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CostEffectiveness {
    /// The number of tasks with a cost in both arms.
    pub n_tasks: usize,
    /// The mean difference of success rates; None without tasks.
    pub delta_effect: Option<f64>,
    /// The mean difference of costs; None without tasks.
    pub delta_cost: Option<f64>,
    /// `delta_cost / delta_effect`, to be read with its quadrant; None when the effect is 0.
    pub icer: Option<f64>,
    /// Total cost over total success rate of the reference; None when nothing is resolved.
    pub cost_per_resolved_a: Option<f64>,
    /// The same of the treatment.
    pub cost_per_resolved_b: Option<f64>,
    /// The incremental net benefit at each worth of a resolved task, keyed by it.
    pub inb: Keyed<NetBenefit>,
}

/// The mean over tasks of worth times effect difference minus cost difference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NetBenefit {
    /// The mean and its standard errors, in the currency of the costs.
    #[serde(flatten)]
    pub mean: Mean,
    /// Phi(mean / iid se), a point of the acceptability curve; None when that se is 0 or undefined.
    pub p_positive_normal: Option<f64>,
    /// `below_range` when the probability is positive but no double.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flag: Option<Flag>,
}

// Sums of this over 2^32 tasks, and products of it with a worth of 1, are finite.
const COST_MAX: f64 = 1e290;

/// Returns costs, effects and net benefits of tasks with a cost in both arms (Stinnett and Mullahy
/// 1998 for the net benefit).
///
/// `worths`: what a resolved task is worth, in the currency of the costs (lambda). `clusters`: one
/// id per task. None when k is 0, a task has more successes than slots, or a cost or worth is not
/// finite or beyond 1e290.
pub fn cost_effectiveness(
    tasks: &[CostTask],
    repeats: u32,
    worths: &[f64],
    clusters: Option<&[usize]>,
    alpha: f64,
) -> Option<CostEffectiveness> {
    let slots = u64::from(repeats);
    let bounded = |x: f64| x.abs() <= COST_MAX;
    let fits = |task: &CostTask| {
        task.successes_a.max(task.successes_b) <= slots
            && bounded(task.cost_a)
            && bounded(task.cost_b)
    };
    if slots == 0 || !tasks.iter().all(fits) || !worths.iter().all(|worth| bounded(*worth)) {
        return None;
    }
    let count = tasks.len() as f64;
    // From whole counts, so that an effect of 0 is 0.
    let resolved_a: i128 = tasks.iter().map(|task| i128::from(task.successes_a)).sum();
    let resolved_b: i128 = tasks.iter().map(|task| i128::from(task.successes_b)).sum();
    let gained = (resolved_b - resolved_a) as f64;
    let slots = slots as f64;
    let delta_effect = (count > 0.0).then(|| gained / (slots * count));
    let delta_cost = (count > 0.0)
        .then(|| sum(tasks.iter().flat_map(|task| [task.cost_b, -task.cost_a])) / count);
    Some(CostEffectiveness {
        n_tasks: tasks.len(),
        delta_effect,
        delta_cost,
        icer: delta_cost
            .zip(delta_effect)
            .and_then(|(cost, effect)| quotient(cost, effect)),
        cost_per_resolved_a: quotient(
            sum(tasks.iter().map(|task| task.cost_a)),
            resolved_a as f64 / slots,
        ),
        cost_per_resolved_b: quotient(
            sum(tasks.iter().map(|task| task.cost_b)),
            resolved_b as f64 / slots,
        ),
        inb: worths
            .iter()
            .map(|worth| {
                (
                    worth.to_string(),
                    net_benefit(tasks, slots, *worth, clusters, alpha),
                )
            })
            .collect(),
    })
}

/// Returns what each task contributes to the ratio of the costs per success: cost and successes of the treatment, then
/// those of the reference.
pub fn cost_rows(tasks: &[CostTask]) -> Vec<[f64; 4]> {
    let row = |task: &CostTask| {
        let (b, a) = (task.successes_b as f64, task.successes_a as f64);
        [task.cost_b, b, task.cost_a, a]
    };
    tasks.iter().map(row).collect()
}

/// Returns what each task contributes to the net benefit: the difference of its success rates over so many slots, and
/// that of its costs.
pub fn benefit_rows(tasks: &[CostTask], repeats: u32) -> Vec<[f64; 2]> {
    let row = |task: &CostTask| {
        let gained = task.successes_b as f64 - task.successes_a as f64;
        [gained / f64::from(repeats), task.cost_b - task.cost_a]
    };
    tasks.iter().map(row).collect()
}

fn net_benefit(
    tasks: &[CostTask],
    slots: f64,
    worth: f64,
    clusters: Option<&[usize]>,
    alpha: f64,
) -> NetBenefit {
    let benefits: Vec<f64> = tasks
        .iter()
        .map(|task| {
            let gained = task.successes_b as f64 - task.successes_a as f64;
            worth * (gained / slots) - (task.cost_b - task.cost_a)
        })
        .collect();
    let magnitude = tasks
        .iter()
        .flat_map(|task| [task.cost_a.abs(), task.cost_b.abs()])
        .fold(worth.abs(), f64::max);
    let mean = Mean::of_values_from(&benefits, magnitude, clusters, alpha);
    let (p_positive_normal, flag) = mean
        .iid
        .t
        .map_or((None, None), |t| probability(normal_cdf(t)));
    NetBenefit {
        mean,
        p_positive_normal,
        flag,
    }
}

/// Returns a quotient; None when it is not a finite number.
fn quotient(numerator: f64, denominator: f64) -> Option<f64> {
    let quotient = numerator / denominator;
    (denominator != 0.0 && quotient.is_finite()).then_some(quotient)
}
