//! False claims per claim: descriptive, because the claims are themselves an outcome.
use serde::Serialize;

use super::Settings;
use super::resampling::ClaimRow;
use crate::analysis::described::claims::{
    FalseClaims, SlotClaim, claim_table, false_claim_conditional,
};
use crate::analysis::resampling::bootstrap::Resampled;
use crate::analysis::values::comparison::{ArmRuns, Comparison, Run};

/// False claims over claims per arm, and their difference over resampled tasks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConditionalClaims {
    /// The two rates and their difference.
    #[serde(flatten)]
    pub rates: FalseClaims,
    /// The difference over resampled tasks.
    pub diff_bootstrap_task: Resampled,
}

impl ConditionalClaims {
    /// Counts the claims of a comparison and resamples its tasks.
    pub fn new(comparison: &Comparison, settings: &Settings<'_>) -> Self {
        let table = |arm: &ArmRuns| {
            let slots: Vec<SlotClaim> = arm.runs().map(slot_claim).collect();
            claim_table(&slots)
        };
        let pairs = comparison
            .reference
            .tasks
            .iter()
            .zip(&comparison.treatment.tasks);
        let rows: Vec<ClaimRow> = pairs.map(|(a, b)| claim_row(a, b)).collect();
        let path = "false_claim_conditional.diff_bootstrap_task";
        Self {
            rates: false_claim_conditional(
                &table(&comparison.reference),
                &table(&comparison.treatment),
            ),
            diff_bootstrap_task: settings.resampling.claims(path, &rows, settings.alpha),
        }
    }
}

/// Says whether any run of the two arms has a verdict and a known claim.
pub(super) fn known(comparison: &Comparison) -> bool {
    let mut runs = comparison
        .reference
        .runs()
        .chain(comparison.treatment.runs());
    runs.any(|run| run.false_claim.is_some())
}

fn slot_claim(run: &Run) -> SlotClaim {
    SlotClaim {
        claimed: run.claimed,
        resolved: run.resolved,
    }
}

fn claim_row(a: &[Run], b: &[Run]) -> ClaimRow {
    let count = |runs: &[Run], counts: fn(bool) -> bool| {
        let claims = runs.iter().filter(|run| run.claimed == Some(true));
        claims
            .filter_map(|run| run.resolved)
            .filter(|&resolved| counts(resolved))
            .count() as f64
    };
    [
        count(b, |resolved| !resolved),
        count(b, |_| true),
        count(a, |resolved| !resolved),
        count(a, |_| true),
    ]
}
