//! What is compared, on what, and in which order.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::literal::{DifferenceText, VariableText, no_device, not_blank, variable_names};
use super::{
    CommandText, DurationText, ExpressionText, IdText, NameText, PathText, SizeText, Workspace,
};

/// What is asked, and of which kind the study is.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Names the study, its record and its published line.
    #[schemars(extend("allOf" = no_device(), "examples" = ["claude-md"]))]
    pub id: IdText,
    /// One line for people, at most 200 characters.
    #[schemars(length(min = 1, max = 200))]
    #[schemars(extend("allOf" = not_blank(), "examples" = ["Does a CLAUDE.md raise the resolve rate?"]))]
    pub title: String,
    /// The question, with its measure and its comparison, at most 4000 characters.
    #[schemars(length(min = 1, max = 4000))]
    #[schemars(extend("allOf" = not_blank(), "examples" = ["Share of tasks resolved, with against without CLAUDE.md, same model and budget."]))]
    pub question: String,
    /// What is expected, before anything was seen; at most 64 texts.
    #[schemars(length(max = 64))]
    #[schemars(extend("examples" = [["treatment resolves more tasks than baseline"]]))]
    pub hypotheses: Vec<String>,
    /// Whether the study confirms or explores. A `confirmatory` study is registered; an
    /// `exploratory` one never is, and everything printed of it says so.
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
    #[schemars(extend("examples" = ["claude-md"]))]
    pub study: IdText,
    /// The replaced study's registration digest: 64 lower-case hex digits, with or without
    /// `sha256:` before them.
    #[schemars(extend("allOf" = [{ "pattern": "^(sha256:)?[0-9a-f]{64}$" }], "examples" = ["sha256:53e39ee134bc7680530cbffea4e040edbe2bb223d3cf829e4a271aa588801209"]))]
    pub registration: String,
    /// Why it is replaced.
    #[schemars(extend("allOf" = not_blank(), "examples" = ["the judge's time limit was too short for four tasks"]))]
    pub reason: String,
    /// Which outcomes had been seen by then.
    #[schemars(extend("allOf" = not_blank(), "examples" = ["outcomes of 12 pilot runs, none of them confirmatory"]))]
    pub seen: String,
}

