//! Everything that is reported of a comparison, as one object.
//!
//! `outcome` holds the rows of a binary outcome, `measure` those of a numeric one, `tables` the
//! paired tables, `claims` and `cost` what is descriptive, `resampling` what is drawn at random.
//! `cases` has the results of task values that are given without a table.
pub mod cases;
pub mod claims;
pub mod cost;
pub mod measure;
pub mod outcome;
pub mod resampling;
pub mod tables;

use serde::Serialize;

use crate::analysis::described::repeats::{Repeats, pass_k};
use crate::analysis::described::time_to_success::{TimeToSuccess, time_to_success};
use crate::analysis::tables::defect::{Defect, DefectCode};
use crate::analysis::values::binary::BinaryOutcome;
use crate::analysis::values::comparison::{ArmRuns, Comparison, Measure, Run};
use crate::analysis::values::flow::Flow;
use claims::ConditionalClaims;
use cost::CostResults;
use measure::MeasureResults;
use outcome::{BinaryResults, Drawn, DrawnVerdicts};
use resampling::Resampling;
use tables::{McNemarTables, RateIntervals};

/// What a comparison of a table is computed with; nobody registered it.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// The two-sided error rate.
    pub alpha: f64,
    /// The margins of equivalence, in the unit of a rate.
    pub margins: &'a [f64],
    /// What one more resolved task may be worth, in US dollars.
    pub lambdas: &'a [f64],
    /// The limit of the time to success in seconds; no such block without one.
    pub time_limit_s: Option<f64>,
    /// How Monte Carlo blocks are computed.
    pub resampling: Resampling<'a>,
}

/// The results of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Results {
    /// The counts of slots and runs.
    pub flow: Flow,
    /// The verdicts.
    pub resolved: BinaryResults<DrawnVerdicts>,
    /// The paired tables of the verdicts.
    pub mcnemar: McNemarTables,
    /// The intervals of the two rates; absent unless every task has one slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_ci: Option<RateIntervals>,
    /// What k repeats of a task say.
    pub pass_k: Option<Repeats>,
    /// False claims; absent when no claim is known.
    #[serde(flatten)]
    pub claims: Option<ClaimResults>,
    /// Costs in US dollars; absent when none is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<MeasureResults>,
    /// Durations in seconds; absent when none is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_s: Option<MeasureResults>,
    /// Tokens read; absent when none is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<MeasureResults>,
    /// Tokens written; absent when none is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<MeasureResults>,
    /// Costs against verdicts; absent when no task has a cost in each arm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_effectiveness: Option<CostResults>,
    /// Times to success; absent without a limit, or when no duration is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_to_success: Option<TimeToSuccess>,
}

/// The results of false claims.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClaimResults {
    /// False claims per slot.
    pub false_claim: BinaryResults<Drawn>,
    /// False claims per claim.
    pub false_claim_conditional: ConditionalClaims,
    /// The paired table of false claims; absent unless every task has one slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub false_claim_mcnemar: Option<McNemarTables>,
}

impl Results {
    /// Computes the results of a comparison. Refuses with flow-mismatch when its slots do not add up.
    pub fn new(comparison: &Comparison, settings: &Settings<'_>) -> Result<Self, Defect> {
        let resolved = comparison.resolved().map_err(|_| slots_do_not_fit())?;
        let false_claims = comparison.false_claims().map_err(|_| slots_do_not_fit())?;
        let measure = |measure| MeasureResults::new(comparison, measure, settings);
        Ok(Self {
            flow: Flow::of(comparison, &resolved, &false_claims)?,
            resolved: BinaryResults::new(&resolved, settings.alpha, |shares| {
                DrawnVerdicts::new(shares, settings)
            }),
            mcnemar: McNemarTables::new(&resolved, settings.alpha),
            rate_ci: RateIntervals::new(&resolved, settings.alpha),
            pass_k: repeats(&resolved),
            claims: claims::known(comparison)
                .then(|| ClaimResults::new(comparison, &false_claims, settings)),
            cost_usd: measure(Measure::Cost)?,
            duration_s: measure(Measure::Duration)?,
            input_tokens: measure(Measure::InputTokens)?,
            output_tokens: measure(Measure::OutputTokens)?,
            cost_effectiveness: CostResults::new(comparison, &resolved, settings)?,
            time_to_success: settings
                .time_limit_s
                .and_then(|limit| times(comparison, limit, settings.alpha)),
        })
    }
}

impl ClaimResults {
    fn new(comparison: &Comparison, outcome: &BinaryOutcome, settings: &Settings<'_>) -> Self {
        Self {
            false_claim: BinaryResults::new(outcome, settings.alpha, |shares| {
                Drawn::new(shares, settings)
            }),
            false_claim_conditional: ConditionalClaims::new(comparison, settings),
            false_claim_mcnemar: (outcome.repeats() == 1)
                .then(|| McNemarTables::new(outcome, settings.alpha)),
        }
    }
}

/// Returns pass@j and pass^j for every j up to k.
fn repeats(outcome: &BinaryOutcome) -> Option<Repeats> {
    let each: Vec<u64> = (1..=outcome.repeats()).collect();
    let (a, b) = (outcome.reference_successes(), outcome.treatment_successes());
    pass_k(&a, &b, outcome.repeats(), &each, &each)
}

/// Returns the times to success; absent when no run records a duration.
fn times(comparison: &Comparison, limit: f64, alpha: f64) -> Option<TimeToSuccess> {
    let duration = |run: &Run| run.number(Measure::Duration);
    let solved = |run: &Run| duration(run).filter(|_| run.resolved == Some(true));
    let arm = |arm: &ArmRuns| -> Vec<Vec<f64>> {
        arm.tasks
            .iter()
            .map(|runs| runs.iter().filter_map(solved).collect())
            .collect()
    };
    let mut runs = comparison
        .reference
        .runs()
        .chain(comparison.treatment.runs());
    runs.any(|run| duration(run).is_some()).then_some(())?;
    let (a, b) = (arm(&comparison.reference), arm(&comparison.treatment));
    time_to_success(
        limit,
        comparison.repeats,
        &a,
        &b,
        comparison.clusters.as_deref(),
        alpha,
    )
}

fn slots_do_not_fit() -> Defect {
    Defect::new(
        DefectCode::FlowMismatch,
        "a task has more runs in an arm than slots, or a number beyond 1e300",
        "give every run its own slot and every number in a plain unit",
    )
}
