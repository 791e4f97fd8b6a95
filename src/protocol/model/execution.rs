//! How an arm is executed, and what is observed of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Containment, ProbeFormat, Retain};
use crate::units::{Bytes, Micros};

/// How a command is executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Execution {
    /// What a run's fresh folder holds at its start.
    pub workspace: Workspace,
    /// How long a run may take.
    pub timeout: Option<Micros>,
    /// How long a run has to end itself after its limit.
    pub grace: Micros,
    /// The environment, as templates.
    pub env: BTreeMap<String, String>,
    /// Names of variables that are passed on.
    pub env_pass: Vec<String>,
    /// Settings that are asked for.
    pub requests: BTreeMap<String, String>,
    /// How much of each output stream is kept.
    pub output_max: Bytes,
    /// How much memory a run may use.
    pub memory_max: Option<Bytes>,
    /// How many processes a run may have.
    pub processes_max: Option<u64>,
    /// How much processor time a run may use.
    pub cpu_time_max: Option<Micros>,
    /// How much space must be free before a start.
    pub free_space_min: Option<Bytes>,
    /// The least tier of containment that may be used.
    pub containment: Containment,
    /// What is executed after each run and before the first, as templates.
    pub cleanup: Option<Vec<String>>,
}

/// What a run's fresh folder holds at its start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Workspace {
    /// Nothing.
    Empty,
    /// A copy of a folder, as a template.
    Copy(String),
    /// A commit of a repository.
    Git {
        /// The repository.
        url: String,
        /// The full commit.
        commit: String,
    },
}

impl Workspace {
    /// Returns the folder that is copied, as a template.
    pub fn copied(&self) -> Option<&str> {
        match self {
            Self::Copy(folder) => Some(folder),
            _ => None,
        }
    }
}

/// A fact that is observed before and after each run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// Names the probe.
    pub id: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// How its output is read.
    pub format: ProbeFormat,
    /// What it must be; without it, what it was at registration.
    pub expect: Option<Value>,
    /// Keys that must be absent.
    pub expect_absent: Vec<String>,
    /// Keys that are recorded and not compared.
    pub record_only: Vec<String>,
}

/// What an arm's own output says of its run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observation {
    /// `stdout`, or a file in the workspace.
    pub from: String,
    /// Whether the run was stopped by an error of the world.
    pub error_stop: Option<String>,
    /// What the run cost, in USD.
    pub cost: Option<String>,
    /// The settings that were used.
    pub effective: BTreeMap<String, String>,
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

/// Which files of a run are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Artefacts {
    /// Patterns of files in the workspace.
    pub keep: Vec<String>,
    /// Splits whose diff may be kept.
    pub keep_diff_for: Vec<String>,
    /// When they are kept.
    pub retain: Retain,
}
