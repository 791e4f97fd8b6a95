//! How an arm is executed, and what is observed of it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::literal::{VariableText, variable_names};
use super::{CommandText, DurationText, ExpressionText, IdText, PathText, SizeText};

/// How an arm is executed.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Execution {
    /// What a run's fresh folder holds at its start: `"empty"`, a copy of a folder beside the
    /// protocol, or a commit of a repository. The folder is a template; its digest, or that of each
    /// task's folder, is registered.
    #[schemars(extend("default" = "empty", "examples" = [{ "copy": "{task.dir}/repo" }, "empty"]))]
    pub workspace: Option<Workspace>,
    /// How long a run may take. Needed where this table stands; a run that meets its limit is asked
    /// to end, and killed after `grace`.
    #[schemars(required)]
    pub timeout: Option<DurationText>,
    /// How long a run has to end itself after its limit, before it is killed.
    #[schemars(extend("default" = "10s", "examples" = ["10s"]))]
    pub grace: Option<DurationText>,
    /// Variables of the environment of every run; the values are templates. Nothing else of your
    /// environment is seen, but `PATH` and what `env_pass` names.
    #[serde(default)]
    #[schemars(extend("allOf" = variable_names(), "examples" = [{ "LC_ALL": "C" }]))]
    pub env: BTreeMap<String, String>,
    /// Names of variables that are passed on from your environment; the names are registered, the
    /// values never recorded.
    #[serde(default)]
    #[schemars(with = "Vec<VariableText>", extend("examples" = [["ANTHROPIC_API_KEY"]]))]
    pub env_pass: Vec<String>,
    /// Settings that are asked for, compared with those that the arm reports it used under
    /// `observation.effective`.
    #[schemars(extend("examples" = [{ "model": "claude-sonnet-4-5", "effort": "high" }]))]
    pub requests: Option<BTreeMap<String, String>>,
    /// How much of each output stream of a run is kept; the rest is dropped, and that is recorded.
    #[schemars(extend("default" = "32MiB"))]
    pub output_max: Option<SizeText>,
    /// How much memory a run may use; without it, no limit.
    #[schemars(extend("examples" = ["8GiB"]))]
    pub memory_max: Option<SizeText>,
    /// How many processes a run may have; without it, no limit.
    #[schemars(range(min = 1, max = 1_000_000))]
    #[schemars(extend("examples" = [512]))]
    pub processes_max: Option<u64>,
    /// How much processor time a run may use, all its processes together; without it, no limit. A run
    /// that has used it has met a limit on its time.
    #[schemars(extend("examples" = ["4h"]))]
    pub cpu_time_max: Option<DurationText>,
    /// How much space must be free on the disk before a start; without it, any.
    #[schemars(extend("examples" = ["2GiB"]))]
    pub free_space_min: Option<SizeText>,
    /// The least tier of containment that may be used, from the strongest to the weakest.
    /// `pidns_cgroup`: a process namespace and a control group; `pidns` and `cgroup`: one of the
    /// two; `subreaper`: orphans are adopted and ended; `pgroup`: the process group is ended. The best
    /// that the machine has is used for every arm, and `run` starts nothing where that is less.
    #[schemars(extend("default" = "pgroup"))]
    pub containment: Option<Containment>,
    /// What is executed after each run and before the first, as a template.
    #[schemars(extend("examples" = [["docker", "rm", "-f", "{run.label}"]]))]
    pub cleanup: Option<CommandText>,
}

/// What a run's fresh folder holds at its start.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(
    title = "\"empty\", { copy = \"folder\" } or { git = { url, commit } }",
    // Outside of the choice: a short commit is a slip in the commit, not in the choice.
    extend("allOf" = [{ "properties": { "git": { "properties": {
        "url": { "pattern": r"\S" },
        "commit": { "pattern": "^([0-9a-f]{40}|[0-9a-f]{64})$" },
    } } } }])
)]
pub enum Workspace {
    /// Nothing.
    Empty,
    /// A copy of a folder beside the protocol, as a template.
    Copy(
        #[schemars(extend(
            "description" = "A folder beside the protocol, as a template.",
            "examples" = ["{task.dir}/repo"],
        ))]
        String,
    ),
    /// A commit of a repository.
    Git(GitSource),
}

/// A commit of a repository.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GitSource {
    /// The address of the repository.
    #[schemars(extend("examples" = ["https://example.org/repository.git"]))]
    pub url: String,
    /// The full commit: 40 lower-case hex digits (or 64), because a branch, a tag or a short one
    /// can move.
    #[schemars(extend("examples" = ["9d0a0bdb18c18ff2c4a6d2ea1a3ce2ac4d0ae1b0"]))]
    pub commit: String,
}

/// A tier of containment, from the strongest to the weakest.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words are the documentation")]
pub enum Containment {
    PidnsCgroup,
    Pidns,
    Cgroup,
    Subreaper,
    Pgroup,
}

