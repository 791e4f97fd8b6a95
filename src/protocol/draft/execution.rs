//! How an arm is executed, and what is observed of it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CommandText, DurationText, ExpressionText, IdText, PathText, SizeText};

/// How an arm is executed.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Execution {
    /// What a run's fresh folder holds at its start.
    pub workspace: Option<Workspace>,
    /// How long a run may take.
    pub timeout: Option<DurationText>,
    /// How long a run has to end itself after its limit.
    pub grace: Option<DurationText>,
    /// The environment of every run.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Names of variables that are passed on; their values are never recorded.
    #[serde(default)]
    pub env_pass: Vec<String>,
    /// Settings that are asked for, compared with what the arm reports it used.
    pub requests: Option<BTreeMap<String, String>>,
    /// How much of each output stream is kept.
    pub output_max: Option<SizeText>,
    /// How much memory a run may use.
    pub memory_max: Option<SizeText>,
    /// How many processes a run may have.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub processes_max: Option<u64>,
    /// How much processor time a run may use.
    pub cpu_time_max: Option<DurationText>,
    /// How much space must be free before a start.
    pub free_space_min: Option<SizeText>,
    /// The least tier of containment that may be used.
    pub containment: Option<Containment>,
    /// What is executed after each run and before the first.
    pub cleanup: Option<CommandText>,
}

/// What a run's fresh folder holds at its start.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(title = "\"empty\", { copy = \"folder\" } or { git = { url, commit } }")]
pub enum Workspace {
    /// Nothing.
    Empty,
    /// A copy of a folder.
    Copy(String),
    /// A commit of a repository.
    Git(GitSource),
}

/// A commit of a repository.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GitSource {
    /// The repository.
    pub url: String,
    /// The full commit.
    pub commit: String,
}

/// A tier of containment, from the strongest to the weakest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// Prints `{"status": "ready"}`, `registration_required` or `implementation_gap`.
    pub command: CommandText,
}

/// A fact that is observed before and after each run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// Names the probe.
    pub id: IdText,
    /// Prints the fact.
    pub command: CommandText,
    /// How the output is read.
    pub format: Option<ProbeFormat>,
    /// What it must be; without it, what it was at registration.
    pub expect: Option<Value>,
    /// Keys that must be absent.
    pub expect_absent: Option<Vec<String>>,
    /// Keys that are recorded and not compared.
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
    /// `stdout`, or a file in the workspace.
    pub from: String,
    /// Whether the run was stopped by an error of the world.
    pub error_stop: Option<ExpressionText>,
    /// What the run cost, in USD.
    pub cost: Option<ExpressionText>,
    /// The settings that were used.
    pub effective: Option<BTreeMap<String, ExpressionText>>,
}

/// What an arm says of its own success.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The file in the workspace that the arm writes.
    pub file: PathText,
    /// Whether it claims to be done.
    pub done: ExpressionText,
}

/// A check in the middle of a run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// The arms that have one.
    pub arms: Vec<IdText>,
}

/// Which files of a run are kept.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Artefacts {
    /// Patterns of files in the workspace.
    pub keep: Vec<String>,
    /// Splits whose diff may be kept.
    pub keep_diff_for: Option<Vec<String>>,
    /// When they are kept.
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
    /// Names of evidence.
    pub required: Vec<String>,
}

/// Who may write to the record.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Actors {
    /// The kinds of actor.
    pub kinds: Vec<IdText>,
}
