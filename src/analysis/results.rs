//! Everything that is reported of a comparison, as one object.
//!
//! `outcome` holds the rows of a binary outcome, `measure` those of a numeric one, `cases` the
//! results of task values given without a table.
pub mod cases;
pub mod measure;
pub mod outcome;

use serde::Serialize;

use super::comparison::{Comparison, Measure};
use super::defect::{Defect, DefectCode};
use super::flow::Flow;
use super::repeats::{Repeats, pass_k};
use super::values::BinaryOutcome;
use measure::NumericResults;
use outcome::{BinaryResults, EstimandRow, ExactBootstrap, Sensitivity};

/// What a registration chooses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings<'a> {
    /// The two-sided error rate.
    pub alpha: f64,
    /// The margins of equivalence, in the unit of a rate.
    pub margins: &'a [f64],
    /// What one more resolved task is worth, in US dollars.
    pub lambdas: &'a [f64],
    /// The limit of the time to success in seconds; no such block without one.
    pub time_limit_s: Option<f64>,
}

/// The results of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Results {
    /// The counts of slots and runs.
    pub flow: Flow,
    /// The verdicts.
    pub resolved: BinaryResults<Drawn>,
    /// What k repeats of a task say.
    pub pass_k: Option<Repeats>,
    /// False claims per slot.
    pub false_claim: BinaryResults<Drawn>,
    /// Costs in US dollars; absent when none is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<NumericResults>,
    /// Durations in seconds; absent when none is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_s: Option<NumericResults>,
    /// Tokens read; absent when none is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<NumericResults>,
    /// Tokens written; absent when none is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<NumericResults>,
}

/// The row of the drawn tasks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Drawn {
    /// The rates and the difference.
    #[serde(flatten)]
    pub row: EstimandRow,
    /// The tests beside the primary one.
    #[serde(flatten)]
    pub sensitivity: Sensitivity,
    /// The exact bootstraps, of the verdicts only.
    #[serde(flatten)]
    pub bootstrap: Option<ExactBootstrap>,
}

impl Results {
    /// Computes the results of a comparison. Refuses with flow-mismatch when its slots do not add up.
    pub fn new(comparison: &Comparison, settings: &Settings<'_>) -> Result<Self, Defect> {
        let resolved = comparison.resolved().map_err(|_| slots_do_not_fit())?;
        let false_claims = comparison.false_claims().map_err(|_| slots_do_not_fit())?;
        let measure = |measure| numeric(comparison, measure, settings);
        Ok(Self {
            flow: Flow::of(comparison, &resolved, &false_claims)?,
            resolved: BinaryResults::new(&resolved, settings, |shares| {
                Drawn::new(
                    shares,
                    settings,
                    Some(ExactBootstrap::new(shares, settings.alpha)),
                )
            }),
            pass_k: repeats(&resolved),
            false_claim: BinaryResults::new(&false_claims, settings, |shares| {
                Drawn::new(shares, settings, None)
            }),
            cost_usd: measure(Measure::Cost)?,
            duration_s: measure(Measure::Duration)?,
            input_tokens: measure(Measure::InputTokens)?,
            output_tokens: measure(Measure::OutputTokens)?,
        })
    }
}

impl Drawn {
    fn new(
        shares: &super::values::PairedShares,
        settings: &Settings<'_>,
        bootstrap: Option<ExactBootstrap>,
    ) -> Self {
        let row = EstimandRow::new(shares, settings.alpha);
        Self {
            sensitivity: Sensitivity::new(
                shares,
                &row.effect.diff,
                settings.margins,
                settings.alpha,
            ),
            row,
            bootstrap,
        }
    }
}

/// Returns pass@j and pass^j for every j up to k.
fn repeats(outcome: &BinaryOutcome) -> Option<Repeats> {
    let each: Vec<u64> = (1..=outcome.repeats()).collect();
    let (a, b) = (outcome.reference_successes(), outcome.treatment_successes());
    pass_k(&a, &b, outcome.repeats(), &each, &each)
}

/// Returns the results of a measure; `None` when no run records it.
fn numeric(
    comparison: &Comparison,
    measure: Measure,
    settings: &Settings<'_>,
) -> Result<Option<NumericResults>, Defect> {
    let outcome = comparison
        .numbers(measure)
        .map_err(|_| slots_do_not_fit())?;
    if outcome.recorded() == (0, 0) {
        return Ok(None);
    }
    Ok(Some(NumericResults::new(
        &outcome,
        &outcome.paired(),
        settings,
    )))
}

fn slots_do_not_fit() -> Defect {
    Defect::new(
        DefectCode::FlowMismatch,
        "a task has more runs in an arm than slots, or a number beyond 1e300",
        "give every run its own slot and every number in a plain unit",
    )
}
