//! The flow of slots: how many were planned, run and judged, in numbers that add up.
use std::collections::BTreeMap;

use serde::Serialize;

use crate::analysis::tables::defect::{Defect, DefectCode};
use crate::analysis::values::binary::{BinaryOutcome, Estimand};
use crate::analysis::values::comparison::{ArmRuns, Comparison};

/// The reason of an unjudged run that records none.
const UNSPECIFIED: &str = "unspecified";

/// Counts from the draw to the blocks that are complete in both arms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Flow {
    /// Tasks of the draw.
    pub tasks_drawn: usize,
    /// Tasks times repeats.
    pub slots_per_arm: u64,
    /// The reference.
    pub a: ArmFlow,
    /// The treatment.
    pub b: ArmFlow,
    /// Tasks with a verdict in every slot of both arms.
    pub complete_blocks: usize,
}

/// Counts of the runs of one arm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ArmFlow {
    /// The name of the arm.
    pub arm: String,
    /// Runs recorded.
    pub runs: u64,
    /// Runs with a verdict.
    pub scored: u64,
    /// Runs without.
    pub unjudged: u64,
    /// Runs without a verdict by stop reason, `unspecified` where none is recorded.
    pub unjudged_by_reason: BTreeMap<String, u64>,
    /// Runs with the verdict 1.
    pub resolved: u64,
    /// Scored runs that ended as finished.
    pub claimed: u64,
    /// Scored runs that ended as finished and have the verdict 0.
    pub false_claims: u64,
}

impl Flow {
    /// Counts the runs of a comparison. Refuses with flow-mismatch when the counts do not add up.
    pub fn of(
        comparison: &Comparison,
        resolved: &BinaryOutcome,
        false_claims: &BinaryOutcome,
    ) -> Result<Self, Defect> {
        let tasks_drawn = resolved.task_count();
        let flow = Self {
            tasks_drawn,
            slots_per_arm: (tasks_drawn as u64).saturating_mul(resolved.repeats()),
            a: ArmFlow::of(&comparison.reference),
            b: ArmFlow::of(&comparison.treatment),
            complete_blocks: resolved.paired(Estimand::CompleteBlocks).task_count(),
        };
        let sum = |successes: Vec<u64>| successes.iter().sum::<u64>();
        flow.a.check(
            sum(resolved.reference_successes()),
            sum(false_claims.reference_successes()),
        )?;
        flow.b.check(
            sum(resolved.treatment_successes()),
            sum(false_claims.treatment_successes()),
        )?;
        let bounds = [
            ("runs of the reference", flow.a.runs, flow.slots_per_arm),
            ("runs of the treatment", flow.b.runs, flow.slots_per_arm),
            (
                "complete blocks",
                flow.complete_blocks as u64,
                tasks_drawn as u64,
            ),
        ];
        bounds
            .into_iter()
            .try_for_each(|(what, part, whole)| at_most(what, part, whole))?;
        Ok(flow)
    }
}

impl ArmFlow {
    fn of(arm: &ArmRuns) -> Self {
        let mut unjudged_by_reason = BTreeMap::new();
        for run in arm.runs().filter(|run| !run.scored) {
            let reason = if run.reason.is_empty() {
                UNSPECIFIED
            } else {
                &run.reason
            };
            *unjudged_by_reason.entry(reason.to_owned()).or_insert(0) += 1;
        }
        let scored = || arm.runs().filter(|run| run.scored);
        let count = |read: fn(&crate::analysis::values::comparison::Run) -> Option<bool>| {
            scored().filter(|run| read(run) == Some(true)).count() as u64
        };
        Self {
            arm: arm.name.clone(),
            runs: arm.runs().count() as u64,
            scored: scored().count() as u64,
            unjudged: arm.runs().filter(|run| !run.scored).count() as u64,
            unjudged_by_reason,
            resolved: count(|run| run.resolved),
            claimed: count(|run| run.claimed),
            false_claims: count(|run| run.false_claim),
        }
    }

    /// Compares the counts of runs with each other and with the sums over task values.
    fn check(&self, resolved: u64, false_claims: u64) -> Result<(), Defect> {
        let by_reason = self.unjudged_by_reason.values().sum();
        let judged = self.scored.saturating_add(self.unjudged);
        equal("scored and unjudged runs", judged, "runs", self.runs)?;
        equal(
            "unjudged runs by reason",
            by_reason,
            "unjudged runs",
            self.unjudged,
        )?;
        equal(
            "successes of the tasks",
            resolved,
            "resolved runs",
            self.resolved,
        )?;
        equal(
            "false claims of the tasks",
            false_claims,
            "false claims",
            self.false_claims,
        )?;
        at_most("resolved runs", self.resolved, self.scored)?;
        at_most("claims", self.claimed, self.scored)?;
        at_most(
            "false claims",
            self.false_claims,
            self.scored - self.resolved,
        )
    }
}

fn equal(left: &str, count: u64, right: &str, expected: u64) -> Result<(), Defect> {
    if count == expected {
        return Ok(());
    }
    Err(mismatch(format!(
        "{left} are {count}, {right} are {expected}"
    )))
}

fn at_most(part: &str, count: u64, whole: u64) -> Result<(), Defect> {
    if count <= whole {
        return Ok(());
    }
    Err(mismatch(format!(
        "{part} are {count}, more than the {whole} there can be"
    )))
}

fn mismatch(message: String) -> Defect {
    Defect::new(
        DefectCode::FlowMismatch,
        message,
        "give every run one slot, one status and, when scored, one verdict",
    )
}
