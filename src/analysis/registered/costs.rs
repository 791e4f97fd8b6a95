//! What a success costs, and what it may cost.

use super::Registered;
use super::answer::CostDescribed;
use super::describe::{Read, share};
use super::interval::{Drawing, resampled, units};
use super::pairs::Cells;
use crate::analysis::described::cost_effectiveness::{
    CostTask, benefit_rows, cost_effectiveness, cost_rows,
};
use crate::analysis::means::mean::Mean;
use crate::analysis::resampling::bootstrap::{acceptability, ratio_of_rates};
use crate::analysis::values::binary::clusters_of;
use crate::protocol::model::Interval;

/// Describes costs and successes of a treatment beside the reference, where that is registered.
pub(super) fn costs(
    registered: &Registered<'_>,
    cells: &Cells<'_>,
    read: &Read<'_>,
    treatment: &str,
) -> Option<CostDescribed> {
    let analysis = registered.analysis;
    let described = analysis.descriptive.as_ref()?.cost_effectiveness.as_ref()?;
    let lambda = described.lambda.iter();
    let worths: Vec<f64> = lambda.map(|worth| share(worth.0, 1_000_000)).collect();
    let alpha = share(analysis.alpha.num, analysis.alpha.den);
    let arms = [
        registered.arm(&analysis.reference),
        registered.arm(treatment),
    ];
    let (tasks, clusters) = priced(cells, read, arms)?;
    let (repeats, clusters) = (cells.repeats(), clusters.as_deref());
    let effectiveness = cost_effectiveness(&tasks, repeats, &worths, clusters, alpha)?;
    let streams = |part: &str| registered.streams(&format!("cost_effectiveness.{part}"), treatment);
    let of_ratio = streams("cost_per_resolved_ratio");
    let of_curve = streams("acceptability");
    let drawing = |streams| Drawing {
        streams,
        resamples: analysis.resamples.into(),
        threads: registered.threads,
    };
    let ratio = resampled(
        &units(&cost_rows(&tasks), clusters),
        ratio_of_rates,
        Interval::BootstrapBca,
        alpha,
        drawing(&of_ratio),
    );
    let benefits = units(&benefit_rows(&tasks, repeats), clusters);
    Some(CostDescribed {
        quadrant: quadrant(effectiveness.delta_effect, effectiveness.delta_cost),
        effectiveness,
        cost_per_resolved_ratio: ratio.at_level(alpha),
        acceptability: acceptability(&benefits, &worths, drawing(&of_curve).plan()),
    })
}

/// Names where effect and cost lie; an equal effect is not more effective, an equal cost not cheaper.
fn quadrant(effect: Option<f64>, cost: Option<f64>) -> Option<&'static str> {
    Some(match (effect? > 0.0, cost? < 0.0) {
        (true, true) => "more_effective_cheaper",
        (true, false) => "more_effective_dearer",
        (false, true) => "less_effective_cheaper",
        (false, false) => "less_effective_dearer",
    })
}

/// Returns the tasks with a cost in both arms, and their clusters.
fn priced(
    cells: &Cells<'_>,
    read: &Read<'_>,
    [a, b]: [usize; 2],
) -> Option<(Vec<CostTask>, Option<Vec<usize>>)> {
    let (success, cost) = (read.success?, read.cost?);
    let (won_a, won_b) = (success.counts(cells, a), success.counts(cells, b));
    let price = |task, arm| {
        let slots = cells.slots(task, arm).iter();
        let known: Vec<f64> = slots.filter_map(|slot| slot.value(cost)).collect();
        Mean::of_values(&known, None, 0.05).mean
    };
    let (mut tasks, mut kept) = (Vec::new(), Vec::new());
    for (task, (successes_a, successes_b)) in won_a.into_iter().zip(won_b).enumerate() {
        if let (Some(cost_a), Some(cost_b)) = (price(task, a), price(task, b)) {
            kept.push(task);
            tasks.push(CostTask {
                cost_a,
                cost_b,
                successes_a,
                successes_b,
            });
        }
    }
    Some((tasks, clusters_of(cells.clusters(), &kept)))
}
