//! What is asked, what is compared, on what, and in which order.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    ArmsOrder, Axis, BlockKind, DrawMethod, Estimate, Executed, Execution, Expect, OrderBy,
    RunSeed, Serial, StudyKind,
};
use crate::units::{Digest, Ratio};

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
    /// Whether it confirms or explores.
    pub kind: StudyKind,
    /// The study that this one replaces.
    pub supersedes: Option<Supersedes>,
}

/// The study that a new one replaces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Supersedes {
    /// Its id.
    pub study: String,
    /// The digest of its registration.
    pub registration: Digest,
    /// Why it is replaced.
    pub reason: String,
    /// Which outcomes had been seen by then.
    pub seen: String,
}

/// How the tasks are drawn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draw {
    /// The order.
    pub method: DrawMethod,
    /// The seed: it orders a shuffled draw and shuffled arms, and is only recorded elsewhere.
    pub seed: Option<String>,
    /// How many tasks; all without it.
    pub size: Option<u64>,
    /// The regular expressions of a ranked draw, the first match decides.
    pub classes: Vec<String>,
    /// Whether the draw is appended in batches.
    pub grows: bool,
}

/// A condition that is compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arm {
    /// Names the arm.
    pub id: String,
    /// The program and its arguments, as templates.
    pub command: Vec<String>,
    /// Where it is executed.
    pub executed: Executed,
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
    /// How often each arm is executed on each task, in all stages together.
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

/// A part of the plan: some repeats of every task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Names the stage.
    pub id: String,
    /// How often each arm is executed on each task in it.
    pub repeats: u32,
    /// When it opens; at once without it.
    pub opens: Option<String>,
    /// Starts a block only if it is expected to end before the cut-off.
    pub fits: Option<Fits>,
}

/// When a block is expected to end before the cut-off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fits {
    /// What the estimate is multiplied by.
    pub margin: Ratio,
    /// How the duration of a block is estimated.
    pub estimate: Estimate,
}
