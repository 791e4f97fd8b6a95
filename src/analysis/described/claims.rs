//! What runs claimed, and whether it was so.

use serde::Serialize;

/// What is known of a slot: whether the run claimed to have finished, and whether it had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotClaim {
    /// Whether the run claimed success; None when unknown or never run.
    pub claimed: Option<bool>,
    /// The verdict; None when unjudged or never run.
    pub resolved: Option<bool>,
}

/// False claims among the claims of two arms.
///
/// Descriptive: an arm's claims are a consequence of its treatment, so the comparison is not of
/// like with like.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FalseClaims {
    /// The reference.
    pub a: ClaimRate,
    /// The treatment.
    pub b: ClaimRate,
    /// Treatment minus reference; None when an arm never claims.
    pub diff: Option<f64>,
}

/// False claims and claims over judged runs with a known claim.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ClaimRate {
    /// Runs that claimed and had not resolved.
    #[serde(rename = "false")]
    pub false_claims: u64,
    /// Runs that claimed.
    pub claims: u64,
    /// Their ratio; None without a claim.
    pub rate: Option<f64>,
}

/// The runs of an arm by claim and verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClaimTable {
    /// Claimed and resolved.
    pub claimed_resolved: u64,
    /// Claimed and not resolved: false claims.
    pub claimed_unresolved: u64,
    /// Not claimed and resolved.
    pub unclaimed_resolved: u64,
    /// Not claimed and not resolved: honest failures.
    pub honest_failures: u64,
    /// Slots without a verdict, or whose claim is unknown.
    pub unknown: u64,
}

/// Returns the 2x2 of claim and verdict of one arm's slots.
pub fn claim_table<'a>(slots: impl IntoIterator<Item = &'a SlotClaim>) -> ClaimTable {
    let mut table = ClaimTable::default();
    for slot in slots {
        *match (slot.claimed, slot.resolved) {
            (Some(true), Some(true)) => &mut table.claimed_resolved,
            (Some(true), Some(false)) => &mut table.claimed_unresolved,
            (Some(false), Some(true)) => &mut table.unclaimed_resolved,
            (Some(false), Some(false)) => &mut table.honest_failures,
            (None, _) | (_, None) => &mut table.unknown,
        } += 1;
    }
    table
}

/// Returns false claims per claim in the reference and the treatment, and their difference.
pub fn false_claim_conditional(a: &ClaimTable, b: &ClaimTable) -> FalseClaims {
    let (a, b) = (claim_rate(a), claim_rate(b));
    let diff = a.rate.zip(b.rate).map(|(a, b)| b - a);
    FalseClaims { a, b, diff }
}

fn claim_rate(table: &ClaimTable) -> ClaimRate {
    let false_claims = table.claimed_unresolved;
    let claims = table.claimed_resolved.saturating_add(false_claims);
    let rate = (claims > 0).then(|| false_claims as f64 / claims as f64);
    ClaimRate {
        false_claims,
        claims,
        rate,
    }
}
