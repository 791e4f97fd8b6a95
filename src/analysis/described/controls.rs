//! Controls: planted arms that must resolve everything or nothing, and so test the instrument.

use serde::Serialize;

use crate::analysis::paired::proportion::upper_limit;

/// One-sided level of the limit of the grader's error rate.
const LIMIT_ALPHA: f64 = 0.05;

/// Says what a control arm must do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Demand {
    /// Every judged slot must be resolved.
    MustPass,
    /// No judged slot may be resolved.
    MustFail,
}

/// Says whether a control did what it must.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// No violation.
    Pass,
    /// At least one violation.
    Fail,
    /// No judged slot, which blocks the headline as a failure does.
    NotRun,
}

/// What a control arm showed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ControlResult {
    /// What the arm must do.
    pub control: Demand,
    /// The judged slots.
    pub n: u64,
    /// The resolved slots.
    pub resolved: u64,
    /// The slots that did what the control forbids.
    pub violations: u64,
    /// Whether the control did what it must.
    pub gate: Gate,
    /// The one-sided 95% upper limit of the grader's error rate (Clopper and Pearson 1934);
    /// undefined when no slot was judged.
    #[serde(rename = "error_rate_upper95_one_sided")]
    pub error_rate_upper95: Option<f64>,
}

impl ControlResult {
    /// Judges a control by its verdicts, one for each judged slot: true when resolved.
    ///
    /// Unjudged slots violate nothing and are not given here.
    pub fn from_verdicts(control: Demand, verdicts: impl IntoIterator<Item = bool>) -> Self {
        let (mut n, mut resolved) = (0, 0);
        for verdict in verdicts {
            n += 1;
            resolved += u64::from(verdict);
        }
        let violations = match control {
            Demand::MustPass => n - resolved,
            Demand::MustFail => resolved,
        };
        let gate = match (n, violations) {
            (0, _) => Gate::NotRun,
            (_, 0) => Gate::Pass,
            _ => Gate::Fail,
        };
        Self {
            control,
            n,
            resolved,
            violations,
            gate,
            error_rate_upper95: upper_limit(violations, n, LIMIT_ALPHA),
        }
    }
}
