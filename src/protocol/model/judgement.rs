//! Who judges, what is measured, and which runs are scored.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Better, OutcomeKind, ScoreWord};
use crate::units::Micros;

/// Who says what a run achieved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judge {
    /// Files laid once the arm is dead: place = path beside the protocol, as a template.
    pub files: BTreeMap<String, String>,
    /// The program and its arguments, as templates.
    pub command: Vec<String>,
    /// The file in the workspace.
    pub report: String,
    /// The JSON Schema of the report, its content.
    pub schema: Value,
    /// How long the judge may take.
    pub timeout: Micros,
}

/// What is measured of each run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// Names the outcome.
    pub id: String,
    /// Its type.
    pub kind: OutcomeKind,
    /// How it is computed.
    pub value: String,
    /// Which direction is better.
    pub better: Better,
    /// What a missing value counts as; none means that only available values count.
    pub missing: Option<u8>,
}

impl Outcome {
    /// Returns whether it is what the arm claims.
    pub fn is_claim(&self) -> bool {
        is_claim(&self.id, &self.value)
    }
}

/// Returns whether an outcome is what the arm claims: by its name, or by what it is computed from.
pub fn is_claim(id: &str, value: &str) -> bool {
    id == "claimed" || value.trim() == "claim.done"
}

/// When an ended run is not scored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scoring {
    /// When the judge could not judge.
    pub unjudged: Option<String>,
    /// Whether a run that meets its limit is scored.
    pub on_timeout: ScoreWord,
    /// Whether a run that an error stopped is scored.
    pub on_error_stop: ScoreWord,
}