/// A check of each arm before anything starts.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Preflight {
    /// Says whether an arm is ready, by printing `{"status": "ready"}`, or the status
    /// `registration_required` or `implementation_gap`. It is executed for each arm before anything
    /// starts, as a template.
    #[schemars(extend("examples" = [["./preflight.sh", "{arm.id}"]]))]
    pub command: CommandText,
}

/// A fact that is observed before and after each run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("allOf" = [{
    "if": { "required": ["format"], "properties": { "format": { "enum": ["json"] } } },
    "then": { "properties": { "expect": { "type": ["string", "object"] } } },
    "else": {
        "properties": { "expect": { "type": "string" } },
        "not": { "anyOf": [{ "required": ["expect_absent"] }, { "required": ["record_only"] }] },
    },
}]))]
pub struct Probe {
    /// Names the probe.
    #[schemars(extend("examples" = ["claude"]))]
    pub id: IdText,
    /// Prints the fact.
    #[schemars(extend("examples" = [["claude", "--version"]]))]
    pub command: CommandText,
    /// How the output is read: as one `text`, or as `json`.
    #[schemars(extend("default" = "text"))]
    pub format: Option<ProbeFormat>,
    /// What the output must be: a text, or with `format = "json"` a table of keys and values.
    /// Without it, what it was at the registration.
    #[schemars(extend("examples" = ["2.1.0"]))]
    pub expect: Option<Value>,
    /// Keys that must be absent; only with `format = "json"`.
    #[schemars(extend("examples" = [["proxy"]]))]
    pub expect_absent: Option<Vec<String>>,
    /// Keys that are recorded and not compared; only with `format = "json"`.
    #[schemars(extend("examples" = [["uptime"]]))]
    pub record_only: Option<Vec<String>>,
}

/// How a probe's output is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words are the documentation")]
pub enum ProbeFormat {
    Text,
    Json,
}

/// What an arm's own output says of its run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Observation {
    /// Where the observation stands: `stdout`, or a file in the workspace; one JSON value.
    #[schemars(extend("examples" = ["stdout", "result.json"]))]
    pub from: String,
    /// Whether the run was stopped by an error of the world. It reads `observed`, `run` and `task`.
    #[schemars(extend("examples" = ["observed.subtype == 'error_during_execution'"]))]
    pub error_stop: Option<ExpressionText>,
    /// What the run cost, in USD, as a number.
    #[schemars(extend("examples" = ["observed.total_cost_usd"]))]
    pub cost: Option<ExpressionText>,
    /// The settings that were used, by the names under `requests`; one that differs from what was
    /// requested refuses the next start of its arm.
    #[schemars(extend("examples" = [{ "model": "observed.model" }]))]
    pub effective: Option<BTreeMap<String, ExpressionText>>,
}

/// What an arm says of its own success.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The file in the workspace that the arm writes; `PREREG_CLAIM` names it, and `prereg claim
    /// done` writes it.
    #[schemars(extend("examples" = ["claim.json"]))]
    pub file: PathText,
    /// Whether the arm claims to be done. Without the file, `claim.done` is false.
    #[schemars(extend("examples" = ["claim.done"]))]
    pub done: ExpressionText,
}

/// A check in the middle of a run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// The arms whose runs have a checkpoint.
    #[schemars(extend("examples" = [["treatment"]]))]
    pub arms: Vec<IdText>,
}

/// Which files of a run are kept.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Artefacts {
    /// Patterns of files in the workspace that are kept, as the arm has left them: `*` is any text inside
    /// a name, `?` any character, `**` any folders.
    #[schemars(extend("examples" = [["report.json", "**/*.patch"]]))]
    pub keep: Vec<String>,
    /// Splits of tasks whose diff may be kept.
    #[schemars(extend("examples" = [["pilot"]]))]
    pub keep_diff_for: Option<Vec<String>>,
    /// When their bytes are kept: `always`, `on_failure` (of runs that are not scored, met their limit, or
    /// ended otherwise than with the exit status 0) or `never`. Their digests are always recorded.
    pub retain: Option<Retain>,
}

/// When artefacts are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words are the documentation")]
pub enum Retain {
    Always,
    OnFailure,
    Never,
}

/// What a run must have left to be scored.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// What a run must have left. `measurement`: its wall, user and system time, its memory, the bytes
    /// of its output, its exit status or signal, and who ended it. A run of which that is missing or
    /// does not cohere is unjudged, with the cause `evidence`.
    #[schemars(extend("examples" = [["measurement"]]))]
    pub required: Vec<EvidenceWord>,
}

/// Evidence that a run must have left.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words are the documentation")]
pub enum EvidenceWord {
    Measurement,
}

impl EvidenceWord {
    /// Returns the word as it is written.
    pub fn text(self) -> &'static str {
        match self {
            Self::Measurement => "measurement",
        }
    }
}

/// Who may write to the record.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Actors {
    /// The kinds of actor that may write.
    #[schemars(extend("examples" = [["user", "agent", "ci"]]))]
    pub kinds: Vec<IdText>,
}
