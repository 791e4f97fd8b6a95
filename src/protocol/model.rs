//! The protocol as it is meant: every default written out, every literal an exact quantity.
//!
//! These types are what is registered: their JSON is hashed, kept in the record and read back by
//! whoever verifies. A field is added for a new word of the language; none changes its meaning.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use super::draft::{
    ArmsOrder, Axis, Better, BlockKind, CauseWord, DrawMethod, Expect, LateReport, OrderBy,
    OutcomeKind, RunSeed, ScoreWord, Serial, SplitKind,
};
use crate::units::{Bytes, Micros};

/// A protocol that passed every check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Protocol {
    /// The version of the language.
    pub language: u32,
    /// What is asked.
    pub study: Study,
    /// What each split is for; without it every task is confirmatory.
    pub splits: Option<BTreeMap<String, SplitKind>>,
    /// How the tasks are drawn.
    pub draw: Draw,
    /// The conditions that are compared, in the listed order.
    pub arms: Vec<Arm>,
    /// The planted arms.
    pub controls: Vec<Control>,
    /// How slots follow one another.
    pub allocation: Allocation,
    /// What counts as an attempt.
    pub attempts: Attempts,
    /// How controls are executed, and arms unless they say otherwise.
    pub execution: Execution,
    /// What an arm says of its own success.
    pub claim: Option<Claim>,
    /// Who says what a run achieved.
    pub judge: Option<Judge>,
    /// What is measured, in the order of declaration.
    pub outcomes: Vec<Outcome>,
    /// When an ended run is not scored.
    pub scoring: Scoring,
    /// The analysis as it stands in the file, with defaults; computed later, bound now.
    pub analysis: Option<Value>,
    /// The accepted weaknesses, by code.
    pub limitations: BTreeMap<String, String>,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Names the study.
    pub id: String,
    /// One line for people.
    pub title: String,
    /// The question.
    pub question: String,
    /// What is expected.
    pub hypotheses: Vec<String>,
}

/// How the tasks are drawn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draw {
    /// The order.
    pub method: DrawMethod,
    /// The seed of a shuffled draw.
    pub seed: Option<String>,
    /// How many tasks; all without it.
    pub size: Option<u64>,
}

/// A condition that is compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arm {
    /// Names the arm.
    pub id: String,
    /// The program and its arguments, as templates.
    pub command: Vec<String>,
    /// Files laid into the workspace: place = path beside the protocol.
    pub files: BTreeMap<String, String>,
    /// In which keys the arm may differ from the reference.
    pub differs: Vec<String>,
    /// How the arm is executed.
    pub execution: Execution,
}

/// A planted arm that tests the instrument.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Control {
    /// Names the control.
    pub id: String,
    /// The program and its arguments, as templates.
    pub command: Vec<String>,
    /// What its outcomes must be.
    pub expect: Expect,
    /// The binary outcome that is meant.
    pub outcome: String,
}

/// How slots follow one another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Allocation {
    /// The plan's loops, outermost first.
    pub nest: [Axis; 3],
    /// How often each arm is executed on each task.
    pub repeats: u32,
    /// The order of the arms inside a repeat.
    pub arms: ArmsOrder,
    /// What the order of starts goes by.
    pub by: OrderBy,
    /// What is complete or void together.
    pub block: BlockKind,
    /// What is executed one after another.
    pub serial: Serial,
    /// How many runs may be live at once.
    pub runs_max: u32,
    /// How `{run.seed}` is derived.
    pub run_seed: Option<RunSeed>,
}

/// What counts as an attempt at a slot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attempts {
    /// How many attempts a slot has; none means without limit.
    pub per_slot: Option<u32>,
    /// After which causes the next attempt may start.
    pub rerun: Vec<CauseWord>,
    /// After how long a live run counts as unjudged.
    pub stale_after: Micros,
    /// What becomes of a report after that.
    pub late_report: LateReport,
    /// How often a block may be voided; none means without limit.
    pub voids_max: Option<u32>,
}

/// How a command is executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Execution {
    /// A folder that the workspace is a copy of, as a template; none means an empty workspace.
    pub copy: Option<String>,
    /// How long a run may take.
    pub timeout: Option<Micros>,
    /// How long a run has to end itself after its limit.
    pub grace: Micros,
    /// The environment, as templates.
    pub env: BTreeMap<String, String>,
    /// Names of variables that are passed on.
    pub env_pass: Vec<String>,
    /// How much of each output stream is kept.
    pub output_max: Bytes,
}

/// What an arm says of its own success.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The file in the workspace.
    pub file: String,
    /// Whether it claims to be done.
    pub done: String,
}

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

impl Protocol {
    /// Returns whether outcomes by arm are sealed until the study has ended.
    pub fn sealed(&self) -> bool {
        let seal = self
            .analysis
            .as_ref()
            .and_then(|analysis| analysis.get("seal"));
        seal.and_then(Value::as_bool).unwrap_or(true)
    }

    /// Returns an arm's place in the listed order.
    pub fn arm(&self, id: &str) -> Option<usize> {
        self.arms.iter().position(|arm| arm.id == id)
    }

    /// Returns a control.
    pub fn control(&self, id: &str) -> Option<&Control> {
        self.controls.iter().find(|control| control.id == id)
    }
}