/// The tasks that the arms are compared on.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("allOf" = [{
    "if": { "properties": { "frame": { "enum": ["open"] } } },
    "then": { "required": ["fields"] },
    "else": { "not": { "required": ["fields"] } },
}]))]
pub struct Tasks {
    /// A file with one JSON object a line, each with an `id` and whatever the study needs; its
    /// digest joins the registration. The word `open` instead means that tasks are added one by one
    /// while the study runs.
    #[schemars(extend("examples" = ["tasks.jsonl", "open"]))]
    pub frame: PathText,
    /// The fields that a task of an open frame has, and their types: needed for one, and a defect
    /// beside a file.
    #[schemars(extend("examples" = [{ "fail_to_pass_count": "integer", "repo": "string" }]))]
    pub fields: Option<BTreeMap<String, FieldKind>>,
    /// What each value of a task's `split` field is for. Tasks of a `confirmatory` split start only
    /// after the registration and only if they were drawn; those of a `pilot` split only before it,
    /// and they are in no analysis. Without this table every task is confirmatory.
    #[schemars(extend("examples" = [{ "full": "confirmatory", "pilot": "pilot" }]))]
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
#[schemars(extend("allOf" = [
    {
        "if": { "properties": { "method": { "enum": ["shuffled"] } } },
        "then": { "required": ["seed"] },
    },
    {
        "if": { "properties": { "method": { "enum": ["ranked"] } } },
        "then": { "required": ["classes"] },
        "else": { "not": { "required": ["classes"] } },
    },
]))]
pub struct Draw {
    /// How the tasks are ordered before the first `size` of them are taken. `listed`: as in the
    /// frame; `shuffled`: by the seed alone; `ranked`: by classes.
    pub method: DrawMethod,
    /// What a shuffled draw is ordered by: any text, best a public value that nobody knew before.
    /// Needed for `shuffled`; otherwise it is only recorded.
    #[schemars(length(min = 1, max = 1000))]
    #[schemars(extend("examples" = ["public beacon value of 2026-12-01"]))]
    pub seed: Option<String>,
    /// How many tasks are drawn; without it, all.
    #[schemars(range(min = 1, max = 10_000_000))]
    #[schemars(extend("examples" = [60]))]
    pub size: Option<u64>,
    /// What a ranked draw is ordered by: regular expressions, tried on each task's id; the first
    /// that matches decides. What a group captures sorts as an integer of any length; tasks that
    /// match none come last, by id. Needed for `ranked`.
    #[schemars(extend("examples" = [["^CDB-", "^MB-([0-9]+)$"]]))]
    pub classes: Option<Vec<String>>,
    /// Whether the draw is appended in batches, each of which must agree with what is recorded.
    /// This is a weakness, `draw-can-grow`. An open frame needs it; `nest` then has tasks first, and
    /// there are no stages.
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
    /// Names the arm, in the analysis and in everything that is printed.
    #[schemars(extend("allOf" = no_device()))]
    pub id: IdText,
    /// What is executed for a run of this arm: the program and its arguments, each of them a
    /// template. A program with a slash stands beside the protocol and is bound by its digest; one
    /// without is looked up on `PATH`.
    pub command: CommandText,
    /// Where the arm is executed: `here` by `run`; `elsewhere` by a person or a fleet, started by
    /// hand with `start --ref`.
    #[schemars(extend("default" = "here"))]
    pub executed: Option<Executed>,
    /// Files laid into the workspace before the command: place in the workspace = file beside the
    /// protocol. Their digests are registered.
    #[serde(default)]
    #[schemars(extend("examples" = [{ "CLAUDE.md": "files/CLAUDE.md" }]))]
    pub files: BTreeMap<String, PathText>,
    /// In which keys this arm may differ from the reference of the analysis, or from the first arm
    /// without one. Every difference that is not declared is a defect.
    #[serde(default)]
    #[schemars(with = "Vec<DifferenceText>", extend("examples" = [["files"]]))]
    pub differs: Vec<String>,
    /// Overrides `execution.workspace` for this arm.
    #[schemars(extend("examples" = [{ "copy": "{task.dir}/repo" }]))]
    pub workspace: Option<Workspace>,
    /// Overrides `execution.timeout` for this arm. Another limit than the other arms have is a
    /// weakness, `unequal-limits`.
    pub timeout: Option<DurationText>,
    /// Overrides `execution.grace` for this arm.
    #[schemars(extend("examples" = ["10s"]))]
    pub grace: Option<DurationText>,
    /// Overrides `execution.env` for this arm, as a whole.
    #[schemars(extend("allOf" = variable_names(), "examples" = [{ "LC_ALL": "C" }]))]
    pub env: Option<BTreeMap<String, String>>,
    /// Overrides `execution.env_pass` for this arm, as a whole.
    #[schemars(with = "Option<Vec<VariableText>>", extend("examples" = [["ANTHROPIC_API_KEY"]]))]
    pub env_pass: Option<Vec<String>>,
    /// Overrides `execution.requests` for this arm, as a whole.
    #[schemars(extend("examples" = [{ "effort": "high" }]))]
    pub requests: Option<BTreeMap<String, String>>,
    /// Overrides `execution.output_max` for this arm.
    pub output_max: Option<SizeText>,
    /// Overrides `execution.memory_max` for this arm.
    #[schemars(extend("examples" = ["8GiB"]))]
    pub memory_max: Option<SizeText>,
    /// Overrides `execution.processes_max` for this arm.
    #[schemars(range(min = 1, max = 1_000_000))]
    #[schemars(extend("examples" = [512]))]
    pub processes_max: Option<u64>,
    /// Overrides `execution.cpu_time_max` for this arm.
    #[schemars(extend("examples" = ["4h"]))]
    pub cpu_time_max: Option<DurationText>,
    /// Overrides `execution.free_space_min` for this arm.
    #[schemars(extend("examples" = ["2GiB"]))]
    pub free_space_min: Option<SizeText>,
    /// Overrides `execution.containment` for this arm. It must be equal for all arms.
    pub containment: Option<super::Containment>,
    /// Overrides `execution.cleanup` for this arm.
    #[schemars(extend("examples" = [["docker", "rm", "-f", "{run.label}"]]))]
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
    #[schemars(extend("allOf" = no_device(), "examples" = ["oracle"]))]
    pub id: IdText,
    /// What is executed, once for each drawn task before its first slot: the program and its
    /// arguments, each of them a template.
    #[schemars(extend("examples" = [["sh", "-c", "cp \"$PREREG_TASK_DIR/answer\" out"]]))]
    pub command: CommandText,
    /// What the instrument must say of it. `all_resolved`: a right answer is planted, and every
    /// task must pass; `none_resolved`: no task may pass.
    pub expect: Expect,
    /// The binary outcome that is meant; without it the primary one of the analysis.
    #[schemars(extend("examples" = ["resolved"]))]
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
    /// The order of the plan's loops, outermost first: `task`, `repeat` and `arm`, each once. A
    /// matrix study over one task has `["arm", "repeat"]`.
    #[schemars(length(min = 2, max = 3))]
    #[schemars(extend("default" = ["task", "repeat", "arm"], "allOf" = [{ "if": { "maxItems": 2 }, "then": { "enum": [["arm", "repeat"]] }, "else": { "uniqueItems": true } }]))]
    pub nest: Option<Vec<Axis>>,
    /// How often each arm is executed on each task, from 1 to 1000. Needed, unless there are
    /// stages, which have their own.
    #[schemars(range(min = 1, max = 1000))]
    #[schemars(extend("examples" = [3]))]
    pub repeats: Option<u32>,
    /// The order of the arms inside a repeat. `alternating`: as listed, each time;
    /// `counterbalanced`: rotated by one place from repeat to repeat and from task to task;
    /// `williams`: the rows of a balanced Latin square; `shuffled`: by the draw's seed.
    #[schemars(extend("default" = "counterbalanced"))]
    pub arms: Option<ArmsOrder>,
    /// Which start is the next. `plan`: the earliest slot of the plan that may start; `counts`: an
    /// arm's next run waits until the other arm has ended as many as the alternation says, for two
    /// arms and `alternating` only.
    #[schemars(extend("default" = "plan"))]
    pub by: Option<OrderBy>,
    /// What is complete or void together. `task`: all repeats and arms of a task; `pair`: one
    /// repeat of a task, every arm.
    #[schemars(extend("default" = "task"))]
    pub block: Option<BlockKind>,
    /// What is executed one after another. `study`: every run; `block`: the runs inside a block,
    /// while blocks may run side by side; `none`: nothing.
    #[schemars(extend("default" = "block"))]
    pub serial: Option<Serial>,
    /// How many runs may be live at once, controls included.
    #[schemars(range(min = 1, max = 10_000))]
    #[schemars(extend("default" = 1, "examples" = [4]))]
    pub runs_max: Option<u32>,
    /// How `{run.seed}` is derived. `sha256_task_repeat`: from the task and the repeat, so it is
    /// the same for all arms. Needed where a template has `{run.seed}`.
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
    #[schemars(extend("examples" = ["phase-1"]))]
    pub id: IdText,
    /// How often each arm is executed on each task in this stage, from 1 to 1000.
    #[schemars(range(min = 1, max = 1000))]
    #[schemars(extend("examples" = [3]))]
    pub repeats: u32,
    /// When the stage opens; without it, at once. It reads `readings`, `stages`, `gates` and `now`.
    #[schemars(extend("examples" = ["stages['phase-1'].complete && gates.go"]))]
    pub opens: Option<ExpressionText>,
    /// Starts a block only if it is expected to end before the cut-off; without an estimate nothing
    /// starts. It needs the table `[cutoff]`.
    pub fits: Option<Fits>,
}

/// When a block is expected to end before the cut-off.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fits {
    /// What the estimate is multiplied by: a decimal number in quotes, more than 0.
    #[schemars(
        title = "a factor with up to six decimals",
        regex(pattern = r"^[0-9]{1,3}(\.[0-9]{1,6})?$"),
        extend(
            "allOf" = [{ "not": { "type": "string", "pattern": r"^0+(\.0+)?$" } }],
            "examples" = ["1.1"]
        )
    )]
    pub margin: String,
    /// How the duration of a block is estimated. `median_complete_block`: as the median of the
    /// blocks that are complete.
    pub estimate: Estimate,
}

/// How the duration of a block is estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words are the documentation")]
pub enum Estimate {
    MedianCompleteBlock,
}
