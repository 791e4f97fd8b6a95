//! What is compared, on what, and in which order.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    CommandText, DurationText, ExpressionText, IdText, NameText, PathText, SizeText, Workspace,
};

/// What is asked, and of which kind the study is.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Names the study, its record and its published line.
    pub id: IdText,
    /// One line for people.
    #[schemars(length(min = 1, max = 200))]
    pub title: String,
    /// The question, with its measure and its comparison.
    #[schemars(length(min = 1, max = 4000))]
    pub question: String,
    /// What is expected, before anything was seen.
    #[schemars(length(max = 64))]
    pub hypotheses: Vec<String>,
    /// Whether the study confirms (registered) or explores (never registered).
    pub kind: StudyKind,
    /// The study that this one replaces, why, and what had been seen.
    pub supersedes: Option<Supersedes>,
}

/// Whether a study is registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words are the documentation")]
pub enum StudyKind {
    Confirmatory,
    Exploratory,
}

/// The study that a new one replaces.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Supersedes {
    /// The replaced study's id.
    pub study: IdText,
    /// The replaced study's registration digest.
    pub registration: String,
    /// Why it is replaced.
    pub reason: String,
    /// Which outcomes had been seen by then.
    pub seen: String,
}

/// The tasks that the arms are compared on.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tasks {
    /// A file with one JSON object a line, each with an `id`; or `open`.
    pub frame: PathText,
    /// For an open frame, the fields that a task has.
    pub fields: Option<BTreeMap<String, FieldKind>>,
    /// What each value of a task's `split` field is for.
    pub splits: Option<BTreeMap<String, SplitKind>>,
}

impl Tasks {
    /// Returns whether tasks are added one by one.
    pub fn is_open(&self) -> bool {
        self.frame.0 == "open"
    }
}

/// The type of a declared field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words are the documentation")]
pub enum FieldKind {
    Integer,
    Number,
    String,
    Boolean,
    Time,
}

/// What a split is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words are the documentation")]
pub enum SplitKind {
    Confirmatory,
    Pilot,
}

/// Which of the confirmatory tasks are used, and in which order.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Draw {
    /// `listed`: in the frame's order; `shuffled`: by seed; `ranked`: by classes.
    pub method: DrawMethod,
    /// Any text; for a shuffled draw it decides the order.
    #[schemars(length(min = 1, max = 1000))]
    pub seed: Option<String>,
    /// How many tasks are drawn; without it, all.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub size: Option<u64>,
    /// For a ranked draw: regular expressions, the first match decides.
    pub classes: Option<Vec<String>>,
    /// Whether the draw is appended in batches.
    pub grows: Option<bool>,
}

/// How a draw is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words are the documentation")]
pub enum DrawMethod {
    Listed,
    Shuffled,
    Ranked,
}

/// A condition that is compared.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arm {
    /// Names the arm.
    pub id: IdText,
    /// What is executed for a run of this arm.
    pub command: CommandText,
    /// Whether `run` executes it here, or a person or a fleet elsewhere.
    pub executed: Option<Executed>,
    /// Files laid into the workspace: place in the workspace = file beside the protocol.
    #[serde(default)]
    pub files: BTreeMap<String, PathText>,
    /// In which keys this arm may differ from the reference.
    #[serde(default)]
    pub differs: Vec<String>,
    /// Overrides the workspace of `[execution]`.
    pub workspace: Option<Workspace>,
    /// Overrides the time limit of `[execution]`.
    pub timeout: Option<DurationText>,
    /// Overrides the grace of `[execution]`.
    pub grace: Option<DurationText>,
    /// Overrides the environment of `[execution]`.
    pub env: Option<BTreeMap<String, String>>,
    /// Overrides the passed environment of `[execution]`.
    pub env_pass: Option<Vec<String>>,
    /// Overrides the requested settings of `[execution]`.
    pub requests: Option<BTreeMap<String, String>>,
    /// Overrides the output limit of `[execution]`.
    pub output_max: Option<SizeText>,
    /// Overrides the memory limit of `[execution]`.
    pub memory_max: Option<SizeText>,
    /// Overrides the process limit of `[execution]`.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub processes_max: Option<u64>,
    /// Overrides the processor time limit of `[execution]`.
    pub cpu_time_max: Option<DurationText>,
    /// Overrides the least free space of `[execution]`.
    pub free_space_min: Option<SizeText>,
    /// Overrides the containment of `[execution]`.
    pub containment: Option<super::Containment>,
    /// Overrides the clean-up of `[execution]`.
    pub cleanup: Option<CommandText>,
}

/// Where an arm is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words are the documentation")]
pub enum Executed {
    Here,
    Elsewhere,
}

/// A planted arm that tests the instrument.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Control {
    /// Names the control.
    pub id: IdText,
    /// What is executed, once for each drawn task.
    pub command: CommandText,
    /// What the instrument must say of it.
    pub expect: Expect,
    /// The binary outcome that is meant; without it the primary one.
    pub outcome: Option<NameText>,
}

/// What a control's outcomes must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words are the documentation")]
pub enum Expect {
    AllResolved,
    NoneResolved,
}

/// How slots follow one another.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Allocation {
    /// The order of the plan's loops, outermost first.
    #[schemars(length(min = 2, max = 3))]
    pub nest: Option<Vec<Axis>>,
    /// How often each arm is executed on each task.
    #[schemars(range(min = 1, max = 1000))]
    pub repeats: Option<u32>,
    /// The order of the arms inside a repeat.
    pub arms: Option<ArmsOrder>,
    /// Whether the order goes by plan position or by counts.
    pub by: Option<OrderBy>,
    /// What is complete or void together.
    pub block: Option<BlockKind>,
    /// What is executed one after another.
    pub serial: Option<Serial>,
    /// How many runs may be live at once.
    #[schemars(range(min = 1, max = 10_000))]
    pub runs_max: Option<u32>,
    /// How `{run.seed}` is derived.
    pub run_seed: Option<RunSeed>,
}

/// A loop of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words are the documentation")]
pub enum Axis {
    Task,
    Repeat,
    Arm,
}

/// The order of the arms inside a repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words are the documentation")]
pub enum ArmsOrder {
    Alternating,
    Counterbalanced,
    Williams,
    Shuffled,
}

/// What the order of starts goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words are the documentation")]
pub enum OrderBy {
    Plan,
    Counts,
}

/// What is complete or void together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words are the documentation")]
pub enum BlockKind {
    Task,
    Pair,
}

/// What is executed one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words are the documentation")]
pub enum Serial {
    Study,
    Block,
    None,
}

/// How `{run.seed}` is derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words are the documentation")]
pub enum RunSeed {
    Sha256TaskRepeat,
}

/// A phase of the plan that opens on a condition.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Names the stage.
    pub id: IdText,
    /// How often each arm is executed on each task in this stage.
    #[schemars(range(min = 1, max = 1000))]
    pub repeats: u32,
    /// When the stage opens; without it, at once.
    pub opens: Option<ExpressionText>,
    /// Starts a block only if it is expected to end before the cut-off.
    pub fits: Option<Fits>,
}

/// When a block is expected to end before the cut-off.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fits {
    /// What the estimate is multiplied by.
    #[schemars(
        title = "a factor such as \"1.1\"",
        regex(pattern = r"^[0-9]{1,3}(\.[0-9]{1,6})?$")
    )]
    pub margin: String,
    /// How the duration of a block is estimated.
    pub estimate: Estimate,
}

/// How the duration of a block is estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words are the documentation")]
pub enum Estimate {
    MedianCompleteBlock,
}
