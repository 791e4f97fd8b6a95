//! What the drawn tasks cost, against what they resolved.
use serde::Serialize;

use super::{Settings, slots_do_not_fit};
use crate::analysis::described::cost_effectiveness::{
    CostEffectiveness, CostTask, benefit_rows, cost_effectiveness,
};
use crate::analysis::resampling::bootstrap::{Acceptability, Quadrants, Resampled};
use crate::analysis::tables::defect::Defect;
use crate::analysis::values::binary::BinaryOutcome;
use crate::analysis::values::comparison::{Comparison, Measure};
use crate::analysis::values::numbers::PairedNumbers;

/// Cost and effect of the tasks with a cost in each arm.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CostResults {
    /// Costs, effects and net benefits.
    #[serde(flatten)]
    pub effectiveness: CostEffectiveness,
    /// The ratio of the costs per resolved task, over resampled tasks.
    pub cost_per_resolved_ratio_bootstrap: Resampled,
    /// The quadrants of effect and cost, over resampled tasks.
    pub quadrants_bootstrap: Quadrants,
    /// How often the net benefit is above 0, over resampled tasks, or clusters where there are any.
    /// It stands beside the results, whose keys are those of the reference files.
    #[serde(skip)]
    pub acceptability: Acceptability,
}

impl CostResults {
    /// Computes the block; absent when no task has a cost in each arm, or a cost is beyond 1e290.
    pub(super) fn new(
        comparison: &Comparison,
        resolved: &BinaryOutcome,
        settings: &Settings<'_>,
    ) -> Result<Option<Self>, Defect> {
        let costs = comparison
            .numbers(Measure::Cost)
            .map_err(|_| slots_do_not_fit())?
            .paired();
        let tasks = cost_tasks(&costs, resolved);
        if tasks.is_empty() {
            return Ok(None);
        }
        let Settings {
            alpha,
            lambdas,
            resampling,
            ..
        } = settings;
        let clusters = costs.clusters.as_deref();
        let effectiveness =
            cost_effectiveness(&tasks, comparison.repeats, lambdas, clusters, *alpha);
        Ok(effectiveness.map(|effectiveness| Self {
            effectiveness,
            cost_per_resolved_ratio_bootstrap: resampling.cost_per_resolved(
                "cost_effectiveness.cost_per_resolved_ratio_bootstrap",
                &tasks,
                *alpha,
            ),
            quadrants_bootstrap: resampling
                .quadrants("cost_effectiveness.quadrants_bootstrap", &tasks),
            acceptability: resampling.acceptability(
                "cost_effectiveness.acceptability",
                &benefit_rows(&tasks, comparison.repeats),
                clusters,
                lambdas,
            ),
        }))
    }
}

fn cost_tasks(costs: &PairedNumbers, resolved: &BinaryOutcome) -> Vec<CostTask> {
    let (a, b) = (
        resolved.reference_successes(),
        resolved.treatment_successes(),
    );
    let values = costs.reference.iter().zip(&costs.treatment);
    costs
        .tasks
        .iter()
        .zip(values)
        .filter_map(|(&task, (&cost_a, &cost_b))| {
            let (&successes_a, &successes_b) = a.get(task).zip(b.get(task))?;
            Some(CostTask {
                cost_a,
                cost_b,
                successes_a,
                successes_b,
            })
        })
        .collect()
}
